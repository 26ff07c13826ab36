// Row copies on the node: n rows of any size from addresses in this process's map to one buffer, by
// the kernel that was measured best for the row size and the processor.  Kernels are compiled once
// per instruction set (kernels/) and chosen once at load; DDSTORE_KERNEL overrides.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/result.hpp"

namespace dds {

struct GatherPlan {
    uint32_t kind;   // a kernel's number and its block size, kernels/kernel.h
    uint32_t ahead;  // bytes of the row stream that are prefetched ahead of the copy
    int64_t primed;  // the first rows, which the caller has prefetched whole while it found them
};

// The plan for n rows of `row` bytes each.
GatherPlan gather_plan(size_t row, int64_t n);

// Copy src[i] to dst + i * row for n rows.  Rows that should be primed and are not are only slower.
void gather(const GatherPlan& plan, const std::byte* const* src, int64_t n, size_t row,
            std::byte* dst);

inline void gather_prime(const std::byte* from, size_t row)
{
    for (size_t at = 0; at < row; at += 64)
        __builtin_prefetch(from + at);
    if (row & 63)  // an odd row may end in one line more
        __builtin_prefetch(from + row - 1);
}

const char* gather_kernel();                          // the instruction set in use: "avx2"
Result<void> gather_select(std::string_view kernel);  // "auto" or a name; ARG lists the names

}  // namespace dds
