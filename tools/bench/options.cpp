#include "options.hpp"

#include <getopt.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "team.hpp"

namespace bench {
namespace {

const char kHelp[] =
    R"(ddstore-bench - how close reading a row comes to what the memory allows

  ddstore-bench --case get_batch
  ddstore-bench --ranks 2 --case get_batch --batch 128 --row 64,512,3072 --json
  ddstore-bench --ranks 4 --case get_batch_all --plot all.svg

It starts its own ranks, puts one variable into their memory, lets them read random rows of it, and
measures in the same processes, in turns, what the machine can do at best: the limit.  Every figure
is their ratio, so that it means the same on a slow machine and in a busy minute:

  ratio = time of the library / time of the limit        lower is better, 1 is perfect

What is read:
  --case get            one row a call
  --case get_batch      --batch rows a call, one-sided
  --case get_batch_all  the same as one call of all ranks
  --case threads        get_batch by two threads of rank 0
  --case add            dds_add of --total-bytes
  --case attach         dds_attach and the first dds_join, by a reader of another job (method 2), a process
                        beside the --ranks of that job
  --case join           dds_join of one more variable by such a reader
  --path shm            rows in the library's shared memory (the default)
  --path cma            rows in the callers' own memory (DDS_NOCOPY), read by process_vm_readv
  --path mpi            rows of this node read over MPI, as those of other nodes are (DDSTORE_SHM=0)
  --path fabric         the same over libfabric (method 1)
What the limit is:
  get, get_batch, threads   the best of a few dozen bare gathers for that size of row, from base
                            pointers of the very memory that the library reads: memcpy, loops of the
                            widest registers, streaming stores and rep movsb, with and without prefetch
  get_batch_all             the ranks send indices, pack rows, and unpack them: by MPI_Allgatherv and
                            MPI_Alltoallv, of the better MPI here; with none, in shared memory
  add                       memcpy and the page faults of fresh shared memory, by as many threads as help
  attach, join              the same files of records opened, read, checksummed and closed; and of each rank
                            the descriptor of its rows out of a socket, mapped; over fabric an endpoint,
                            and fi_read of one byte
  --path cma                process_vm_readv with the best number of rows a call
  --path mpi                MPI_Get and MPI_Win_flush of each target, or MPI_Rget and MPI_Waitall, on a
                            window over the same memory; get_batch_all: or the exchange
  --path fabric             fi_read of the library's provider, with the best number under way, from targets
                            that block in their queue or poll it

Options:
  --mpi NAME        ranks of that MPI, openmpi or mpich, started by its mpirun (ranks of our own; where
                    the limit is an MPI's: of all that are here, one after another)
  --ranks N         ranks to start (2)
  --hosts N         with --path mpi or fabric, from the source tree and as root: ranks on so many hosts of
                    this machine's own (network namespaces), not on one; over fabric without an MPI
  --readers N       how many of them read at the same time (all, but at most two a core)
  --row A,B,..      bytes of a row (64,512,3072,12800,204800,1048576; add, attach, join: 3072)
  --batch N,..      rows a call (128)
  --json            one JSON object a line on standard output, instead of a table
  --plot FILE.svg   a picture of the lines as well
  --total-bytes N   size of the variable over all ranks; K, M, G are understood (1G)
  --uneven          ranks hold different numbers of rows
  --huge            ask for huge pages (see shmem_enabled in /sys/kernel/mm/transparent_hugepage)
  --rounds N        pairs of measurements, at least 11 (31; add: 11)
  --seed N          of the random rows (1)

A line has: us_per_row of the library, the limit's name, its limit_us_per_row and limit_gbs, the
ratio and its spread (interquartile range / median), over_ns (nanoseconds a call over the limit),
memcpy_gbs of this machine, and ok: every row that was read was compared with what it must hold.
With more readers than cores a row costs what a reader waits for it, its turns off the core included.

Exit status: 0; 1 where a byte was wrong; 2 for a command line that makes no sense; 3 where it was too
noisy (spread over 0.15): measure again in a quieter minute; 4 where something else failed.
)";

[[noreturn, gnu::format(printf, 1, 2)]] void usage(const char* format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("ddstore-bench: ", stderr);
    vfprintf(stderr, format, args);
    fputs("; see ddstore-bench --help\n", stderr);
    va_end(args);
    exit(kUsage);
}

int64_t number(const char* option, const char* text, int64_t least, int64_t most)
{
    char* end;
    int64_t value = strtoll(text, &end, 10);
    const char* const units = "KMG";
    if (const char* unit = *end ? strchr(units, *end) : nullptr; unit && end != text) {
        const int shift = 10 * static_cast<int>(unit - units + 1);
        value = value > most >> shift ? most + (most < INT64_MAX) : value << shift;
        end++;
    }
    if (end == text || *end || value < least || value > most)
        usage("--%s takes a number from %lld to %lld, not \"%s\"", option,
              static_cast<long long>(least), static_cast<long long>(most), text);
    return value;
}

template <class T>
std::vector<T> numbers(const char* option, const std::string& text, int64_t most)
{
    std::vector<T> list;
    for (size_t at = 0; at <= text.size();) {
        const size_t comma = std::min(text.find(',', at), text.size());
        const std::string one = text.substr(at, comma - at);
        list.push_back(static_cast<T>(number(option, one.c_str(), 1, most)));
        at = comma + 1;
    }
    return list;
}

std::string one_of(const char* option, const char* text, std::initializer_list<const char*> known)
{
    std::string list;
    for (const char* name : known) {
        if (!strcmp(name, text))
            return text;
        list.append(list.empty() ? "" : ", ").append(name);
    }
    usage("--%s is one of %s, not \"%s\"", option, list.c_str(), text);
}

enum Id {
    kCase = 1,
    kPath,
    kMpi,
    kHosts,
    kRanks,
    kReaders,
    kRow,
    kBatch,
    kJson,
    kPlot,
    kTotal,
    kUneven,
    kHuge,
    kRounds,
    kSeed,
    kAll,
    kRank,
    kMpiRank,
    kControl,
    kDir,
    kHelpId
};

constexpr option kOptions[] = {
    {"case", 1, nullptr, kCase},         {"path", 1, nullptr, kPath},
    {"mpi", 1, nullptr, kMpi},           {"hosts", 1, nullptr, kHosts},
    {"ranks", 1, nullptr, kRanks},       {"readers", 1, nullptr, kReaders},
    {"row", 1, nullptr, kRow},           {"batch", 1, nullptr, kBatch},
    {"json", 0, nullptr, kJson},         {"plot", 1, nullptr, kPlot},
    {"total-bytes", 1, nullptr, kTotal}, {"uneven", 0, nullptr, kUneven},
    {"huge", 0, nullptr, kHuge},         {"rounds", 1, nullptr, kRounds},
    {"seed", 1, nullptr, kSeed},         {"all", 0, nullptr, kAll},
    {"as-rank", 1, nullptr, kRank},      {"as-mpi", 1, nullptr, kMpiRank},
    {"control", 1, nullptr, kControl},   {"dir", 1, nullptr, kDir},
    {"help", 0, nullptr, kHelpId},       {nullptr, 0, nullptr, 0}};

// One reader of another job, and what it calls takes no rows.
void complete_visit(const Options& o)
{
    const char* const what = o.what.c_str();
    if (o.path != "shm" && o.path != "fabric")
        usage("--case %s is measured with --path shm and fabric", what);
    if (o.ranks == kMostRanks)
        usage("--case %s takes at most %d --ranks", what, kMostRanks - 1);
    if (o.readers || o.batches != Options().batches)
        usage("--case %s is one call of one reader: leave --readers and --batch out", what);
    if (o.hosts || !o.mpi.empty())
        usage("--case %s has ranks of its own on this node: leave --hosts and --mpi out", what);
}

void complete(Options& o)
{
    if (o.what.empty())
        usage("--case is missing");
    if (o.rows.empty())
        o.rows = o.what == "add" || o.visitors()
                     ? std::vector<size_t>{3072}
                     : std::vector<size_t>{64, 512, 3072, 12800, 204800, 1048576};
    if (o.visitors())
        complete_visit(o);
    if (o.what == "get" || o.visitors())
        o.batches = {1};
    if (o.path == "cma" && o.what != "get" && o.what != "get_batch")
        usage("--path cma is measured with --case get and get_batch");
    if (o.path == "mpi" && (o.what == "add" || o.what == "kernels"))
        usage("--path mpi is measured with --case get, get_batch, get_batch_all and threads");
    if (o.path == "fabric" && (o.what == "get_batch_all" || o.what == "add" || o.what == "kernels"))
        usage("--path fabric is measured with --case get, get_batch, threads, attach and join");
    const size_t most = static_cast<size_t>(INT32_MAX) / static_cast<size_t>(o.ranks);
    for (const size_t row : o.rows)
        if (o.path == "mpi" && row > most)
            usage("--path mpi takes rows of at most %zu bytes for %d ranks", most, o.ranks);
    if (o.hosts && ((o.path != "mpi" && o.path != "fabric") || o.hosts > o.ranks))
        usage("--hosts %d goes with --path mpi or fabric and at least as many --ranks", o.hosts);
    if (o.hosts && o.path == "fabric" && !o.mpi.empty())
        usage("--hosts with --path fabric starts the ranks without an MPI: leave --mpi out");
    o.over_mpi = o.path == "mpi" || (o.path == "shm" && o.what == "get_batch_all");
    if (o.readers > o.ranks)
        usage("--readers %d of --ranks %d cannot be", o.readers, o.ranks);
    if (o.what == "get_batch_all" && o.readers && o.readers != o.ranks)
        usage("get_batch_all is a call of all ranks: leave --readers out");
    for (const size_t row : o.rows)
        if (o.total / row < static_cast<size_t>(o.ranks))
            usage("--total-bytes %zu holds no row of %zu bytes for each of %d ranks", o.total, row,
                  o.ranks);
}

}  // namespace

Options parse(int argc, char** argv)
{
    Options o;
    for (int id; (id = getopt_long(argc, argv, "h", kOptions, nullptr)) != -1;) {
        switch (id) {
        case kCase:
            o.what = one_of("case", optarg,
                            {"get", "get_batch", "get_batch_all", "add", "threads", "attach",
                             "join", "kernels"});
            break;
        case kPath: o.path = one_of("path", optarg, {"shm", "cma", "mpi", "fabric"}); break;
        case kHosts: o.hosts = static_cast<int>(number("hosts", optarg, 1, 16)); break;
        case kMpi: o.mpi = one_of("mpi", optarg, {"openmpi", "mpich"}); break;
        case kRanks: o.ranks = static_cast<int>(number("ranks", optarg, 1, kMostRanks)); break;
        case kReaders:
            o.readers = static_cast<int>(number("readers", optarg, 1, kMostRanks));
            break;
        case kRow: o.rows = numbers<size_t>("row", optarg, int64_t{1} << 40); break;
        case kBatch: o.batches = numbers<int64_t>("batch", optarg, 1 << 24); break;
        case kJson: o.json = true; break;
        case kPlot: o.plot = optarg; break;
        case kTotal:
            o.total = static_cast<size_t>(number("total-bytes", optarg, 1, int64_t{1} << 50));
            break;
        case kUneven: o.uneven = true; break;
        case kHuge: o.huge = true; break;
        case kRounds: o.rounds = static_cast<int>(number("rounds", optarg, 11, 100'000)); break;
        case kSeed: o.seed = static_cast<uint64_t>(number("seed", optarg, 0, INT64_MAX)); break;
        case kAll: o.all = true; break;
        case kRank: o.rank = static_cast<int>(number("as-rank", optarg, 0, kMostRanks)); break;
        case kMpiRank: o.library = optarg; break;
        case kControl: o.control = optarg; break;
        case kDir: o.dir = optarg; break;
        case 'h':
        case kHelpId: fputs(kHelp, stdout); exit(0);
        default: fputs("see ddstore-bench --help\n", stderr); exit(kUsage);
        }
    }
    if (optind < argc)
        usage("what is \"%s\"?", argv[optind]);
    complete(o);
    return o;
}

}  // namespace bench
