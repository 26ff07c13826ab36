// get_batch_all against a pack, exchange and unpack: by the collective calls of the MPI that runs the
// ranks, else in shared memory.
#include <algorithm>
#include <memory>

#include "cases.hpp"
#include "limit_alltoall.hpp"
#include "limit_exchange.hpp"
#include "limit_gather.hpp"
#include "mpi.hpp"

namespace bench {
namespace {

constexpr int kRounds = 41;
constexpr double kSeconds = 0.002;

// The packing kernels that are worth trying are those of a gather out of one shard.
std::vector<GatherVariant> packers(size_t row, int64_t n)
{
    std::vector<GatherVariant> list;
    for (const GatherVariant& v : gather_variants(row, n, 1, false)) {
        const bool plain = v.how.copy == LIMIT_MEMCPY && !v.how.ahead && !v.how.list;
        const bool ahead = v.how.copy == LIMIT_VECTOR && v.how.ahead == 8192 && !v.how.list;
        if (plain || ahead)
            list.push_back(v);
    }
    return list;
}

// `exchange->read` of each call.
template <class Limit>
Side side_of(const std::string& name, std::shared_ptr<Limit> exchange, int64_t n, size_t batch)
{
    return {name, [=](const int64_t* rows, int64_t calls, char* to) {
                for (int64_t c = 0; c < calls; c++, rows += n, to += batch)
                    exchange->read(rows, to);
            }};
}

std::vector<Side> exchanges(Rank& rank, Variable& variable, int64_t n)
{
    const size_t row = variable.row(), batch = row * static_cast<size_t>(n);
    const MpiShards shards = mpi_shards(rank, variable);
    const bool mpi = !rank.options.library.empty();
    const int64_t most =
        *std::max_element(rank.options.batches.begin(), rank.options.batches.end());
    std::vector<Side> sides;
    for (const GatherVariant& v : packers(row, n)) {
        const std::string by = " packed by " + v.name;
        if (mpi)
            sides.push_back(side_of("Allgatherv + Alltoallv" + by + ", " + mpi_name(),
                                    std::shared_ptr(Alltoall::make(shards, n, v.gather, v.how)), n,
                                    batch));
        else
            sides.push_back(side_of(
                "exchange" + by,
                std::make_shared<Exchange>(
                    rank.control.channels(), rank.exchanged, rank.options.ranks, rank.me, most, n,
                    row, shards.own, variable.first().data(), rank.all.spin(), v.gather, v.how),
                n, batch));
    }
    return sides;
}

}  // namespace

Line read_all(Rank& rank, size_t row, int64_t n)
{
    Variable variable(rank, row);
    const bool mpi = rank.options.path == "mpi";
    const auto window = mpi ? MpiWindow::make(mpi_shards(rank, variable)) : nullptr;
    const size_t batch = row * static_cast<size_t>(n);
    Job job = make_job(variable, n, rank.options.seed + 7919 * static_cast<uint64_t>(rank.me));
    job.collective = true;
    job.served = mpi;
    const Buffer out(out_bytes(job));
    job.out = out.data();

    const dds_store_t store = rank.store;
    const Run product = [=](const int64_t* rows, int64_t calls, char* to) {
        for (int64_t c = 0; c < calls; c++, rows += n, to += batch)
            must(dds_get_batch_all(store, Variable::kName, n, rows, to, batch),
                 "dds_get_batch_all");
    };
    std::vector<Side> sides = exchanges(rank, variable, n);
    for (Side& side : window ? window->sides(n) : std::vector<Side>())
        sides.push_back(std::move(side));
    const Side& limit = sides[choose(rank.all, job, sides)];
    Line line;
    line.row = row;
    line.batch = n;
    line.per_call = static_cast<double>(n);
    line.limit = limit.name;
    const int rounds = rank.options.rounds ? rank.options.rounds : kRounds;
    line.outcome = duel(rank.all, job, product, limit.run, rounds, kSeconds);
    line.wrong = static_cast<uint64_t>(rank.all.sum(static_cast<double>(job.wrong)));
    line.read = static_cast<uint64_t>(rank.all.sum(static_cast<double>(job.read)));
    return line;
}

}  // namespace bench
