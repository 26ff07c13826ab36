#include "base/clock.hpp"

#include <sys/random.h>
#include <time.h>

#include <atomic>
#include <cerrno>

namespace dds::clock {
namespace {

std::atomic<Source*> replacement{nullptr};

}  // namespace

Source* replace(Source* source) { return replacement.exchange(source); }

int64_t now()
{
    if (Source* source = replacement.load(std::memory_order_acquire)) [[unlikely]]
        return source->now();
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * kSecond + t.tv_nsec;
}

void sleep(int64_t ns)
{
    if (Source* source = replacement.load(std::memory_order_acquire)) [[unlikely]]
        return source->sleep(ns);
    // A signal ends the sleep early, so that the caller asks the interrupt check at once.
    const timespec t{ns / kSecond, ns % kSecond};
    nanosleep(&t, nullptr);
}

bool random(void* out, size_t bytes)
{
    if (Source* source = replacement.load(std::memory_order_acquire)) [[unlikely]]
        return source->random(out, bytes);
    for (auto* at = static_cast<unsigned char*>(out); bytes > 0;) {
        const ssize_t got = getrandom(at, bytes, 0);
        if (got < 0) {
            if (errno == EINTR)
                continue;
            return false;
        }
        at += got;
        bytes -= static_cast<size_t>(got);
    }
    return true;
}

}  // namespace dds::clock
