// Finds where in this process a peer's shard is mapped, by what it holds: the limit then reads the
// very pages that the library reads, and asks the library for nothing.
#pragma once

#include <cstddef>
#include <cstdint>

namespace bench {

// The address of `bytes` bytes that begin at byte `from` of the variable's content (content.hpp), in
// shared memory of this process other than [own, own + own_bytes); nullptr: they are not mapped.
const char* find_shard(uint64_t seed, uint64_t from, size_t bytes, const char* own,
                       size_t own_bytes);

// How many segments of shared memory are mapped.
size_t mappings();

// The whole shared mapping that `at` is in, or exits.
struct Mapped {
    const char *begin, *end;
};
Mapped mapping_of(const char* at);

}  // namespace bench
