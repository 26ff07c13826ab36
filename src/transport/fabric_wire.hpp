// Reads between nodes by libfabric: one fi_read for what of a run fits, none of it waited for.  The
// owner's processor takes no part where its card reads by itself; elsewhere the port's thread serves.
#pragma once

#include <map>
#include <shared_mutex>
#include <unordered_map>

#include "transport/fabric_flight.hpp"
#include "transport/registry.hpp"

namespace dds {

class FabricWire final : public Transport {
public:
    FabricWire(const TransportConfig& config, FabricChoice choice,
               std::shared_ptr<FabricPort> port);
    ~FabricWire() override;

    const char* name() const override { return "fabric"; }
    std::string words() const override { return "fabric " + port_->provider(); }
    int path() const override { return DDS_PATH_FABRIC; }
    bool reads_own_memory() const override { return true; }
    bool keyed() const override { return true; }

    Result<void> expose(uint32_t segment, const Block& block, Key& key) override;
    Result<void> expose(uint32_t segment, std::span<const std::byte> own, Key& key) override;
    void unexpose(uint32_t segment) override;
    std::string address() const override { return port_->address(); }
    Result<void> meet(std::span<const std::string> addresses) override;
    Result<void> attach(std::span<const Attach> segments, int64_t timeout_ms) override;
    bool attached(uint32_t peer, uint32_t segment) const override;
    void detach(uint32_t peer, uint32_t segment) override;
    Result<void> register_local(std::span<std::byte> memory) override;
    void unregister_local(std::byte* memory) override;
    void tell(dds_stats_t& stats) const override;
    Result<std::unique_ptr<Transport>> in_child() const override;

    Result<void> post(Batch& batch) override;
    bool progress(Batch& batch) override;
    bool wakes() const override { return true; }
    void park(Batch& batch, int64_t ns) override;
    void abandon(Batch& batch) override;

    FabricPort& port() { return *port_; }

private:
    struct Exposed {
        FabricRegion region;
        std::shared_ptr<const void> keep;  // NULL: the caller's own
    };

    static uint64_t where(uint32_t peer, uint32_t segment)
    {
        return static_cast<uint64_t>(peer) << 32 | segment;
    }
    Result<void> expose(uint32_t segment, std::span<const std::byte> memory, FabricKey key,
                        std::shared_ptr<const void> keep, Key& out);
    Result<void> lay_lanes(FabricFlight& flight, Batch& batch) const;
    bool needs_local() const
    {
        return port_->needs_local() || choice_.lands == FabricLands::registered;
    }
    void find_local(FabricFlight& flight, Batch& batch) const;
    const std::shared_ptr<const FabricLanding>* local_of(const Run& run) const;  // NULL: none
    void leave(FabricFlight& flight, Batch& batch);

    const Node* node_;
    const int rank_;
    const FabricChoice choice_;
    const std::shared_ptr<FabricPort> port_;

    mutable std::shared_mutex mutex_;  // of what follows: adds and drops against reads
    std::vector<FabricPeer*> peers_;   // by rank
    std::unordered_map<uint64_t, std::shared_ptr<FabricPlace>> places_;
    std::unordered_map<uint32_t, Exposed> exposed_;
    // Destinations, where they must be registered, by their address; the longest ever.
    std::map<const std::byte*, std::shared_ptr<const FabricLanding>> locals_;
    size_t longest_ = 0;

    std::atomic<uint64_t> retries_{0}, staged_{0};
    static std::atomic<uint64_t> quarantined_;
};

}  // namespace dds
