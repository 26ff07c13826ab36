// A batch under way over libfabric.  Its runs are in lanes, one for each segment that they come from,
// so that a peer that is slow or gone holds up its own rows alone.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "transport/fabric_port.hpp"
#include "transport/transport.hpp"

namespace dds {

// A segment of a peer as its owner described it: what goes round as its Key.
struct FabricKey {
    uint64_t key;
    uint64_t base;
    uint64_t bytes;
    // What an arena's header says, read before any row of it.
    uint64_t incarnation;
    unsigned char store[16];
    uint32_t id;
    uint32_t arena;  // 0: memory of the caller, which has no header
};
static_assert(sizeof(FabricKey) <= Key::kMost);

struct FabricPlace {
    FabricKey key{};
    std::atomic<bool> proved{false};

    bool proves(const Arenas::Header& header) const;
};

// The part of a run that one fi_read gets.
struct FabricPiece {
    uint32_t run;
    uint64_t at, bytes;
};

struct FabricLane {
    uint32_t rank = 0;
    FabricPeer* peer = nullptr;
    std::shared_ptr<FabricPlace> place;
    uint32_t first = 0, next = 0, end = 0;  // runs
    uint64_t at = 0;                        // of the next run, posted already
    std::vector<FabricPiece> again;         // lost with a connection
    int open = 0;                           // pieces under way
    int failures = 0;                       // connections that ended
    int64_t since = 0;                      // when doubt began that it takes connections; else 0
    bool proving = false, waiting = false;  // waiting: in the flight's list of those to post
    std::optional<Error> verdict;
    bool told = false;

    bool to_post() const { return !verdict && (!again.empty() || next < end); }
};

// Memory of the caller that reads may land in.
struct FabricLanding {
    size_t bytes;
    FabricRegion region;
};

class FabricContext;

struct FabricFlight final : Batch::State {
    FabricFlight(std::shared_ptr<FabricContext> taken, const Node* neighbours, Batch& batch);
    ~FabricFlight() override;

    std::shared_ptr<FabricContext> context;  // NULL: ended
    const Node* node;                        // may be NULL

    // All below by the thread that holds the context's mutex.
    Run* runs;
    std::vector<FabricLane> lanes;
    std::vector<uint32_t> waiting;  // lanes that have something to post
    std::vector<uint64_t> left;     // bytes that are not here yet, by run
    std::vector<uint32_t> landed;   // runs that the batch is not told of
    std::vector<void*> local;       // descriptors of registered destinations; empty: none is needed
    std::vector<std::shared_ptr<const FabricLanding>> landings;  // whose they are
    uint64_t bytes_open = 0;
    uint64_t staged = 0;
    size_t turn = 0;      // whose it is to post
    int doubtful = 0;     // lanes
    int idle = 0;         // steps in which nothing came
    bool judged = false;  // there is a verdict that the batch is not told of
    bool stage = false;
    uint64_t retries = 0;

    void want(FabricLane& lane);
    void doubt(FabricLane& lane, int64_t since);
    void trust(FabricLane& lane);
    void judge(FabricLane& lane, Error why);
    void tell(Batch& batch);
};

}  // namespace dds
