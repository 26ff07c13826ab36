// Those that measure together - ranks, or threads of one rank - and meet between their runs: on a
// page that they share.  Where there are more of them than cores nobody spins.
#pragma once

#include <atomic>
#include <cstdint>

namespace bench {

constexpr int kMostRanks = 256;

// Zeroed memory that all members have mapped.
struct Meeting {
    alignas(64) std::atomic<uint32_t> arrived;
    alignas(64) std::atomic<uint32_t> turn;
    struct alignas(64) Line {
        double number;
    } lines[kMostRanks];
};

class Team {
public:
    // Who waits calls `progress`, if there is one: it serves those that still run.
    Team(Meeting& meeting, int me, int size, bool spin, void (*progress)() = nullptr)
        : meeting_(meeting), me_(me), size_(size), spin_(spin), progress_(progress)
    {
    }
    int me() const { return me_; }
    int size() const { return size_; }
    bool spin() const { return spin_; }

    void meet();
    double sum(double mine);
    bool any(bool mine) { return sum(mine ? 1 : 0) > 0; }
    int64_t first(int64_t mine);  // what member 0 says

private:
    Meeting& meeting_;
    int me_, size_;
    bool spin_;
    void (*progress_)();
};

}  // namespace bench
