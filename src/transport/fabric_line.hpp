// The objects of libfabric behind a context, and the slots of what is under way: made and closed as
// one, so that a late completion never finds the slot of a later read.
#pragma once

#include "transport/fabric_context.hpp"

namespace dds {

struct FabricContext::Line {
    static constexpr size_t kMost = 128;                // reads under way
    static constexpr size_t kStage = size_t{64} << 10;  // of each, where it lands in our memory

    static Result<std::unique_ptr<Line>> open(FabricPort& port);
    // Of the endpoint: after 0 nothing lands any more.
    int close(const FabricPort& port);

    // Whether it is safe to wait for `wakes` now: nothing is in the queue.
    bool may_sleep(const FabricPort& port);
    Result<fi_addr_t> address_of(const FabricPort& port, const FabricPeer& peer);
    void end_answers();
    Result<void> make_stage(FabricPort& port);
    std::byte* stage_of(uint32_t slot) { return stage.data() + slot * kStage; }

    struct Slot {
        fi_context2 context;             // the provider's, while a read is under way
        FabricFlight* flight = nullptr;  // NULL: free
        uint32_t lane = 0;
        bool proof = false;
        FabricPiece piece{};
    };

    std::vector<Slot> slots;
    std::vector<uint32_t> free;
    size_t failed = 0;                   // slots that are neither free nor under way
    std::vector<Arenas::Header> proofs;  // where they land, one a slot
    std::vector<std::byte> stage;
    FabricRegion proofs_local, stage_local;
    std::vector<fi_addr_t> addresses;  // by FabricPeer::number
    std::vector<bool> answered;        // likewise
    std::vector<std::string> known;    // to the endpoint, as names
    FabricEnd end;
    int wakes = -1;  // becomes readable when something has come; -1 where the provider has no such
};

}  // namespace dds
