// get and get_batch, by as many ranks as read, and get_batch by two threads of one rank.
#include <thread>

#include "cases.hpp"
#include "limit_cma.hpp"
#include "limit_fabric.hpp"
#include "limit_gather.hpp"

namespace bench {
namespace {

constexpr int kRounds = 41;
constexpr double kSeconds = 0.004;

Run product_run(Rank& rank, size_t row, int64_t n)
{
    const dds_store_t store = rank.store;
    const size_t batch = row * static_cast<size_t>(n);
    if (rank.options.what == "get")
        return [=](const int64_t* rows, int64_t calls, char* out) {
            int code = 0;
            for (int64_t c = 0; c < calls; c++, out += row)
                code |= dds_get(store, Variable::kName, rows[c], 1, out, row);
            must(code ? DDS_ERR_INTERNAL : DDS_SUCCESS, "dds_get");
        };
    return [=](const int64_t* rows, int64_t calls, char* out) {
        int code = 0;
        for (int64_t c = 0; c < calls; c++, rows += n, out += batch)
            code |= dds_get_batch(store, Variable::kName, n, rows, out, batch);
        must(code ? DDS_ERR_INTERNAL : DDS_SUCCESS, "dds_get_batch");
    };
}

// One row of every rank, so that all of them are attached.
void touch(Rank& rank, const Variable& variable)
{
    std::vector<char> out(variable.row());
    for (const int64_t first : variable.first())
        if (first < variable.total())
            must(dds_get(rank.store, Variable::kName, first, 1, out.data(), out.size()), "dds_get");
}

std::vector<Side> gather_sides(Rank& rank, Variable& variable, int64_t n)
{
    std::vector<Side> sides;
    const limit_shards& shards = variable.shards();
    for (const GatherVariant& v : gather_variants(variable.row(), n, shards.n, rank.options.all))
        sides.push_back(gather_side(v, shards, n));
    if (n == 1)
        for (Side& side : one_sides(shards))
            sides.push_back(std::move(side));
    return sides;
}

std::vector<Side> remote_sides(Rank& rank, Variable& variable,
                               const std::vector<Variable::Remote>& remotes, int64_t n)
{
    std::vector<CmaShard> shards;
    for (size_t r = 0; r < remotes.size(); r++)
        shards.push_back({static_cast<int>(r) == rank.me ? 0 : static_cast<pid_t>(remotes[r].pid),
                          remotes[r].base, variable.first()[r]});
    return cma_sides(shards, variable.row(), n);
}

Line measure(Team& team, const Options& options, Job& job, const Run& product,
             const std::vector<Side>& sides)
{
    const Side& limit = sides[choose(team, job, sides)];
    Line line;
    line.row = job.row;
    line.batch = job.n;
    line.per_call = static_cast<double>(job.n);
    line.limit = limit.name;
    const int rounds = options.rounds ? options.rounds : kRounds;
    line.outcome = duel(team, job, product, limit.run, rounds, kSeconds);
    line.wrong = static_cast<uint64_t>(team.sum(static_cast<double>(job.wrong)));
    line.read = static_cast<uint64_t>(team.sum(static_cast<double>(job.read)));
    return line;
}

// The rows must have gone the way that the line will say.
void check_path(Rank& rank)
{
    dds_stats_t stats = DDS_STATS_INIT;
    must(dds_stats(rank.store, &stats), "dds_stats");
    const std::string& path = rank.options.path;
    const int number = path == "cma"      ? DDS_PATH_CMA
                       : path == "mpi"    ? DDS_PATH_MPI
                       : path == "fabric" ? DDS_PATH_FABRIC
                                          : DDS_PATH_SHM;
    if (rank.options.ranks > 1 && !stats.rows[number])
        die("no row came by --path %s", rank.options.path.c_str());
}

}  // namespace

Line read_rows(Rank& rank, size_t row, int64_t n)
{
    Variable variable(rank, row);
    const bool cma = rank.options.path == "cma", mpi = rank.options.path == "mpi";
    const auto fabric = rank.options.path == "fabric" ? FabricLimit::make(rank, variable) : nullptr;
    const auto window = mpi ? MpiWindow::make(mpi_shards(rank, variable)) : nullptr;
    const auto remotes = cma ? variable.remotes() : std::vector<Variable::Remote>();
    if (!rank.reads())
        return {};
    touch(rank, variable);
    const auto sides = cma      ? remote_sides(rank, variable, remotes, n)
                       : mpi    ? window->sides(n)
                       : fabric ? fabric->sides(n)
                                : gather_sides(rank, variable, n);
    Job job = make_job(variable, n, rank.options.seed + 7919 * static_cast<uint64_t>(rank.me));
    const Buffer out(out_bytes(job));
    job.out = out.data();
    job.collective = job.served = mpi || fabric;
    const Line line = measure(rank.readers, rank.options, job, product_run(rank, row, n), sides);
    check_path(rank);
    return line;
}

Line read_threads(Rank& rank, size_t row, int64_t n)
{
    constexpr int kThreads = 2;
    Variable variable(rank, row);
    const bool mpi = rank.options.path == "mpi";
    const auto fabric = rank.options.path == "fabric" ? FabricLimit::make(rank, variable) : nullptr;
    const auto window = mpi ? MpiWindow::make(mpi_shards(rank, variable)) : nullptr;
    if (rank.me != 0)
        return {};
    touch(rank, variable);
    const auto gathers = mpi || fabric ? std::vector<Side>() : gather_sides(rank, variable, n);
    const auto allowed = cores_at_start();
    const bool spin = allowed.size() >= kThreads;
    static Meeting meeting;
    Line lines[kThreads];
    auto work = [&](int me) {
        pin({allowed[static_cast<size_t>(me) % allowed.size()]});
        Team team(meeting, me, kThreads, spin);
        Job job = make_job(variable, n, rank.options.seed + 7919 * static_cast<uint64_t>(me));
        const Buffer out(out_bytes(job));
        job.out = out.data();
        const auto sides = mpi ? window->sides(n) : fabric ? fabric->sides(n) : gathers;
        lines[me] = measure(team, rank.options, job, product_run(rank, row, n), sides);
    };
    std::thread other(work, 1);
    work(0);
    other.join();
    check_path(rank);
    return lines[0];
}

}  // namespace bench
