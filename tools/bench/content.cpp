#include "content.hpp"

#include <algorithm>
#include <cstring>

namespace bench {
namespace {

uint64_t load(const char* p)
{
    uint64_t word;
    memcpy(&word, p, sizeof word);
    return word;
}

// The 8 bytes of the stream from any byte on.
uint64_t bytes_at(uint64_t seed, uint64_t from)
{
    const uint64_t w = from / 8, shift = from % 8 * 8;
    const uint64_t low = word_at(seed, w);
    return shift ? low >> shift | word_at(seed, w + 1) << (64 - shift) : low;
}

bool is_row(uint64_t seed, uint64_t from, size_t row, const char* out)
{
    uint64_t differs = 0;
    size_t at = 0;
    if (from % 8 == 0) {  // whole words: a loop that the compiler vectorises
        const size_t words = row / 8;
        const uint64_t first = word_at(seed, from / 8);
        for (size_t k = 0; k < words; k++)
            differs |= load(out + 8 * k) ^ (first + k * kStep);
        at = words * 8;
    }
    for (; at < row; at += 8) {
        const uint64_t expected = bytes_at(seed, from + at);
        differs |= memcmp(out + at, &expected, std::min<size_t>(8, row - at)) != 0;
    }
    return differs == 0;
}

}  // namespace

void fill(uint64_t seed, uint64_t from, size_t bytes, char* out)
{
    for (size_t at = 0; at < bytes;) {
        const uint64_t word = bytes_at(seed, from + at);
        const size_t m = std::min<size_t>(8, bytes - at);
        memcpy(out + at, &word, m);
        at += m;
    }
}

uint64_t wrong_rows(uint64_t seed, const int64_t* rows, int64_t n, size_t row, const char* out)
{
    uint64_t wrong = 0;
    for (int64_t i = 0; i < n; i++, out += row)
        wrong += !is_row(seed, static_cast<uint64_t>(rows[i]) * row, row, out);
    return wrong;
}

}  // namespace bench
