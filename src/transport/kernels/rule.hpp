// Which copy is best for which size of row, per kind of processor: a table of measurements, not
// code.  `ddstore-bench --case kernels` prints what a new row of it is made from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "transport/kernels/processor.hpp"

namespace dds {

struct Rule {
    size_t row;      // for rows of up to so many bytes, a power of two
    uint32_t kind;   // DDS_COPY_*, and the block << DDS_BLOCK_SHIFT
    uint32_t ahead;  // bytes of the row stream that are prefetched ahead of the copy
};

// When rows are written around the caches, and how.
struct Streaming {
    size_t row;                // from here on ...
    size_t Processor::*cache;  // ... when the batch passes so many times this one
    double times;
    uint32_t block;  // copied in turns with the prefetch (<< DDS_BLOCK_SHIFT; 0: without)
    uint32_t ahead;
};

struct RuleSet {
    const char* processor;        // in words
    std::span<const Rule> one;    // a single row a call
    std::span<const Rule> batch;  // many
    Streaming stream;
};

const RuleSet& rules_for(const Processor& cpu);

}  // namespace dds
