// ddstore-bench: the launcher, and each of its ranks.
#include "hosts.hpp"
#include "launch.hpp"
#include "rank.hpp"

int main(int argc, char** argv)
{
    bench::Options options = bench::parse(argc, argv);
    if (options.starts())
        return bench::start_on_hosts(options, {argv, argv + argc});
    if (options.rank < 0 && options.library.empty())
        return bench::launch(options, argc, argv);
    if (!options.library.empty())
        options.rank = bench::join_mpi(options);
    bench::run_rank(options);
    return 0;
}
