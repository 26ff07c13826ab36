// What the rows hold: a variable is one stream of bytes whose 8-byte word w is f(seed, w), so that
// every row tells where it belongs and is checked without a copy to compare with.
#pragma once

#include <cstddef>
#include <cstdint>

namespace bench {

constexpr uint64_t kStep = 0x9e3779b97f4a7c15u;  // odd: no two words of a variable are equal
constexpr uint64_t word_at(uint64_t seed, uint64_t w) { return seed + w * kStep; }

// Bytes [from, from + bytes) of the stream, to `out`.
void fill(uint64_t seed, uint64_t from, size_t bytes, char* out);

// How many of the n rows in `out` are not rows[i] of the variable.
uint64_t wrong_rows(uint64_t seed, const int64_t* rows, int64_t n, size_t row, const char* out);

}  // namespace bench
