// An endpoint to read through, with a queue and a table of addresses of its own: closing it is the
// only way to give up reads for sure, and concerns nobody else.  Batches that share one also share
// its fate: what they had under way is asked for again.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include "transport/fabric_flight.hpp"

namespace dds {

class FabricContext {
public:
    explicit FabricContext(FabricPort& port);
    ~FabricContext();

    std::atomic<int> batches{0};
    bool inherited() const { return port_.inherited(); }

    void join(FabricFlight& flight);
    // Take what has come, for whatever batch, and post what there is room for of this one.
    void advance(FabricFlight& flight, Batch& batch);
    // Sleep until something has come, for whatever batch, or for `ns` at most.
    void park(const FabricFlight& flight, int64_t ns);
    // No byte lands for it after this.  Bytes that may, where the provider does not let go.
    uint64_t drop(FabricFlight& flight);

    // For tests that make the provider misbehave; NULL before the first read.
    fid_cq* queue();

private:
    struct Line;
    enum class Posted { yes, later, full, broken };

    std::unique_lock<std::mutex> turn_of(Batch& batch);
    bool reset();

    void take();
    void take_error();
    void end(uint32_t slot);
    void lost(FabricFlight& flight, FabricLane& lane, int error);
    void lost_all(int error);
    void settle(FabricFlight& flight, FabricLane& lane, int error);

    void post(FabricFlight& flight);
    Posted post(FabricFlight& flight, FabricLane& lane);
    Posted prove(FabricFlight& flight, FabricLane& lane);
    Posted read(FabricFlight& flight, FabricLane& lane, const FabricPiece& piece);
    Posted answer(FabricFlight& flight, FabricLane& lane, ssize_t code);
    void look(FabricFlight& flight);

    FabricPort& port_;
    std::mutex mutex_;
    std::unique_ptr<Line> line_;
    std::vector<std::unique_ptr<Line>> stuck_;  // that the provider did not close
    std::vector<FabricFlight*> flights_;
};

}  // namespace dds
