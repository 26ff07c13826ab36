// The limit of reading rows that lie in the memory of other processes: process_vm_readv, so many rows
// a call.
#pragma once

#include <sys/types.h>

#include <vector>

#include "measure.hpp"

namespace bench {

struct CmaShard {
    pid_t pid;         // 0: this process
    const char* base;  // base + g * row is row g there
    int64_t first;     // its first row
};

// One side per number of rows a call that is worth trying.
std::vector<Side> cma_sides(const std::vector<CmaShard>& shards, size_t row, int64_t n);

}  // namespace bench
