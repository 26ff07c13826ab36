// ddstore-info: each rank finds out about itself, one of them tells.
#include <cstdio>

#include "facts.hpp"
#include "options.hpp"
#include "ranks.hpp"

int main(int argc, char** argv)
{
    using namespace info;
    const Options options = parse(argc, argv);
    Sheet sheet;
    tell_library(sheet);
    tell_environment(sheet);
    tell_node(sheet);
    tell_processor(sheet);
    tell_memory(sheet);
    tell_limits(sheet);
    tell_network(sheet);
    const Mpi mpi(sheet, options.mpi);
    const Ranks ranks(sheet, mpi);

    // Processes that were started together and have no MPI know their rank from the launcher alone.
    const int rank = mpi ? ranks.rank() : launch().rank;
    const int size = mpi ? ranks.size() : launch().size;
    if (options.rank >= size) {
        if (rank == 0)
            fprintf(stderr, "ddstore-info: there is no rank %d, there are %d\n", options.rank,
                    size);
        return kUsage;
    }
    if (rank == options.rank)
        fputs((options.json ? sheet.json() : sheet.text()).c_str(), stdout);
    return sheet.problems().empty() ? 0 : kWrong;
}
