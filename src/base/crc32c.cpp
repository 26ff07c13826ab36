// CRC-32C by the crc32 instruction of SSE 4.2 where the processor has it, else eight bytes a step by
// tables (Kounavis and Berry's slicing).  Both give the same value; the tests compare them.
#include "base/crc32c.hpp"

#include <nmmintrin.h>

#include <array>
#include <cstring>

namespace dds {
namespace {

constexpr uint32_t kPolynomial = 0x82f63b78;  // 0x1edc6f41, reflected

using Table = std::array<std::array<uint32_t, 256>, 8>;

constexpr Table make_table()
{
    Table table{};
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? kPolynomial : 0);
        table[0][byte] = crc;
    }
    for (size_t slice = 1; slice < 8; slice++)
        for (size_t byte = 0; byte < 256; byte++) {
            const uint32_t before = table[slice - 1][byte];
            table[slice][byte] = before >> 8 ^ table[0][before & 0xff];
        }
    return table;
}

constexpr Table table = make_table();

}  // namespace

uint32_t crc32c_table(uint32_t crc, const void* data, size_t bytes)
{
    const auto* at = static_cast<const unsigned char*>(data);
    crc = ~crc;
    for (; bytes >= 8; bytes -= 8, at += 8) {
        uint32_t low, high;
        std::memcpy(&low, at, 4);
        std::memcpy(&high, at + 4, 4);
        low ^= crc;
        crc = table[7][low & 0xff] ^ table[6][low >> 8 & 0xff] ^ table[5][low >> 16 & 0xff] ^
              table[4][low >> 24] ^ table[3][high & 0xff] ^ table[2][high >> 8 & 0xff] ^
              table[1][high >> 16 & 0xff] ^ table[0][high >> 24];
    }
    for (; bytes > 0; bytes--)
        crc = crc >> 8 ^ table[0][(crc ^ *at++) & 0xff];
    return ~crc;
}

__attribute__((target("sse4.2"))) uint32_t crc32c_sse42(uint32_t crc, const void* data,
                                                        size_t bytes)
{
    const auto* at = static_cast<const unsigned char*>(data);
    uint64_t state = ~crc;
    for (; bytes >= 8; bytes -= 8, at += 8) {
        uint64_t word;
        std::memcpy(&word, at, 8);
        state = _mm_crc32_u64(state, word);
    }
    auto narrow = static_cast<uint32_t>(state);
    for (; bytes > 0; bytes--)
        narrow = _mm_crc32_u8(narrow, *at++);
    return ~narrow;
}

bool crc32c_has_sse42() { return __builtin_cpu_supports("sse4.2"); }

uint32_t crc32c(uint32_t crc, const void* data, size_t bytes)
{
    static const auto best = crc32c_has_sse42() ? crc32c_sse42 : crc32c_table;
    return best(crc, data, bytes);
}

}  // namespace dds
