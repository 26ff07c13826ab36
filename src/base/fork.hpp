// What fork() does to us: mutexes that are whole in the child, things to do there, and a count that
// tells a process from its parent.
#pragma once

#include <cstdint>
#include <mutex>

namespace dds {

uint64_t fork_count();  // forks between the loading of the library and this process

// A mutex that is never locked in a fresh child: it is held around every fork.  Global objects only,
// locked one at a time.
class ForkSafeMutex {
public:
    ForkSafeMutex();
    void lock() { mutex_.lock(); }
    void unlock() { mutex_.unlock(); }
    bool try_lock() { return mutex_.try_lock(); }

private:
    std::mutex mutex_;
};

// Run in the child, before fork() returns there.
void at_fork_in_child(void (*work)());

// In a child: an object of the parent, which cannot be used here and must not be destroyed.  It stays
// reachable, so that it is no leak.
void leave_to_parent(const void* object);

}  // namespace dds
