// Handles of communicators and requests: an index and a generation, never an address, so that one
// that was freed or never given out is an error and touches nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/fork.hpp"
#include "base/result.hpp"

namespace dds {

// generation << 24 | index << 2 | tag; the tag tells the kinds apart.
template <class T, class Handle, uint64_t kTag>
class Handles {
public:
    explicit Handles(const char* what) : what_(what) {}

    Handle put(std::shared_ptr<T> object)
    {
        const std::lock_guard lock(mutex_);
        if (free_.empty()) {
            slots_.reserve(slots_.size() + 1);
            free_.reserve(slots_.size() + 1);
            slots_.emplace_back();
            free_.push_back(slots_.size() - 1);
        }
        const size_t index = free_.back();
        free_.pop_back();
        Slot& slot = slots_[index];
        slot.generation++;
        slot.forks = fork_count();
        slot.object = std::move(object);
        return reinterpret_cast<Handle>(slot.generation << 24 | index << 2 | kTag);
    }

    Result<std::shared_ptr<T>> get(Handle handle)
    {
        const std::lock_guard lock(mutex_);
        DDS_LET(slot, find(handle));
        return slot->object;
    }

    Result<std::shared_ptr<T>> take(Handle handle)
    {
        const std::lock_guard lock(mutex_);
        DDS_LET(slot, find(handle));
        free_.push_back(static_cast<size_t>(slot - slots_.data()));
        return std::move(slot->object);
    }

private:
    static constexpr uint64_t kMost = uint64_t{1} << 22;
    struct Slot {
        uint64_t generation = 0;
        uint64_t forks = 0;
        std::shared_ptr<T> object;
    };

    Result<Slot*> find(Handle handle)
    {
        const auto bits = reinterpret_cast<uint64_t>(handle);
        const uint64_t index = bits >> 2 & (kMost - 1);
        if ((bits & 3) != kTag || index >= slots_.size() ||
            slots_[index].generation != bits >> 24 || !slots_[index].object)
            return fail(DDS_ERR_STATE, "%s handle %p is not open", what_,
                        reinterpret_cast<void*>(handle));
        if (slots_[index].forks != fork_count())
            return fail(DDS_ERR_FORKED, "%s handle %p belongs to the parent process: make one here",
                        what_, reinterpret_cast<void*>(handle));
        return &slots_[index];
    }

    const char* what_;
    ForkSafeMutex mutex_;
    std::vector<Slot> slots_;
    std::vector<size_t> free_;
};

}  // namespace dds
