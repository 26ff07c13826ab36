// get_batch_all against a pack, exchange and unpack in shared memory.
#include <algorithm>
#include <memory>

#include "cases.hpp"
#include "limit_exchange.hpp"
#include "limit_gather.hpp"

namespace bench {
namespace {

constexpr int kRounds = 41;
constexpr double kSeconds = 0.002;

}  // namespace

Line read_all(Rank& rank, size_t row, int64_t n)
{
    Variable variable(rank, row);
    const size_t batch = row * static_cast<size_t>(n);
    Job job = make_job(variable, n, rank.options.seed + 7919 * static_cast<uint64_t>(rank.me));
    job.collective = true;
    const Buffer out(out_bytes(job));
    job.out = out.data();

    const dds_store_t store = rank.store;
    const Run product = [=](const int64_t* rows, int64_t calls, char* to) {
        for (int64_t c = 0; c < calls; c++, rows += n, to += batch)
            must(dds_get_batch_all(store, Variable::kName, n, rows, to, batch),
                 "dds_get_batch_all");
    };
    // The packing kernels that are worth trying are those of a gather out of one shard.
    const int64_t most =
        *std::max_element(rank.options.batches.begin(), rank.options.batches.end());
    const char* own =
        variable.own() - static_cast<size_t>(variable.first()[static_cast<size_t>(rank.me)]) * row;
    std::vector<Side> sides;
    for (const GatherVariant& v : gather_variants(row, n, 1, false)) {
        const bool plain = v.how.copy == LIMIT_MEMCPY && !v.how.ahead && !v.how.list;
        const bool ahead = v.how.copy == LIMIT_VECTOR && v.how.ahead == 8192 && !v.how.list;
        if (!plain && !ahead)
            continue;
        auto exchange = std::make_shared<Exchange>(
            rank.control.channels(), rank.exchanged, rank.options.ranks, rank.me, most, n, row, own,
            variable.first().data(), rank.all.spin(), v.gather, v.how);
        sides.push_back(
            {"exchange packed by " + v.name, [=](const int64_t* rows, int64_t calls, char* to) {
                 for (int64_t c = 0; c < calls; c++, rows += n, to += batch)
                     exchange->read(rows, to);
             }});
    }
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
