#include "transport/shm.hpp"

#include <cstring>
#include <mutex>

namespace dds {

Result<void> Shm::expose(uint32_t segment, const Block& block, Key&)
{
    if (!node_)
        return fail(DDS_ERR_UNSUPPORTED, "a store that only reads has no memory to show");
    node_->show(segment, block.arena->segment, block.arena->own, block.arena);
    return {};
}

Result<void> Shm::expose(uint32_t, std::span<const std::byte>, Key&)
{
    return fail(DDS_ERR_UNSUPPORTED, "memory of the caller cannot be mapped by other processes");
}

Result<void> Shm::attach(std::span<const Attach> segments, int64_t timeout_ms)
{
    // A descriptor comes once: its place is made before, and one that comes stays where another fails.
    std::vector<SegmentSource::Awaited> awaited;
    {
        const std::lock_guard lock(mutex_);
        for (const Attach& segment : segments) {
            auto& map = maps_[place(segment.peer, segment.segment)];
            if (!map)
                map = std::make_shared<Segment>();
            awaited.push_back(
                {static_cast<int>(segment.peer), segment.segment, segment.bytes, map.get()});
        }
    }
    return source_->settle(awaited, timeout_ms);
}

bool Shm::attached(uint32_t peer, uint32_t segment) const
{
    return mapped(peer, segment) != nullptr;
}

void Shm::detach(uint32_t peer, uint32_t segment)
{
    const std::lock_guard lock(mutex_);
    maps_.erase(place(peer, segment));
}

std::shared_ptr<Segment> Shm::map(uint32_t peer, uint32_t segment) const
{
    const std::shared_lock lock(mutex_);
    const auto at = maps_.find(place(peer, segment));
    return at == maps_.end() ? nullptr : at->second;
}

const std::byte* Shm::mapped(uint32_t peer, uint32_t segment) const
{
    const auto found = map(peer, segment);
    return found ? found->data() : nullptr;
}

void Shm::copy(Run& run) const
{
    memcpy(run.to, mapped(run.from.peer, run.from.segment) + run.from.offset, run.bytes);
}

Result<void> Shm::post(Batch& batch)
{
    for (Run& run : batch.runs) {
        copy(run);
        batch.end(run, DDS_SUCCESS);
    }
    return {};
}

bool Shm::progress(Batch& batch) { return batch.done(); }

Result<std::unique_ptr<Transport>> open_shm(const TransportConfig& config)
{
    return std::unique_ptr<Transport>(std::make_unique<Shm>(config));
}

}  // namespace dds
