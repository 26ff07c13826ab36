// Seeded random numbers, fast enough that a fresh row index costs less than reading the row.
#pragma once

#include <cstdint>

namespace bench {

class Random {
public:
    explicit Random(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 0xd1b54a32d192ed03u) {}

    uint64_t next()  // xorshift64*
    {
        state_ ^= state_ >> 12;
        state_ ^= state_ << 25;
        state_ ^= state_ >> 27;
        return state_ * 0x2545f4914f6cdd1du;
    }
    int64_t below(int64_t n)
    {
        using Wide = unsigned __int128;
        return static_cast<int64_t>(Wide{next()} * static_cast<uint64_t>(n) >> 64);
    }

private:
    uint64_t state_;
};

}  // namespace bench
