#include "transport/fabric_wire.hpp"

#include <algorithm>
#include <cstring>

#include "transport/fabric_context.hpp"

namespace dds {
namespace {

Error forked(int rank)
{
    return fail(DDS_ERR_FORKED,
                "rank %d: libfabric's connections belong to the parent process: open a reader in "
                "the child",
                rank);
}

// Around every change of what a forked child looks at, of any wire; and around the fork.
ForkSafeMutex changes;

}  // namespace

std::atomic<uint64_t> FabricWire::quarantined_{0};

FabricWire::FabricWire(const TransportConfig& config, FabricChoice choice,
                       std::shared_ptr<FabricPort> port)
    : node_(config.node), rank_(config.rank), choice_(std::move(choice)), port_(std::move(port))
{
}

FabricWire::~FabricWire() = default;

Result<void> FabricWire::expose(uint32_t segment, std::span<const std::byte> memory, FabricKey key,
                                std::shared_ptr<const void> keep, Key& out)
{
    DDS_LET(region, port_->expose(memory));
    key.key = region.key;
    key.base = region.base;
    key.bytes = memory.size();
    memcpy(out.bytes.data(), &key, sizeof key);
    out.used = sizeof key;
    const std::lock_guard lock(mutex_);
    exposed_[segment] = {std::move(region), std::move(keep)};
    return {};
}

Result<void> FabricWire::expose(uint32_t segment, const Block& block, Key& key)
{
    const Segment& memory = block.arena->segment;
    Arenas::Header header;
    memcpy(&header, memory.data(), sizeof header);
    FabricKey described{};
    described.incarnation = header.incarnation;
    memcpy(described.store, header.store, sizeof described.store);
    described.id = header.id;
    described.arena = 1;
    return expose(segment, {memory.data(), memory.bytes()}, described, block.arena, key);
}

Result<void> FabricWire::expose(uint32_t segment, std::span<const std::byte> own, Key& key)
{
    return expose(segment, own, FabricKey{}, nullptr, key);
}

void FabricWire::unexpose(uint32_t segment)
{
    const std::lock_guard lock(mutex_);
    exposed_.erase(segment);
}

Result<void> FabricWire::meet(std::span<const std::string> addresses)
{
    std::vector<FabricPeer*> peers;
    for (const std::string& address : addresses)
        peers.push_back(address.empty() ? nullptr : &port_->peer(address));
    const std::scoped_lock lock(changes, mutex_);
    peers_ = std::move(peers);
    return {};
}

Result<void> FabricWire::attach(std::span<const Attach> segments, int64_t)
{
    for (const Attach& segment : segments) {
        auto place = std::make_shared<FabricPlace>();
        if (segment.key.used != sizeof place->key)
            return fail_rank(DDS_ERR_CORRUPT, static_cast<int>(segment.peer),
                             "rank %u gave no key of libfabric for its segment %u", segment.peer,
                             segment.segment);
        memcpy(&place->key, segment.key.bytes.data(), sizeof place->key);
        if (place->key.bytes < segment.bytes)
            return fail_rank(DDS_ERR_CORRUPT, static_cast<int>(segment.peer),
                             "rank %u registered %llu of the %llu bytes of its segment %u",
                             segment.peer, static_cast<unsigned long long>(place->key.bytes),
                             static_cast<unsigned long long>(segment.bytes), segment.segment);
        const std::scoped_lock lock(changes, mutex_);
        if (segment.peer >= peers_.size() || !peers_[segment.peer])
            return fail_rank(DDS_ERR_UNSUPPORTED, static_cast<int>(segment.peer),
                             "rank %u gave no address of libfabric", segment.peer);
        places_[where(segment.peer, segment.segment)] = std::move(place);
    }
    return {};
}

bool FabricWire::attached(uint32_t peer, uint32_t segment) const
{
    const std::shared_lock lock(mutex_);
    return places_.count(where(peer, segment)) != 0;
}

void FabricWire::detach(uint32_t peer, uint32_t segment)
{
    const std::scoped_lock lock(changes, mutex_);
    places_.erase(where(peer, segment));
}

// Most providers read into any memory: then there is nothing to keep.
Result<void> FabricWire::register_local(std::span<std::byte> memory)
{
    if (!needs_local() || memory.empty())
        return {};
    const std::lock_guard lock(mutex_);
    const auto known = locals_.find(memory.data());
    if (known != locals_.end() && known->second->bytes >= memory.size())
        return {};
    DDS_LET(region, port_->land(memory, nullptr));
    longest_ = std::max(longest_, memory.size());
    locals_[memory.data()] =
        std::make_shared<const FabricLanding>(FabricLanding{memory.size(), std::move(region)});
    return {};
}

void FabricWire::unregister_local(std::byte* memory)
{
    const std::lock_guard lock(mutex_);
    locals_.erase(memory);
}

void FabricWire::tell(dds_stats_t& stats) const
{
    const std::shared_lock lock(mutex_);
    stats.keys += exposed_.size() + locals_.size();
    stats.retries += retries_;
    stats.staged_bytes += staged_;
    stats.quarantined_bytes += quarantined_;
}

Result<std::unique_ptr<Transport>> FabricWire::in_child() const
{
    DDS_LET(port, FabricPort::get(choice_));
    auto wire =
        std::make_unique<FabricWire>(TransportConfig{nullptr, rank_, ""}, choice_, std::move(port));
    for (const FabricPeer* peer : peers_)
        wire->peers_.push_back(peer ? &wire->port_->peer(peer->address) : nullptr);
    for (const auto& [where, place] : places_) {
        auto& its = wire->places_[where] = std::make_shared<FabricPlace>();
        its->key = place->key;
    }
    return std::unique_ptr<Transport>(std::move(wire));
}

const std::shared_ptr<const FabricLanding>* FabricWire::local_of(const Run& run) const
{
    // A slice of a buffer may be registered, too, so that the nearest is not the one that has all.
    for (auto at = locals_.upper_bound(run.to); at != locals_.begin();) {
        --at;
        const auto before = static_cast<size_t>(run.to - at->first);
        if (before + run.bytes <= at->second->bytes)
            return &at->second;
        if (before >= longest_)
            break;
    }
    return nullptr;
}

// Where a destination must be registered: a batch goes straight to it, or all of it by way of ours.
void FabricWire::find_local(FabricFlight& flight, Batch& batch) const
{
    flight.stage = choice_.lands == FabricLands::staged;
    if (flight.stage || !needs_local())
        return;
    flight.local.reserve(batch.runs.size());
    for (const Run& run : batch.runs) {
        const auto* landing = local_of(run);
        flight.local.push_back(landing ? fi_mr_desc((*landing)->region.mr.get()) : nullptr);
        if (!landing && run.bytes > 0)
            flight.stage = true;
        else if (landing && (flight.landings.empty() || flight.landings.back() != *landing))
            flight.landings.push_back(*landing);
    }
    batch.unregistered = flight.stage ? 1 : 0;
}

// Runs come grouped by peer and segment.
Result<void> FabricWire::lay_lanes(FabricFlight& flight, Batch& batch) const
{
    const std::shared_lock lock(mutex_);
    size_t lanes = 0;
    for (size_t i = 0; i < batch.runs.size(); i++)
        lanes += i == 0 || where(batch.runs[i].from.peer, batch.runs[i].from.segment) !=
                               where(batch.runs[i - 1].from.peer, batch.runs[i - 1].from.segment);
    flight.lanes.reserve(lanes);
    flight.waiting.reserve(lanes);
    uint64_t last = 0;
    for (size_t i = 0; i < batch.runs.size(); i++) {
        const Run& run = batch.runs[i];
        const uint64_t from = where(run.from.peer, run.from.segment);
        if (i == 0 || from != last) {
            const auto place = places_.find(from);
            if (place == places_.end())
                return fail_rank(DDS_ERR_STATE, static_cast<int>(run.from.peer),
                                 "segment %u of rank %u is not attached", run.from.segment,
                                 run.from.peer);
            FabricLane& lane = flight.lanes.emplace_back();
            lane.rank = run.from.peer;
            lane.peer = peers_[run.from.peer];
            lane.place = place->second;
            lane.first = lane.next = static_cast<uint32_t>(i);
            last = from;
        }
        FabricLane& lane = flight.lanes.back();
        lane.end = static_cast<uint32_t>(i + 1);
        // A read past the end would cost the connection.
        if (run.from.offset > lane.place->key.bytes ||
            run.bytes > lane.place->key.bytes - run.from.offset)
            return fail_rank(DDS_ERR_RANGE, static_cast<int>(run.from.peer),
                             "%llu bytes at %llu are past the end of segment %u of rank %u, %llu",
                             static_cast<unsigned long long>(run.bytes),
                             static_cast<unsigned long long>(run.from.offset), run.from.segment,
                             run.from.peer, static_cast<unsigned long long>(lane.place->key.bytes));
        flight.left[i] = run.bytes;
    }
    find_local(flight, batch);
    return {};
}

Result<void> FabricWire::post(Batch& batch)
{
    if (port_->inherited())
        return forked(rank_);
    auto made = std::make_unique<FabricFlight>(port_->take_context(), node_, batch);
    FabricFlight& flight = *made;
    flight.context->join(flight);
    batch.state = std::move(made);
    DDS_TRY(lay_lanes(flight, batch));
    // The next rank's first, so that not all ranks begin with the same one.
    for (FabricLane& lane : flight.lanes)
        flight.want(lane);
    while (flight.turn < flight.lanes.size() &&
           static_cast<int>(flight.lanes[flight.turn].rank) <= rank_)
        flight.turn++;
    progress(batch);
    return {};
}

bool FabricWire::progress(Batch& batch)
{
    auto* flight = static_cast<FabricFlight*>(batch.state.get());
    if (!flight || !flight->context)
        return batch.done();
    if (port_->inherited()) {
        abandon(batch);
        for (Run& run : batch.runs)
            if (run.code == Run::kOpen)
                batch.fail_run(run, forked(rank_));
        return true;
    }
    flight->context->advance(*flight, batch);
    if (!batch.done())
        return false;
    leave(*flight, batch);
    return true;
}

void FabricWire::park(Batch& batch, int64_t ns)
{
    auto* flight = static_cast<FabricFlight*>(batch.state.get());
    if (flight && flight->context && !port_->inherited())
        flight->context->park(*flight, ns);
}

void FabricWire::leave(FabricFlight& flight, Batch& batch)
{
    const uint64_t held = flight.context->drop(flight);
    flight.context.reset();
    batch.held = held;
    quarantined_ += held;
    retries_ += flight.retries;
    staged_ += flight.staged;
}

void FabricWire::abandon(Batch& batch)
{
    auto* flight = static_cast<FabricFlight*>(batch.state.get());
    if (!flight || !flight->context)
        return;
    if (port_->inherited()) {
        // Its slots and locks are as the fork found them.
        leave_to_parent(batch.state.release());
        return;
    }
    leave(*flight, batch);
}

Result<std::unique_ptr<Transport>> open_fabric(const TransportConfig& config)
{
    FabricChoice chosen;
    if (config.fabric) {
        chosen = *config.fabric;
    } else {
        const FabricWish wish = FabricWish::of_environment(true);
        DDS_LET(offers, fabric_offers(wish));
        DDS_LET(mine, fabric_choose(offers.each[0], wish));
        chosen = mine;
    }
    DDS_LET(port, FabricPort::get(chosen));
    return std::unique_ptr<Transport>(
        std::make_unique<FabricWire>(config, std::move(chosen), std::move(port)));
}

}  // namespace dds
