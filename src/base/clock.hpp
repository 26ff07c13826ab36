// Time, sleep and random numbers: the only place they come from, so that a simulation can run many
// ranks of the same code in one process on virtual time.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dds::clock {

// What a simulation replaces; the real one is CLOCK_MONOTONIC, nanosleep and getrandom(2).
class Source {
public:
    virtual ~Source() = default;
    virtual int64_t now() = 0;  // ns
    virtual void sleep(int64_t ns) = 0;
    virtual bool random(void* out, size_t bytes) = 0;  // false: the system has none
};

Source* replace(Source* source);  // NULL: the real one; returns the one before

int64_t now();
void sleep(int64_t ns);
bool random(void* out, size_t bytes);

constexpr int64_t kMillisecond = 1'000'000;
constexpr int64_t kSecond = 1'000'000'000;

// A point in time by which a call returns.
class Deadline {
public:
    static Deadline after_ms(int64_t ms) { return Deadline(now() + ms * kMillisecond); }

    bool passed() const { return now() >= at_; }
    int64_t left() const  // ns, never negative
    {
        const int64_t ns = at_ - now();
        return ns > 0 ? ns : 0;
    }
    int left_ms() const { return static_cast<int>((left() + kMillisecond - 1) / kMillisecond); }

private:
    explicit Deadline(int64_t at) : at_(at) {}
    int64_t at_;
};

}  // namespace dds::clock
