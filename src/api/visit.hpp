// A call's stay in a store.  The thread announces the handle, then sees whether it is live: one word
// per slot tells, zeroed by dds_free and by fork, so one load and compare checks everything.  dds_free
// waits for those who are inside.
#pragma once

#include <atomic>

#include "api/door.hpp"
#include "base/readers.hpp"
#include "store/store.hpp"

namespace dds {

struct alignas(128) StoreSlot {
    std::atomic<uint64_t> live{0};  // the handle, while it is open
    Store* store = nullptr;
    uint64_t last = 0;                // the handle given out last
    std::atomic<uint64_t> forked{0};  // the parent's handle that was here at the fork
    Store* inherited = nullptr;       // and what it meant: to be read from, never used
};

constexpr uint64_t kStoreSlots = 1024;
extern StoreSlot store_slots[kStoreSlots];

// A handle is generation << 12 | index << 2 | 1.
inline StoreSlot& slot_of(uint64_t handle) { return store_slots[handle >> 2 & (kStoreSlots - 1)]; }

class Visit {
public:
    explicit Visit(dds_store_t store) : Visit(reinterpret_cast<uint64_t>(store)) {}
    explicit Visit(uint64_t handle)
        : handle_(handle), slot_(slot_of(handle)), reader_(Readers::mine())
    {
        if (reader_) [[likely]]
            enter();
    }
    Visit(dds_store_t store, Reader& reader)
        : handle_(reinterpret_cast<uint64_t>(store)), slot_(slot_of(handle_)), reader_(&reader)
    {
        enter();
    }
    ~Visit()
    {
        if (reader_) [[likely]]
            Readers::withdraw(reader_);
    }
    Visit(const Visit&) = delete;
    Visit& operator=(const Visit&) = delete;

    explicit operator bool() const { return open_; }
    Store& store() const { return *slot_.store; }
    Reader& reader() const { return *reader_; }
    uint64_t handle() const { return handle_; }
    [[gnu::cold]] Error refusal() const;

private:
    void enter()
    {
        Readers::announce(reader_, handle_);
        open_ = slot_.live.load(std::memory_order_acquire) == handle_ && handle_ != 0;
    }

    uint64_t handle_;
    StoreSlot& slot_;
    Reader* reader_;
    bool open_ = false;
};

// guarded() within a visit: `work` gets the store.
template <class Work>
int visiting(dds_store_t handle, Work work) noexcept
{
    return guarded([&]() -> Result<void> {
        const Visit visit(handle);
        if (!visit)
            return visit.refusal();
        return work(visit.store(), visit);
    });
}

}  // namespace dds
