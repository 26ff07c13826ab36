#include "memory/fill.hpp"

#include <emmintrin.h>
#include <sched.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <thread>
#include <vector>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

namespace dds {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kPiece = size_t{2} << 20;     // populated and copied at a time: stays in the cache
constexpr size_t kAThread = size_t{16} << 20;  // less than that is not worth a thread
constexpr int kMaxThreads = 8;

int threads_for(size_t bytes)
{
    cpu_set_t cpus;
    if (sched_getaffinity(0, sizeof cpus, &cpus) != 0)
        return 1;
    return std::clamp(static_cast<int>(std::min<size_t>(bytes / kAThread, kMaxThreads)), 1,
                      std::max(1, CPU_COUNT(&cpus)));
}

int populate(std::byte* from, std::byte* to)
{
    const auto first = reinterpret_cast<uintptr_t>(from) & ~(kPage - 1);
    const auto last = (reinterpret_cast<uintptr_t>(to) + kPage - 1) & ~(kPage - 1);
    while (madvise(reinterpret_cast<void*>(first), last - first, MADV_POPULATE_WRITE) != 0) {
        if (errno == EINVAL)
            return 0;  // kernels before 5.14: the copy touches the pages itself
        if (errno != EINTR && errno != EAGAIN)
            return errno;
    }
    return 0;
}

}  // namespace

Result<void> fill(std::byte* to, const void* from, size_t bytes)
{
    if (bytes == 0)
        return {};
    std::atomic<size_t> next{0};
    std::atomic<int> error{0};
    const auto work = [&] {
        for (size_t at; error.load(std::memory_order_relaxed) == 0 &&
                        (at = next.fetch_add(kPiece, std::memory_order_relaxed)) < bytes;) {
            const size_t piece = std::min(kPiece, bytes - at);
            if (const int failed = populate(to + at, to + at + piece))
                error.store(failed);
            else if (from)
                memcpy(to + at, static_cast<const std::byte*>(from) + at, piece);
        }
        _mm_sfence();  // memcpy may have used streaming stores
    };
    std::vector<std::thread> helpers;
    try {
        for (int i = threads_for(bytes); i > 1; i--)
            helpers.emplace_back(work);
    } catch (const std::system_error&) {
        // A limit on threads costs speed, not the call.
    }
    work();
    for (std::thread& helper : helpers)
        helper.join();
    if (error)
        return fail(DDS_ERR_NOMEM, "no memory for a shard of %zu bytes: %s", bytes,
                    strerrordesc_np(error));
    return {};
}

}  // namespace dds
