#include "transport/fabric_context.hpp"

#include <poll.h>

#include <algorithm>
#include <cstring>

#include "base/clock.hpp"
#include "transport/fabric_line.hpp"

namespace dds {
namespace {

constexpr uint64_t kWindow = uint64_t{8} << 20;  // bytes of a batch under way
constexpr uint64_t kPiece = uint64_t{1} << 20;   // of one read, so that each re-arms the deadline
constexpr int kTurn = 16;                        // pieces before it is the next peer's turn
constexpr size_t kTaken = 64;                    // completions at a time
// A peer whose connection ended gets so long to take a new one: a dead one refuses for ever, which
// providers hide.
constexpr int64_t kGrace = 500 * clock::kMillisecond;
constexpr int kFailures = 2;
constexpr int64_t kShared = 20'000;  // ns of a sleep that nothing may end
constexpr int kLooks = 100;  // steps without progress before the node's own knowledge is asked

bool of_keys(int error)
{
    return error == FI_EACCES || error == FI_ENOKEY || error == EKEYREJECTED;
}

}  // namespace

FabricContext::FabricContext(FabricPort& port) : port_(port) {}
FabricContext::~FabricContext() = default;

fid_cq* FabricContext::queue()
{
    const std::lock_guard lock(mutex_);
    return line_ ? line_->end.queue.get() : nullptr;
}

void FabricContext::join(FabricFlight& flight)
{
    const std::lock_guard lock(mutex_);
    flights_.push_back(&flight);
}

std::unique_lock<std::mutex> FabricContext::turn_of(Batch& batch)
{
    std::unique_lock lock(mutex_, std::try_to_lock);
    if (lock)
        return lock;
    const int64_t begin = batch.timed ? clock::now() : 0;
    lock.lock();
    if (batch.timed)
        batch.lock_ns += clock::now() - begin;
    return lock;
}

void FabricContext::advance(FabricFlight& flight, Batch& batch)
{
    const auto lock = turn_of(batch);
    take();
    post(flight);
    flight.idle = flight.landed.empty() ? flight.idle + 1 : 0;
    if (flight.doubtful > 0 || flight.idle >= kLooks)
        look(flight);
    flight.tell(batch);
}

void FabricContext::park(const FabricFlight& flight, int64_t ns)
{
    // What another thread takes out of the queue for us wakes nobody.
    if (batches.load(std::memory_order_relaxed) > 1)
        ns = std::min(ns, kShared);
    pollfd queue{-1, POLLIN, 0};
    {
        const std::lock_guard lock(mutex_);
        // While a connection is made, what it waits for is not in the queue.
        if (!line_ || line_->wakes < 0 || flight.bytes_open == 0)
            ns = std::min(ns, kShared);
        else if (!line_->may_sleep(port_))
            return;
        else
            queue.fd = line_->wakes;
    }
    // Should the queue be closed now, and its number be another file's, that file is waited for, and
    // nothing more.
    const timespec most{ns / clock::kSecond, ns % clock::kSecond};
    ppoll(&queue, 1, &most, nullptr);
}

uint64_t FabricContext::drop(FabricFlight& flight)
{
    const std::lock_guard lock(mutex_);
    std::erase(flights_, &flight);
    uint64_t direct = 0;
    bool open = false;
    for (Line::Slot& slot : line_ ? std::span(line_->slots) : std::span<Line::Slot>()) {
        if (slot.flight != &flight)
            continue;
        open = true;
        direct += slot.proof || flight.stage ? 0 : slot.piece.bytes;
        slot.flight = nullptr;
    }
    const bool closed = !open || reset();
    batches--;
    return closed ? 0 : direct;
}

// Close what there is: nothing lands after this, and what was under way is to be posted again.
bool FabricContext::reset()
{
    if (!line_)
        return true;
    const bool closed = line_->close(port_) == 0;
    for (Line::Slot& slot : line_->slots) {
        if (!slot.flight)
            continue;
        FabricFlight& flight = *slot.flight;
        FabricLane& lane = flight.lanes[slot.lane];
        lane.open--;
        flight.bytes_open -= slot.piece.bytes;
        if (slot.proof)
            lane.proving = false;
        else
            lane.again.push_back(slot.piece);
        flight.want(lane);
        slot.flight = nullptr;
    }
    if (!closed)
        stuck_.push_back(std::move(line_));  // the provider still has its memory
    line_.reset();
    return closed;
}

void FabricContext::take()
{
    fi_cq_entry entries[kTaken];
    while (line_) {
        const ssize_t got = fi_cq_read(line_->end.queue.get(), entries, kTaken);
        for (ssize_t i = 0; i < got; i++) {
            // A slot begins with its context.
            const auto* slot = static_cast<const Line::Slot*>(entries[i].op_context);
            end(static_cast<uint32_t>(slot - line_->slots.data()));
        }
        if (got == static_cast<ssize_t>(kTaken))
            continue;
        if (got == -FI_EAVAIL)
            take_error();
        else if (got < 0 && got != -FI_EAGAIN && got != -FI_EINTR)
            lost_all(static_cast<int>(-got));
        return;
    }
}

void FabricContext::take_error()
{
    while (line_) {
        fi_cq_err_entry error{};
        const ssize_t got = fi_cq_readerr(line_->end.queue.get(), &error, 0);
        if (got != 1)
            return;
        const int number = std::abs(error.err);  // one provider gives it with its sign
        const auto* slot = static_cast<const Line::Slot*>(error.op_context);
        line_->failed += slot != nullptr;
        if (!slot)
            lost_all(number);
        else if (slot->flight)
            lost(*slot->flight, slot->flight->lanes[slot->lane], number);
    }
}

void FabricContext::end(uint32_t number)
{
    Line::Slot& slot = line_->slots[number];
    if (!slot.flight)
        return;
    FabricFlight& flight = *std::exchange(slot.flight, nullptr);
    FabricLane& lane = flight.lanes[slot.lane];
    line_->free.push_back(number);
    lane.open--;
    lane.failures = 0;
    flight.bytes_open -= slot.piece.bytes;
    line_->answered[lane.peer->number] = true;
    if (lane.peer->suspect.load(std::memory_order_relaxed))
        lane.peer->suspect = false;
    if (slot.proof) {
        lane.proving = false;
        if (lane.place->proves(line_->proofs[number]))
            lane.place->proved.store(true, std::memory_order_relaxed);
        else
            flight.judge(lane, fail_rank(DDS_ERR_STALE, static_cast<int>(lane.rank),
                                         "rank %u: what is at the address of its arena %u is not "
                                         "that arena: the rank was restarted, or another process "
                                         "has its address; open the store again",
                                         lane.rank, lane.place->key.id));
        flight.want(lane);
        return;
    }
    if (flight.stage) {
        memcpy(flight.runs[slot.piece.run].to + slot.piece.at, line_->stage_of(number),
               slot.piece.bytes);
        flight.staged += slot.piece.bytes;
    }
    if ((flight.left[slot.piece.run] -= slot.piece.bytes) == 0)
        flight.landed.push_back(slot.piece.run);
}

// A connection ended.  Some providers never mend it, so all are made anew; what the others had under
// way is asked for again.
void FabricContext::lost(FabricFlight& flight, FabricLane& lane, int error)
{
    reset();
    settle(flight, lane, error);
}

// An error that does not say whose it is.
void FabricContext::lost_all(int error)
{
    std::vector<std::pair<FabricFlight*, FabricLane*>> hit;
    for (FabricFlight* flight : flights_)
        for (FabricLane& lane : flight->lanes)
            if (lane.open > 0)
                hit.emplace_back(flight, &lane);
    reset();
    for (const auto& [flight, lane] : hit)
        settle(*flight, *lane, error);
}

void FabricContext::settle(FabricFlight& flight, FabricLane& lane, int error)
{
    flight.retries++;
    if (++lane.failures < kFailures) {
        flight.doubt(lane, clock::now());
        return;
    }
    const auto rank = static_cast<int>(lane.rank);
    const char* words = port_.library().strerror(error);
    if (of_keys(error)) {
        flight.judge(lane, fail_rank(DDS_ERR_STALE, rank,
                                     "rank %d refuses the key of its segment (%s, twice): it was "
                                     "restarted, or the variable dropped; open the store again",
                                     rank, words));
        return;
    }
    lane.peer->suspect = true;
    flight.judge(lane, fail_rank(DDS_ERR_PEER, rank,
                                 "rank %d ended its connection over fabric %s and takes no other "
                                 "(%s): it died, or was restarted",
                                 rank, port_.provider().c_str(), words));
}

void FabricContext::post(FabricFlight& flight)
{
    size_t idle = 0;  // lanes in turn that could post nothing
    while (idle < flight.waiting.size()) {
        flight.turn = flight.turn < flight.waiting.size() ? flight.turn : 0;
        FabricLane& lane = flight.lanes[flight.waiting[flight.turn]];
        Posted posted = Posted::later;
        int n = 0;
        while (n < kTurn && lane.to_post() && (posted = post(flight, lane)) == Posted::yes)
            n++;
        idle = n > 0 ? 0 : idle + 1;
        if (!lane.to_post() || lane.proving) {
            lane.waiting = false;
            flight.waiting[flight.turn] = flight.waiting.back();
            flight.waiting.pop_back();
        } else {
            flight.turn++;
        }
        if (posted == Posted::full || posted == Posted::broken)
            return;
    }
}

FabricContext::Posted FabricContext::post(FabricFlight& flight, FabricLane& lane)
{
    if (!line_) {
        auto line = Line::open(port_);
        if (!line) {
            flight.judge(lane, std::move(line).error());
            return Posted::broken;
        }
        line_ = std::move(*line);
    }
    if (line_->free.empty())
        return Posted::full;
    if (lane.place->key.arena && !lane.place->proved.load(std::memory_order_relaxed))
        return prove(flight, lane);
    const bool again = !lane.again.empty();
    if (!again && flight.runs[lane.next].bytes == 0) {
        flight.landed.push_back(lane.next++);
        return Posted::yes;
    }
    FabricPiece piece;
    if (again) {
        piece = lane.again.back();
    } else {
        const uint64_t most = std::min<uint64_t>(flight.stage ? Line::kStage : kPiece,
                                                 port_.info().ep_attr->max_msg_size);
        piece = {lane.next, lane.at, std::min(flight.runs[lane.next].bytes - lane.at, most)};
    }
    if (flight.bytes_open > 0 && flight.bytes_open + piece.bytes > kWindow)
        return Posted::full;
    const Posted posted = read(flight, lane, piece);
    if (posted != Posted::yes)
        return posted;
    if (again) {
        lane.again.pop_back();
    } else if ((lane.at += piece.bytes) == flight.runs[lane.next].bytes) {
        lane.next++;
        lane.at = 0;
    }
    return posted;
}

// Before the first row of an arena comes its header: an old key, or an address that another process
// has now, is never taken for the arena.
FabricContext::Posted FabricContext::prove(FabricFlight& flight, FabricLane& lane)
{
    if (lane.proving)
        return Posted::later;
    const uint32_t number = line_->free.back();
    Line::Slot& slot = line_->slots[number];
    Arenas::Header& header = line_->proofs[number];
    header = {};  // what is never written proves nothing
    const auto address = line_->address_of(port_, *lane.peer);
    if (!address) {
        flight.judge(lane, address.error());
        return Posted::broken;
    }
    void* local = line_->proofs_local.mr ? fi_mr_desc(line_->proofs_local.mr.get()) : nullptr;
    const FabricKey& key = lane.place->key;
    const ssize_t code = fi_read(line_->end.endpoint.get(), &header, sizeof header, local, *address,
                                 key.base, key.key, &slot.context);
    if (code == 0) {
        slot.piece = {0, 0, 0};
        slot.proof = lane.proving = true;
    }
    return answer(flight, lane, code);
}

FabricContext::Posted FabricContext::read(FabricFlight& flight, FabricLane& lane,
                                          const FabricPiece& piece)
{
    const uint32_t number = line_->free.back();
    Line::Slot& slot = line_->slots[number];
    const Run& run = flight.runs[piece.run];
    std::byte* to = run.to + piece.at;
    void* local = flight.local.empty() ? nullptr : flight.local[piece.run];
    if (flight.stage) {
        if (const auto made = line_->make_stage(port_); !made) {
            flight.judge(lane, made.error());
            return Posted::broken;
        }
        to = line_->stage_of(number);
        local = line_->stage_local.mr ? fi_mr_desc(line_->stage_local.mr.get()) : nullptr;
    }
    const auto address = line_->address_of(port_, *lane.peer);
    if (!address) {
        flight.judge(lane, address.error());
        return Posted::broken;
    }
    const FabricKey& key = lane.place->key;
    const ssize_t code = fi_read(line_->end.endpoint.get(), to, piece.bytes, local, *address,
                                 key.base + run.from.offset + piece.at, key.key, &slot.context);
    if (code == 0) {
        slot.piece = piece;
        slot.proof = false;
    }
    return answer(flight, lane, code);
}

FabricContext::Posted FabricContext::answer(FabricFlight& flight, FabricLane& lane, ssize_t code)
{
    if (code && code != -FI_EAGAIN) {
        lost(flight, lane, static_cast<int>(std::abs(code)));
        return Posted::broken;
    }
    if (code) {
        // There is no connection.  Of one that has just been there, or of a peer that was found dead,
        // that means more than of one that is still to begin, whose owner may be slow.
        const bool gone = lane.open == 0 && line_->answered[lane.peer->number];
        if (lane.since == 0 && (gone || lane.peer->suspect.load(std::memory_order_relaxed))) {
            lane.failures = kFailures - 1;
            flight.doubt(lane, clock::now());
        }
        return Posted::later;
    }
    if (lane.since)  // it took a connection: slow, perhaps, but there
        flight.trust(lane);
    Line::Slot& slot = line_->slots[line_->free.back()];
    line_->free.pop_back();
    slot.flight = &flight;
    slot.lane = static_cast<uint32_t>(&lane - flight.lanes.data());
    lane.open++;
    flight.bytes_open += slot.piece.bytes;
    return Posted::yes;
}

// Give up lanes whose peer does not come back, or that the node knows to be dead.
void FabricContext::look(FabricFlight& flight)
{
    const bool ask = flight.idle >= kLooks && flight.node && flight.node->dead_count() > 0;
    const int64_t now = flight.doubtful > 0 ? clock::now() : 0;
    flight.idle = flight.idle >= kLooks ? 0 : flight.idle;
    for (FabricLane& lane : flight.lanes) {
        const bool late = lane.since && now - lane.since > kGrace;
        const bool busy = lane.open > 0 || lane.to_post();
        if (!late && !(ask && busy && flight.node->died(static_cast<int>(lane.rank))))
            continue;
        lane.failures = kFailures - 1;
        lost(flight, lane, FI_ETIMEDOUT);
    }
}

}  // namespace dds
