#include "store/agree.hpp"

#include <algorithm>
#include <cstring>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/readers.hpp"

namespace dds {
namespace {

constexpr int64_t kSayMissing = 30'000;  // ms in a collective after which the log names the missing

// A failed rank's card: what its error says.
struct Complaint {
    int32_t rank;
    char text[Board::kMailbox - 4];
};

Complaint complaint_of(const Error& error)
{
    Complaint complaint{error.rank, {}};
    const size_t n = std::min(error.text.size(), sizeof complaint.text - 1);
    memcpy(complaint.text, error.text.data(), n);
    return complaint;
}

}  // namespace

const char* op_name(Op op)
{
    switch (op) {
    case Op::add: return "dds_add";
    case Op::create: return "dds_create";
    case Op::drop:
    case Op::dropped: return "dds_drop";
    case Op::get_batch_all:
    case Op::got_batch_all: return "dds_get_batch_all";
    case Op::epoch_begin: return "dds_epoch_begin";
    case Op::epoch_end: return "dds_epoch_end";
    case Op::place:
    case Op::expose:
    case Op::attach: return "dds_add or dds_create";
    case Op::publish:
    case Op::published: return "dds_publish";
    }
    return "another call";
}

Result<void> Agreement::check_poison() const
{
    if (!poisoned())
        return {};
    return fail(DDS_ERR_POISONED,
                "an earlier collective call was not completed (%s): reads still "
                "work; free the store and open a new one",
                poison_.c_str());
}

Result<Agreement::Turn> Agreement::turn(int64_t timeout_ms)
{
    struct Take final : Operation {
        explicit Take(std::atomic<bool>& flag) : busy(flag) {}
        Result<Step> step() override
        {
            return busy.exchange(true, std::memory_order_acquire) ? Step::idle : Step::ended;
        }
        std::atomic<bool>& busy;
    } take(busy_);
    if (busy_.exchange(true, std::memory_order_acquire)) {
        const Readers::Idle idle;  // whose turn it is may wait for readers
        DDS_LET(waited, wait(take, {.timeout_ms = timeout_ms}));
        if (waited == Waited::interrupted)
            return fail(DDS_ERR_INTERRUPTED, "interrupted while another thread was in a collective "
                                             "call on this store");
        if (waited == Waited::timeout)
            return fail(DDS_ERR_TIMEOUT,
                        "another thread was in a collective call on this store for "
                        "%lld ms",
                        static_cast<long long>(timeout_ms));
    }
    Turn turn(this);
    DDS_TRY(check_poison());
    return turn;
}

Result<void> Agreement::round(Op op, const Result<void>& mine, std::span<const std::byte> card,
                              int64_t timeout_ms)
{
    publish(op, 0, mine, card);
    return conclude(timeout_ms);
}

void Agreement::publish(Op op, uint16_t tag, const Result<void>& mine,
                        std::span<const std::byte> card)
{
    op_ = op;
    mine_ = mine;
    stopped_ = DDS_SUCCESS;
    if (!card.empty())
        memcpy(own_.data(), card.data(), card.size());
    if (!board_)
        return;
    const auto code = static_cast<uint8_t>(mine ? DDS_SUCCESS : mine.error().code);
    const Board::Word word{static_cast<uint8_t>(op), code, tag};
    if (mine) {
        board_->publish(word, card);
    } else {
        const Complaint complaint = complaint_of(mine.error());
        board_->publish(word, std::as_bytes(std::span(&complaint, 1)));
    }
}

Result<void> Agreement::conclude(int64_t timeout_ms)
{
    if (!board_)
        return mine_ ? Result<void>() : own_failure();
    auto waited = board_->collect(std::min(timeout_ms, kSayMissing));
    if (waited && *waited == Waited::timeout && timeout_ms > kSayMissing) {
        log(DDS_LOG_WARN, "rank %d: %s has waited 30 s for %s", rank_, op_name(op_),
            missing().c_str());
        waited = board_->collect(timeout_ms - kSayMissing);
    }
    if (!waited)
        return poison(std::move(waited).error());
    if (*waited != Waited::ended) {
        stopped_ = *waited == Waited::timeout ? DDS_ERR_TIMEOUT : DDS_ERR_INTERRUPTED;
        board_->give_up(stopped_);
    }
    return judge();
}

Result<void> Agreement::poison(Error why)
{
    poison_ = why.text;
    poisoned_.store(true, std::memory_order_relaxed);
    return why;
}

Result<void> Agreement::abandon(Error why)
{
    if (board_)
        board_->give_up(why.code);
    return poison(std::move(why));
}

std::string Agreement::missing() const
{
    std::string names;
    for (const int index : board_->missing())
        names +=
            (names.empty() ? "rank " : ", ") + std::to_string(ranks_[static_cast<size_t>(index)]);
    return names.empty() ? "a rank of another node" : names;
}

Error Agreement::own_failure() const
{
    Error own = mine_.error();
    own.rank = own.rank >= 0 ? own.rank : rank_;  // as the others have it
    return own;
}

Error Agreement::given_up(int rank, Board::Word word) const
{
    const std::string who = rank < 0 ? "a rank of another node" : "rank " + std::to_string(rank);
    const int by = word.tag < ranks_.size() ? ranks_[word.tag] : -1;
    switch (word.code) {
    case DDS_ERR_TIMEOUT:
        return fail_rank(DDS_ERR_TIMEOUT, rank,
                         "%s did not come to %s within the deadline of "
                         "collective calls (DDSTORE_COLLECTIVE_TIMEOUT_S)",
                         who.c_str(), op_name(op_));
    case DDS_ERR_INTERRUPTED:
        if (stopped_ == DDS_ERR_INTERRUPTED)
            return fail_rank(DDS_ERR_INTERRUPTED, rank, "interrupted in %s while waiting for %s",
                             op_name(op_), who.c_str());
        return fail_rank(DDS_ERR_PEER, by, "rank %d was interrupted in %s", by, op_name(op_));
    default:
        return fail_rank(DDS_ERR_PEER, rank, "rank %d died or left the store before %s", rank,
                         op_name(op_));
    }
}

// Every rank sees the same words, and goes through them in the same order.
Result<void> Agreement::judge()
{
    const int n = board_->ranks();
    for (int i = 0; i < n; i++)
        if (const Board::Word word = board_->word(i); word.op == Board::kGivenUp)
            return poison(given_up(ranks_[static_cast<size_t>(i)], word));
    if (stopped_ != DDS_SUCCESS)  // and nobody knows who is missing
        return poison(given_up(-1, {Board::kGivenUp, static_cast<uint8_t>(stopped_), 0}));
    const Board::Word first = board_->word(0);
    for (int i = 1; i < n; i++) {
        const Board::Word word = board_->word(i);
        const int a = ranks_[0], b = ranks_[static_cast<size_t>(i)];
        if (word.op != first.op)
            return fail_rank(DDS_ERR_MISMATCH, b, "rank %d called %s where rank %d called %s", b,
                             op_name(static_cast<Op>(word.op)), a,
                             op_name(static_cast<Op>(first.op)));
        if (word.tag != first.tag && word.code == DDS_SUCCESS && first.code == DDS_SUCCESS)
            return fail_rank(DDS_ERR_MISMATCH, b,
                             "rank %d and rank %d called %s for different "
                             "variables",
                             b, a, op_name(static_cast<Op>(word.op)));
    }
    for (int i = 0; i < n; i++) {
        const Board::Word word = board_->word(i);
        if (word.code == DDS_SUCCESS)
            continue;
        const int rank = ranks_[static_cast<size_t>(i)];
        if (rank == rank_)
            return own_failure();
        Complaint complaint;
        memcpy(&complaint, board_->payload(i).data(), sizeof complaint);
        complaint.text[sizeof complaint.text - 1] = '\0';
        return fail_rank(word.code, complaint.rank >= 0 ? complaint.rank : rank,
                         "rank %d in %s: %s", rank, op_name(static_cast<Op>(word.op)),
                         complaint.text);
    }
    return {};
}

std::span<const std::byte> Agreement::bytes(int rank) const
{
    if (!board_)
        return own_;
    const auto at = std::lower_bound(ranks_.begin(), ranks_.end(), rank);
    return board_->payload(static_cast<int>(at - ranks_.begin()));
}

}  // namespace dds
