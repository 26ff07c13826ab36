// MPI RMA (method 0): reads from ranks whose memory is not mapped here.  Arenas are exposed as windows,
// one for what all ranks expose at a time, under one MPI_Win_lock_all for the window's life; a read is
// one contiguous MPI_Rget per run, ended by MPI_Testsome.
#pragma once

#include <mutex>
#include <shared_mutex>
#include <unordered_map>

#include "transport/mpi_windows.hpp"
#include "transport/registry.hpp"

namespace dds {

class MpiWire final : public Transport {
public:
    MpiWire(const TransportConfig& config, const MpiGroup& group);
    ~MpiWire() override;

    const char* name() const override { return "mpi"; }
    std::string words() const override;
    int path() const override { return DDS_PATH_MPI; }
    bool reads_own_memory() const override { return true; }
    bool collective() const override { return true; }
    bool patient() const override { return true; }  // a target serves when it enters MPI

    Result<void> expose(uint32_t segment, const Block& block, Key& key) override;
    Result<void> expose(uint32_t segment, std::span<const std::byte> own, Key& key) override;
    Result<void> ready() override;
    Result<void> attach(std::span<const Attach> segments, int64_t timeout_ms) override;
    bool attached(uint32_t peer, uint32_t segment) const override;
    void detach(uint32_t peer, uint32_t segment) override;
    bool quiet() const override;
    Result<void> reap() override;
    void spoil() override;
    Result<void> sync() override;
    void tell(dds_stats_t& stats) const override;

    Result<void> post(Batch& batch) override;
    bool progress(Batch& batch) override;
    void abandon(Batch& batch) override;

private:
    struct Flight;
    struct Lease;  // a batch's hold of one

    struct Exposed {
        uint32_t segment = 0;
        std::span<std::byte> memory;
        std::shared_ptr<const void> keep;  // NULL: the caller's own
    };

    static uint64_t place(uint32_t peer, uint32_t segment)
    {
        return static_cast<uint64_t>(peer) << 32 | segment;
    }
    std::shared_ptr<MpiWindow> window(uint32_t peer, uint32_t segment) const;
    void launch(Flight& flight, Batch& batch);
    bool land(Flight& flight, Batch& batch);
    void give_up_dead(Flight& flight, Batch& batch);
    std::unique_ptr<Flight> take_flight(size_t runs, size_t longest);
    void put_back(std::unique_ptr<Flight> flight);

    Node* node_;
    Mpi& mpi_;

    Exposed exposed_;  // and not in a window yet
    const std::shared_ptr<MpiWindows> windows_;
    std::shared_ptr<MpiWindow> newest_;  // of the last attach
    mutable std::shared_mutex mutex_;    // of what follows: adds and drops against reads
    std::unordered_map<uint64_t, std::shared_ptr<MpiWindow>> where_;

    std::mutex flights_mutex_;
    std::vector<std::unique_ptr<Flight>> idle_;
    std::atomic<uint64_t> staged_{0};
    std::shared_ptr<std::atomic<int>> lost_ = std::make_shared<std::atomic<int>>(0);
};

}  // namespace dds
