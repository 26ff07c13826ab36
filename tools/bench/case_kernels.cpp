// The bare gathers alone, all of them, on plain shared memory: what the library's rules
// (src/transport/kernels/rule.cpp) are made from.  Not in --help.
#include <algorithm>
#include <cstdio>
#include <numeric>

#include "cases.hpp"
#include "content.hpp"
#include "limit_gather.hpp"

namespace bench {
namespace {

constexpr size_t kPrinted = 12;

char* shared_memory(size_t bytes, bool huge)
{
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        die("no memory for %zu bytes", bytes);
    if (huge)
        madvise(memory, bytes, MADV_HUGEPAGE);
    return static_cast<char*>(memory);
}

}  // namespace

Line kernels(Rank& rank, size_t row, int64_t n)
{
    if (rank.me != 0)
        return {};
    const int64_t per = static_cast<int64_t>(rank.options.total / 2 / row);
    const size_t bytes = static_cast<size_t>(per) * row;
    char* const memory[2] = {shared_memory(bytes, rank.options.huge),
                             shared_memory(bytes, rank.options.huge)};
    for (size_t r = 0; r < 2; r++)
        fill(1, r * bytes, bytes, memory[r]);
    const int64_t first[] = {0, per, 2 * per};
    const char* const base[] = {memory[0], memory[1] - bytes};
    const limit_shards shards{base, first, nullptr, 2, 0, row};

    static Meeting meeting;
    Team alone(meeting, 0, 1, true);
    Job job{2 * per, row, n, 1, nullptr, Random(rank.options.seed)};
    const Buffer out(out_bytes(job));
    job.out = out.data();
    std::vector<Side> sides;
    for (const GatherVariant& v : gather_variants(row, n, 2, rank.options.all))
        sides.push_back(gather_side(v, shards, n));
    std::vector<double> each;
    const size_t best =
        fastest(alone, job, sides, rank.options.rounds ? rank.options.rounds : 41, 0.0003, &each);
    std::vector<size_t> order(sides.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return each[a] < each[b]; });
    printf("row %zu, %lld a call: %.4f us per row\n", row, static_cast<long long>(n),
           1e6 * each[best] / static_cast<double>(n));
    for (size_t i = 0; i < order.size(); i++)
        if (i < kPrinted || sides[order[i]].name == "memcpy gather")
            printf("  %.3f  %s\n", each[order[i]] / each[best], sides[order[i]].name.c_str());
    fflush(stdout);
    munmap(memory[0], bytes);
    munmap(memory[1], bytes);
    Line line;
    line.wrong = job.wrong;
    return line;
}

}  // namespace bench
