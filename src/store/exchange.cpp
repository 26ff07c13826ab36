#include "store/exchange.hpp"

#include <cstring>

#include "base/clock.hpp"
#include "store/watch.hpp"
#include "transport/gather.hpp"

namespace dds {
namespace {

// Byte counts and offsets by rank, as an all-to-all takes them.
struct Layout {
    std::vector<int> count, at;
    explicit Layout(size_t ranks) : count(ranks), at(ranks) {}

    size_t lay_out()
    {
        size_t all = 0;
        for (size_t r = 0; r < count.size(); r++) {
            at[r] = static_cast<int>(all);
            all += static_cast<size_t>(count[r]);
        }
        return all;
    }
};

template <class T>
Comm::Parts parts(std::vector<T>& data, const Layout& layout)
{
    return {reinterpret_cast<std::byte*>(data.data()), layout.count, layout.at};
}

}  // namespace

// One side of a round: the row numbers and the rows that go to or come from each rank.
struct Exchange::Sides {
    explicit Sides(size_t ranks) : numbers(ranks), rows(ranks) {}
    Layout numbers, rows;
    std::vector<int64_t> number_data;
    std::vector<std::byte> row_data;

    void count(const Rounds& rounds, const std::vector<int64_t>& streams, int64_t round)
    {
        for (size_t r = 0; r < streams.size(); r++) {
            const Rounds::Piece piece = rounds.of(streams[r], round);
            numbers.count[r] =
                static_cast<int>((piece.last - piece.first) * int64_t{sizeof(int64_t)});
            rows.count[r] = static_cast<int>(piece.bytes());
        }
        number_data.resize(numbers.lay_out() / sizeof(int64_t));
        row_data.resize(rows.lay_out());
    }
};

struct Exchange::Memory {
    explicit Memory(size_t ranks)
        : wanted(ranks), serving(ranks), each(ranks), ask(ranks), serve(ranks)
    {
    }
    std::vector<int64_t> wanted;   // a rank: rows that we ask it for
    std::vector<int64_t> serving;  // a rank: rows that it asks us for
    Layout each;                   // one number a rank
    Sides ask, serve;
};

// Once the rounds have begun the others rely on us: what a round may need is taken before.
void Exchange::reserve()
{
    const size_t ranks = memory_->wanted.size();
    const auto rows = static_cast<size_t>(std::max<int64_t>(rounds_.rows, 1));
    const size_t bytes = rounds_.rows ? rows * rounds_.row : rounds_.part;
    memory_->each.count.assign(ranks, sizeof(int64_t));
    for (Sides* side : {&memory_->ask, &memory_->serve}) {
        side->number_data.reserve(ranks * rows);
        side->row_data.reserve(ranks * bytes);
    }
}

Exchange::Exchange(Comm& comm, const Node& node, const Variable& variable, size_t most_bytes)
    : comm_(comm),
      node_(node),
      variable_(variable),
      rounds_(std::max<size_t>(variable.mapped.row, 1), most_bytes, comm.size()),
      memory_(std::make_shared<Memory>(static_cast<size_t>(comm.size()))),
      begin_(static_cast<size_t>(comm.size()) + 1)
{
}

void Exchange::ask(int64_t n, const int64_t* rows, std::byte* out)
{
    const Variable& v = variable_;
    const Partition& partition = *v.partition;
    out_ = out;
    reserve();
    std::vector<int32_t> owner(static_cast<size_t>(n), -1);
    for (int64_t i = 0; i < n; i++) {
        const int shard = partition.shard(rows[i]);
        if (!v.places[static_cast<size_t>(shard)].wired)
            continue;
        owner[static_cast<size_t>(i)] = partition.rank_of(shard);
        memory_->wanted[static_cast<size_t>(partition.rank_of(shard))]++;
    }
    for (size_t r = 0; r < memory_->wanted.size(); r++) {
        begin_[r + 1] = begin_[r] + memory_->wanted[r];
        longest_ = std::max(longest_, memory_->wanted[r]);
    }
    locals_.resize(static_cast<size_t>(begin_.back()));
    places_.resize(locals_.size());
    std::vector<int64_t> next(begin_.begin(), begin_.end() - 1);
    for (int64_t i = 0; i < n; i++)
        if (const int32_t rank = owner[static_cast<size_t>(i)]; rank >= 0) {
            const auto at = static_cast<size_t>(next[static_cast<size_t>(rank)]++);
            locals_[at] = rows[i] - partition.first(rank);
            places_[at] = i;
        }
}

Result<void> Exchange::run(int64_t longest, int64_t timeout_ms)
{
    if (longest == 0)
        return {};
    auto& [wanted, serving, each, ask, serve] = *memory_;
    const size_t ranks = wanted.size();
    each.lay_out();
    DDS_TRY(move(parts(wanted, each), parts(serving, each), memory_, timeout_ms));
    for (int64_t round = 0, rounds = rounds_.count(longest); round < rounds; round++) {
        ask.count(rounds_, wanted, round);
        serve.count(rounds_, serving, round);
        for (size_t r = 0; r < ranks; r++)
            if (ask.numbers.count[r])
                memcpy(ask.number_data.data() + ask.numbers.at[r] / int{sizeof(int64_t)},
                       locals_.data() + begin_[r] + rounds_.of(wanted[r], round).first,
                       static_cast<size_t>(ask.numbers.count[r]));
        DDS_TRY(move(parts(ask.number_data, ask.numbers), parts(serve.number_data, serve.numbers),
                     memory_, timeout_ms));
        DDS_TRY(pack(round, serve));
        DDS_TRY(move(parts(serve.row_data, serve.rows), parts(ask.row_data, ask.rows), memory_,
                     timeout_ms));
        scatter(round, ask);
    }
    return {};
}

// The rows of our shard that the others ask for, one stream after another.
Result<void> Exchange::pack(int64_t round, Sides& serve) const
{
    const size_t row = rounds_.row;
    const GatherPlan plan = gather_plan(row, static_cast<int64_t>(serve.number_data.size()));
    for (size_t r = 0; r < memory_->serving.size(); r++) {
        const Rounds::Piece piece = rounds_.of(memory_->serving[r], round);
        const int64_t* locals =
            serve.number_data.data() + serve.numbers.at[r] / int{sizeof(int64_t)};
        std::byte* to = serve.row_data.data() + serve.rows.at[r];
        const int64_t n = piece.last - piece.first;
        for (int64_t i = 0; i < n; i++)
            if (static_cast<uint64_t>(locals[i]) >= static_cast<uint64_t>(variable_.own_rows))
                return fail_rank(DDS_ERR_CORRUPT, static_cast<int>(r),
                                 "rank %zu asks for row %lld of a shard of %lld rows", r,
                                 static_cast<long long>(locals[i]),
                                 static_cast<long long>(variable_.own_rows));
        if (piece.step < row) {  // a part of one
            if (n)
                memcpy(to, variable_.own_data + static_cast<size_t>(locals[0]) * row + piece.skip,
                       piece.step);
            continue;
        }
        constexpr int64_t kPass = 1024;
        const std::byte* from[kPass];
        for (int64_t at = 0; at < n; at += kPass) {
            const int64_t m = std::min(kPass, n - at);
            for (int64_t i = 0; i < m; i++) {
                from[i] = variable_.own_data + static_cast<size_t>(locals[at + i]) * row;
                if (i < plan.primed)
                    gather_prime(from[i], row);
            }
            gather(plan, from, m, row, to + static_cast<size_t>(at) * row);
        }
    }
    return {};
}

void Exchange::scatter(int64_t round, const Sides& ask) const
{
    const size_t row = rounds_.row;
    for (size_t r = 0; r < memory_->wanted.size(); r++) {
        const Rounds::Piece piece = rounds_.of(memory_->wanted[r], round);
        const int64_t* places = places_.data() + begin_[r];
        const std::byte* from = ask.row_data.data() + ask.rows.at[r];
        for (int64_t i = piece.first; i < piece.last; i++, from += piece.step)
            memcpy(out_ + static_cast<size_t>(places[i]) * row + piece.skip, from, piece.step);
    }
}

Result<void> Exchange::move(const Comm::Parts& from, const Comm::Parts& to,
                            const std::shared_ptr<void>& keep, int64_t timeout_ms)
{
    DDS_LET(operation, comm_.start_alltoallv(from, to, keep));
    WatchNode watched(*operation, &node_, "dds_get_batch_all");
    DDS_LET(waited, wait(watched, {.timeout_ms = timeout_ms}));
    if (waited == Waited::interrupted)
        return fail(DDS_ERR_INTERRUPTED, "rank %d was interrupted in dds_get_batch_all",
                    comm_.rank());
    if (waited == Waited::timeout)
        return fail(DDS_ERR_TIMEOUT,
                    "rank %d: the exchange of rows in dds_get_batch_all did not end within %lld ms "
                    "(DDSTORE_COLLECTIVE_TIMEOUT_S)",
                    comm_.rank(), static_cast<long long>(timeout_ms));
    return {};
}

}  // namespace dds
