#include "transport/gather.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <string>

#include "transport/kernels/kernel.h"
#include "transport/kernels/processor.hpp"
#include "transport/kernels/rule.hpp"

namespace dds {

constinit std::atomic<dds_copy_fn*> copy_row{dds_copy_sse2};

namespace {

// More rows than these are not prefetched ahead, however short they are: the lines would not stay.
constexpr size_t kMostAhead = DDS_MOST_LEAD;

struct Kernel {
    const char* name;
    dds_gather_fn* gather;
    dds_gather_tiny_fn* gather_tiny;
    dds_copy_fn* copy;
    bool (*runs)(const Processor&);
};
constexpr Kernel kKernels[] = {
    // the best last
    {"sse2", dds_gather_sse2, dds_gather_tiny_sse2, dds_copy_sse2,
     [](const Processor&) { return true; }},
    {"avx2", dds_gather_avx2, dds_gather_tiny_avx2, dds_copy_avx2,
     [](const Processor& cpu) { return cpu.avx2; }},
    {"avx512", dds_gather_avx512, dds_gather_tiny_avx512, dds_copy_avx512,
     [](const Processor& cpu) { return cpu.avx512; }},
};

// What is chosen at load.  Rules are spread over the powers of two, so that a plan is one look-up.
struct Choice {
    struct Cell {
        uint32_t kind, ahead;
    };
    using Cells = std::array<Cell, 65>;  // by bit_width(row - 1)

    Choice();
    void use(const Kernel* chosen)
    {
        kernel = chosen;
        copy_row = chosen->copy;
    }

    Processor cpu = ask_processor();
    Cells one, batch;
    GatherPlan stream;
    size_t stream_row, stream_bytes;
    std::atomic<const Kernel*> kernel;
};

Choice::Cells spread(std::span<const Rule> rules)
{
    Choice::Cells cells;
    for (size_t width = 0; width < cells.size(); width++) {
        const auto rule = std::find_if(rules.begin(), rules.end() - 1, [width](const Rule& r) {
            return width <= static_cast<size_t>(std::bit_width(r.row - 1));
        });
        cells[width] = {rule->kind, rule->ahead};
    }
    return cells;
}

const Kernel* best_kernel(const Processor& cpu)
{
    const Kernel* best = kKernels;
    for (const Kernel& kernel : kKernels)
        if (kernel.runs(cpu))
            best = &kernel;
    return best;
}

Choice::Choice()
{
    const RuleSet& rules = rules_for(cpu);
    one = spread(rules.one);
    batch = spread(rules.batch);
    stream = {DDS_COPY_STREAM | rules.stream.block, rules.stream.ahead, 0};
    stream_row = rules.stream.row;
    stream_bytes =
        static_cast<size_t>(rules.stream.times * static_cast<double>(cpu.*rules.stream.cache));
    use(best_kernel(cpu));
}

Choice choice;

}  // namespace

GatherPlan gather_plan(size_t row, int64_t n)
{
    const auto& cells = n > 1 ? choice.batch : choice.one;
    const auto [kind, ahead] = cells[static_cast<size_t>(std::bit_width(row - (row > 0)))];
    if (row >= choice.stream_row && row * static_cast<size_t>(n) >= choice.stream_bytes)
        return choice.stream;
    if (kind >> DDS_BLOCK_SHIFT || ahead < row || row == 0)
        return {kind, ahead, 0};
    const size_t lead = std::min<size_t>(ahead / static_cast<uint32_t>(row), kMostAhead);
    return {kind, ahead, static_cast<int64_t>(lead)};
}

void gather(const GatherPlan& plan, const std::byte* const* src, int64_t n, size_t row,
            std::byte* dst)
{
    const Kernel* kernel = choice.kernel.load(std::memory_order_relaxed);
    kernel->gather(reinterpret_cast<const char* const*>(src), n, row, reinterpret_cast<char*>(dst),
                   plan.kind, plan.ahead, plan.primed);
}

int64_t gather_tiny(const GatherPlan& plan, const dds_cut& cut, const int64_t* rows, int64_t n,
                    size_t row, std::byte* dst)
{
    const Kernel* kernel = choice.kernel.load(std::memory_order_relaxed);
    return kernel->gather_tiny(&cut, rows, n, row, reinterpret_cast<char*>(dst), plan.primed);
}

const char* gather_kernel() { return choice.kernel.load(std::memory_order_relaxed)->name; }

std::vector<const char*> gather_kernels()
{
    std::vector<const char*> names;
    for (const Kernel& kernel : kKernels)
        if (kernel.runs(choice.cpu))
            names.push_back(kernel.name);
    return names;
}

Result<void> gather_select(std::string_view name)
{
    if (name == "auto") {
        choice.use(best_kernel(choice.cpu));
        return {};
    }
    std::string has = "auto";
    for (const Kernel& kernel : kKernels) {
        if (!kernel.runs(choice.cpu))
            continue;
        if (name == kernel.name) {
            choice.use(&kernel);
            return {};
        }
        has.append(", ").append(kernel.name);
    }
    return fail(DDS_ERR_ARG, "kernel \"%.*s\" does not run here; this processor has %s",
                static_cast<int>(name.size()), name.data(), has.c_str());
}

}  // namespace dds
