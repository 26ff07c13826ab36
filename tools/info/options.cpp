#include "options.hpp"

#include <getopt.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>

namespace info {
namespace {

const char kHelp[] =
    R"(ddstore-info - what libddstore finds here, and how its ranks reach each other

  ddstore-info
  mpirun -n 4 ddstore-info --mpi libmpi.so.40
  ddstore-info --json

It tells the version of the library, this node, its processor and the row copies that run on it, its
memory and limits, the variables of the environment with what they take, the MPI, and for every rank
the path to each other one.

Options:
  --mpi LIBRARY   load this MPI: a soname or a file; without it the one that is in the process already
                  is used, if any, and none is loaded
  --rank N        the rank whose node, limits and environment are shown (0)
  --json          one JSON object instead of text

Exit status: 0; 1 where something is wrong, which the last section then tells; 2 for a command line
that makes no sense.
)";

[[noreturn, gnu::format(printf, 1, 2)]] void usage(const char* format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("ddstore-info: ", stderr);
    vfprintf(stderr, format, args);
    fputs("; see ddstore-info --help\n", stderr);
    va_end(args);
    exit(kUsage);
}

int rank_of(const char* text)
{
    char* end;
    const long value = strtol(text, &end, 10);
    if (end == text || *end || value < 0 || value > 1 << 24)
        usage("--rank takes a rank, not \"%s\"", text);
    return static_cast<int>(value);
}

constexpr option kOptions[] = {{"json", 0, nullptr, 'j'},
                               {"mpi", 1, nullptr, 'm'},
                               {"rank", 1, nullptr, 'r'},
                               {"help", 0, nullptr, 'h'},
                               {nullptr, 0, nullptr, 0}};

}  // namespace

Options parse(int argc, char** argv)
{
    Options o;
    for (int id; (id = getopt_long(argc, argv, "h", kOptions, nullptr)) != -1;) {
        switch (id) {
        case 'j': o.json = true; break;
        case 'm': o.mpi = optarg; break;
        case 'r': o.rank = rank_of(optarg); break;
        case 'h': fputs(kHelp, stdout); exit(0);
        default: fputs("see ddstore-info --help\n", stderr); exit(kUsage);
        }
    }
    if (optind < argc)
        usage("what is \"%s\"?", argv[optind]);
    return o;
}

}  // namespace info
