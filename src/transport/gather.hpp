// Row copies on the node: n rows of any size from addresses in this process's map to one buffer, by
// the kernel that was measured best for the row size and the processor.  Kernels are compiled once
// per instruction set (kernels/) and chosen once at load; DDSTORE_KERNEL overrides.
#pragma once

#include <emmintrin.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "transport/kernels/kernel.h"

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

// The same for rows of at most DDS_TINY_ROW bytes, straight from their numbers: see kernels/kernel.h.
int64_t gather_tiny(const GatherPlan& plan, const dds_cut& cut, const int64_t* rows, int64_t n,
                    size_t row, std::byte* dst);

inline void gather_prime(const std::byte* from, size_t row)
{
    __builtin_prefetch(from);
    for (size_t at = 64; at < row; at += 64)
        __builtin_prefetch(from + at);
    if (row & 63)  // an odd row may end in one line more
        __builtin_prefetch(from + row - 1);
}

// One row, as a call that reads no more needs it.  Up to kSmallRow bytes in line: a call would cost as
// much as the copy.  1, 2, 4 and 8 bytes by one load.
constexpr size_t kSmallRow = 128;
extern std::atomic<dds_copy_fn*> copy_row;  // any size, by the kernel that is in use
inline void copy_small(std::byte* to, const std::byte* from, size_t row)
{
    const auto ends = [=]<class Word>(Word head) {  // two words that may overlap
        Word tail;
        memcpy(&tail, from + row - sizeof tail, sizeof tail);
        memcpy(&head, from, sizeof head);
        memcpy(to, &head, sizeof head);
        memcpy(to + row - sizeof tail, &tail, sizeof tail);
    };
    const auto at = [](auto* p) { return reinterpret_cast<__m128i*>(const_cast<std::byte*>(p)); };
    if (row >= 16) {
        for (size_t o = 0; o + 16 < row; o += 16)
            _mm_storeu_si128(at(to + o), _mm_loadu_si128(at(from + o)));
        _mm_storeu_si128(at(to + row - 16), _mm_loadu_si128(at(from + row - 16)));
    } else if (row == 8) {
        memcpy(to, from, 8);
    } else if (row > 8) {
        ends(uint64_t{});
    } else if (row == 4) {
        memcpy(to, from, 4);
    } else if (row > 4) {
        ends(uint32_t{});
    } else if (row == 2) {
        memcpy(to, from, 2);
    } else {
        to[0] = from[0];
        if (row == 3)
            memcpy(to + 1, from + 1, 2);
    }
}

const char* gather_kernel();                          // the instruction set in use: "avx2"
std::vector<const char*> gather_kernels();            // those that run here, the best last
Result<void> gather_select(std::string_view kernel);  // "auto" or a name; ARG lists the names

}  // namespace dds
