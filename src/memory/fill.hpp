// Taking the memory of a shard: pages are asked for before they are touched, so that a lack of memory
// is an error and not SIGBUS, and by several threads, because first touch costs 5 to 30 times the
// copy that follows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace dds {

// Copy `from` (NULL: leave the zeros) to fresh pages of a segment at `to`.
Result<void> fill(std::byte* to, const void* from, size_t bytes);

// LIMIT where the memory cgroup or the machine has no room for `bytes` more, with both numbers.
Result<void> check_room(size_t bytes);

// The memory cgroups that this process is in and that have a limit, the innermost first.
struct MemoryLimit {
    std::string cgroup;   // its directory
    uint64_t most, used;  // bytes; cached files are not in `used`, as they are given up
};
std::vector<MemoryLimit> memory_limits();

}  // namespace dds
