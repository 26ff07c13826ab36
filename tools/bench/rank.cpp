#include "rank.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "cases.hpp"
#include "lines.hpp"
#include "mpi.hpp"

namespace bench {
namespace {

struct Named {
    const char* name;
    Case run;
    bool stored;   // needs a store
    bool printed;  // by the report
};
constexpr Named kCases[] = {
    {"get", read_rows, true, true},          {"get_batch", read_rows, true, true},
    {"get_batch_all", read_all, true, true}, {"threads", read_threads, true, true},
    {"add", add_rows, true, true},           {"attach", visit_job, true, true},
    {"join", visit_job, true, true},         {"kernels", kernels, false, false},
};

const Named& case_of(const std::string& name)
{
    return *std::find_if(std::begin(kCases), std::end(kCases),
                         [&](const Named& c) { return name == c.name; });
}

int readers_of(const Options& options)
{
    if (options.readers)
        return options.readers;
    if (options.what == "threads" || options.what == "kernels" || options.visitors())
        return 1;
    if (options.what == "get_batch_all" || options.what == "add")
        return options.ranks;
    const int cores_here = static_cast<int>(cores_at_start().size());
    return options.ranks <= 2 * cores_here ? options.ranks : std::min(options.ranks, cores_here);
}

void progress(const Options& options, size_t row, int64_t batch, int done, int all)
{
    if (options.rank == 0)
        fprintf(stderr, "[%d/%d] %s, rows of %zu bytes, %lld a call\n", done + 1, all,
                options.what.c_str(), row, static_cast<long long>(batch));
}

void measure_all(Rank& rank, const Named& what)
{
    const Options& options = rank.options;
    const int speaker = options.visitors() ? options.ranks : 0;
    int done = 0;
    const int all = static_cast<int>(options.rows.size() * options.batches.size());
    for (const int64_t batch : options.batches)
        for (const size_t row : options.rows) {
            progress(options, row, batch, done++, all);
            Line line = what.run(rank, row, batch);
            line.readers = options.what == "threads" ? 2 : rank.readers.size();
            if (rank.me == speaker && what.printed)
                Lines::send(options.dir, line);
        }
}

bool under_mpi(const Options& options) { return !options.library.empty(); }

void open_comm(Rank& rank)
{
    const Options& options = rank.options;
    if (under_mpi(options))
        must(dds_comm_mpi(mpi_world()->comm, mpi_world()->comm_size, nullptr, &rank.comm),
             "dds_comm_mpi");
    else
        must(dds_comm_file(options.dir.c_str(), "bench", rank.me, options.ranks, 0, &rank.comm),
             "dds_comm_file");
}

void open_store(Rank& rank)
{
    const std::string records = rank.options.records();
    dds_options_t how = DDS_OPTIONS_INIT;
    how.method = rank.options.path == "fabric" ? DDS_METHOD_FABRIC : DDS_METHOD_MPI;
    if (rank.options.visitors()) {
        how.method = DDS_METHOD_FILE;
        how.handshake_dir = records.c_str();
    }
    must(dds_init(rank.comm, &how, &rank.store), "dds_init");
}

}  // namespace

int join_mpi(const Options& options)
{
    constexpr int kSerialized = 2, kMultiple = 3;  // the latter has its price
    cores_at_start();                              // MPI has its own ideas of them
    prctl(PR_SET_PDEATHSIG, SIGKILL);              // of the mpirun, or its daemon
    return start_mpi(options.library, options.what == "threads" ? kMultiple : kSerialized);
}

void run_rank(const Options& options)
{
    // Those that the limit reads by MPI are served while they wait.
    void (*const progress)() = under_mpi(options) && options.over_mpi ? mpi_progress : nullptr;
    setpriority(PRIO_PROCESS, 0, -20);  // where it is allowed: fewer runs are repeated
    Control& control = map_control(options.control);
    const int here = static_cast<int>(cores_at_start().size()), readers = readers_of(options);
    pin({cores_at_start()[static_cast<size_t>(options.rank % here)]});
    // Beside two threads that read a rank only waits, but must not be in their way.
    const int all = options.ranks + options.visitors();
    const int running = options.what == "threads" && progress ? all + 1 : all;
    // Threads serve what comes over libfabric: who waits leaves them the core.
    const bool spin = running <= here && options.path != "fabric";
    Rank rank{options,
              control,
              options.rank,
              nullptr,
              nullptr,
              Team(control.all, options.rank, all, spin, progress),
              Team(control.readers, options.rank, readers, readers <= here && spin, progress),
              0};
    const Named& what = case_of(options.what);
    const bool stored = what.stored && options.rank < options.ranks;
    if (options.path == "mpi" || options.path == "fabric")
        setenv("DDSTORE_SHM", "0", 1);
    if (stored) {
        open_comm(rank);
        open_store(rank);
    }
    measure_all(rank, what);
    rank.all.meet();
    if (stored) {
        must(dds_free(&rank.store), "dds_free");
        must(dds_comm_free(&rank.comm), "dds_comm_free");
    }
}

}  // namespace bench
