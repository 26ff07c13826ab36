#include "store/assembly.hpp"

#include <algorithm>
#include <climits>
#include <cstring>
#include <numeric>

#include "store/agree.hpp"
#include "store/watch.hpp"

namespace dds {

class Assembly::Round final : public Operation {
public:
    explicit Round(Assembly& board) : board_(board) {}

    Result<Step> step() override
    {
        if (!exchange_)
            DDS_TRY(begin(std::as_bytes(std::span(&board_.own_, 1)),
                          std::as_writable_bytes(std::span(board_.heads_))));
        DDS_LET(step, exchange_->step());
        if (step != Step::ended)
            return step;
        exchange_.reset();
        if (std::exchange(cards_, true))
            return Step::ended;
        board_.stride_ = 0;
        for (const Head& head : board_.heads_)
            board_.stride_ = std::max<size_t>(board_.stride_, head.bytes);
        if (board_.stride_ == 0)
            return Step::ended;
        board_.card_.resize(board_.stride_);
        board_.cards_.resize(board_.stride_ * board_.heads_.size());
        DDS_TRY(begin(board_.card_, board_.cards_));
        return Step::moved;
    }
    void park(int64_t ns) override
    {
        if (exchange_)
            exchange_->park(ns);
    }

private:
    Result<void> begin(std::span<const std::byte> in, std::span<std::byte> out)
    {
        DDS_LET(exchange, board_.comm_.start_allgather(in, out, INT_MAX));
        exchange_ = std::move(exchange);
        return {};
    }

    Assembly& board_;
    std::unique_ptr<Operation> exchange_;
    bool cards_ = false;  // the words are there
};

Assembly::Assembly(Comm& comm, Node& node)
    : comm_(comm),
      node_(node),
      all_(static_cast<size_t>(comm.size())),
      heads_(static_cast<size_t>(comm.size()))
{
    std::iota(all_.begin(), all_.end(), 0);
}

Assembly::~Assembly() = default;

void Assembly::publish(Word word, std::span<const std::byte> payload)
{
    own_ = {word, static_cast<uint32_t>(payload.size())};
    card_.assign(payload.begin(), payload.end());
    round_ = std::make_unique<Round>(*this);
    if (node_.control())
        node_.control()->publish(word);
}

Result<Waited> Assembly::collect(int64_t timeout_ms)
{
    WatchNode watched(*round_, &node_, op_name(static_cast<Op>(own_.word.op)), true);
    return wait(watched, {.timeout_ms = timeout_ms});
}

// Ranks of this node that have not come, or those of which the communicator knows it.
std::vector<int> Assembly::missing() const
{
    std::vector<int> ranks;
    if (node_.control())
        for (const int index : node_.control()->missing())
            ranks.push_back(node_.ranks()[static_cast<size_t>(index)]);
    return ranks.empty() ? comm_.missing() : ranks;
}

void Assembly::give_up(int code)
{
    const Word word{kGivenUp, static_cast<uint8_t>(code), static_cast<uint16_t>(comm_.rank())};
    for (const int rank : missing())
        heads_[static_cast<size_t>(rank)].word = word;
    round_.reset();
    comm_.give_up({code, -1, "a collective call on a store was given up"});
}

std::span<const std::byte> Assembly::payload(int index) const
{
    return std::span(cards_).subspan(static_cast<size_t>(index) * stride_, stride_);
}

}  // namespace dds
