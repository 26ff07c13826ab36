#include "base/fork.hpp"

#include <pthread.h>

#include <array>
#include <atomic>

namespace dds {
namespace {

constexpr int kMost = 16;
std::array<ForkSafeMutex*, kMost> mutexes;
std::array<void (*)(), kMost> works;
int mutex_count = 0, work_count = 0;
std::atomic<uint64_t> forks{0};

void register_once()
{
    [[maybe_unused]] static const int registered = pthread_atfork(
        [] {
            for (int i = 0; i < mutex_count; i++)
                mutexes[static_cast<size_t>(i)]->lock();
        },
        [] {
            for (int i = mutex_count; i-- > 0;)
                mutexes[static_cast<size_t>(i)]->unlock();
        },
        [] {
            forks.fetch_add(1);
            for (int i = mutex_count; i-- > 0;)
                mutexes[static_cast<size_t>(i)]->unlock();
            for (int i = 0; i < work_count; i++)
                works[static_cast<size_t>(i)]();
        });
}

}  // namespace

uint64_t fork_count() { return forks.load(std::memory_order_relaxed); }

// Both are called while the library is loaded, before there are threads of ours.
ForkSafeMutex::ForkSafeMutex()
{
    register_once();
    mutexes[static_cast<size_t>(mutex_count++)] = this;
}

void at_fork_in_child(void (*work)())
{
    register_once();
    works[static_cast<size_t>(work_count++)] = work;
}

void leave_to_parent(const void* object)
{
    struct Left {
        const void* object;
        Left* next;
    };
    static Left* last = nullptr;
    last = new Left{object, last};
}

}  // namespace dds
