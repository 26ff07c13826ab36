// ddstore-bench: the launcher, and each of its ranks.
#include "launch.hpp"
#include "rank.hpp"

int main(int argc, char** argv)
{
    const bench::Options options = bench::parse(argc, argv);
    if (options.rank < 0)
        return bench::launch(options, argc, argv);
    bench::run_rank(options);
    return 0;
}
