// Shared memory: a peer's arena is mapped read-only, once, and its rows are plain loads.
#pragma once

#include <shared_mutex>
#include <unordered_map>
#include <unordered_set>

#include "transport/registry.hpp"

namespace dds {

class Shm : public Transport {
public:
    explicit Shm(const TransportConfig& config)
        : node_(config.node), source_(config.source ? config.source : config.node)
    {
    }

    const char* name() const override { return "shm"; }
    int path() const override { return DDS_PATH_SHM; }
    Result<void> expose(uint32_t segment, const Block& block, Key& key) override;
    Result<void> expose(uint32_t segment, std::span<const std::byte> own, Key& key) override;
    Result<void> attach(std::span<const Attach> segments, int64_t timeout_ms) override;
    bool attached(uint32_t peer, uint32_t segment) const override;
    void detach(uint32_t peer, uint32_t segment) override;
    const std::byte* mapped(uint32_t peer, uint32_t segment) const override;
    std::shared_ptr<const void> hold(uint32_t peer, uint32_t segment) const override
    {
        return map(peer, segment);
    }
    Result<void> post(Batch& batch) override;
    bool progress(Batch& batch) override;
    void abandon(Batch&) override {}

protected:
    void copy(Run& run) const;

private:
    static uint64_t place(uint32_t peer, uint32_t segment)
    {
        return static_cast<uint64_t>(peer) << 32 | segment;
    }

    std::shared_ptr<Segment> map(uint32_t peer, uint32_t segment) const;

    Node* node_;  // NULL in a store that only reads
    SegmentSource* source_;
    mutable std::shared_mutex mutex_;  // of maps_: adds and drops against wires that look up
    std::unordered_map<uint64_t, std::shared_ptr<Segment>> maps_;
};

}  // namespace dds
