// ddstore-bench: the launcher, and each of its ranks.
#include "launch.hpp"
#include "rank.hpp"

int main(int argc, char** argv)
{
    const bench::Options options = bench::parse(argc, argv);
    return options.rank < 0 ? bench::launch(options, argc, argv) : bench::run_rank(options);
}
