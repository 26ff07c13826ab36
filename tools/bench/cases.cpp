#include "cases.hpp"

#include <algorithm>
#include <numeric>

namespace bench {

Buffer::Buffer(size_t bytes) : bytes_(std::max<size_t>(bytes, 1))
{
    void* memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (memory == MAP_FAILED)
        die("no memory for %zu bytes", bytes_);
    data_ = static_cast<char*>(memory);
}

MpiShards mpi_shards(const Rank& rank, const Variable& variable)
{
    const auto first = static_cast<size_t>(variable.first()[static_cast<size_t>(rank.me)]);
    return {variable.first().data(), rank.options.ranks, rank.me, variable.row(),
            variable.own() - first * variable.row()};
}

Job make_job(const Variable& variable, int64_t n, uint64_t seed)
{
    return {variable.total(), variable.row(), n, variable.content(), nullptr, Random(seed)};
}

size_t out_bytes(const Job& job) { return static_cast<size_t>(job.slots() * job.n) * job.row; }

size_t choose(Team& team, Job& job, const std::vector<Side>& sides)
{
    if (sides.size() == 1)
        return 0;
    constexpr size_t kFinal = 4;
    const bool big = job.row * static_cast<size_t>(job.n) > size_t{8} << 20;
    std::vector<double> each;
    fastest(team, job, sides, big ? 5 : 11, 0.0003, &each);
    std::vector<size_t> order(sides.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return each[a] < each[b]; });
    order.resize(std::min(kFinal, order.size()));
    std::vector<Side> last;
    for (const size_t i : order)
        last.push_back(sides[i]);
    return order[fastest(team, job, last, big ? 9 : 61, 0.0005)];
}

}  // namespace bench
