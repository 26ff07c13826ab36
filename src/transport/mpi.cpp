#include "transport/mpi.hpp"

#include <algorithm>
#include <cstring>

namespace dds {
namespace {

constexpr size_t kFlights = 256;                // requests of one batch under way
constexpr size_t kStaged = 16 << 10;            // longer runs go straight to the caller's memory
constexpr size_t kLanding = 256 << 10;          // where they land: what stays in a core's cache
constexpr uint64_t kPiece = uint64_t{1} << 30;  // of one MPI_Rget; an int must hold it
constexpr int kLooks = 100;  // steps without progress before a dead owner is given up

Error died(uint32_t peer)
{
    return fail_rank(DDS_ERR_PEER, static_cast<int>(peer),
                     "rank %u died, and its rows are read over MPI", peer);
}

}  // namespace

// Requests under way, and the memory where short runs land: kept for the next batch, or until they
// have ended where the batch was abandoned.
struct MpiWire::Flight final : Mpi::Parked {
    Flight(const Mpi& mpi, size_t n, size_t most)
        : requests(mpi, n), landing(most * n), stride(most), slots(n)
    {
    }

    struct Slot {
        int32_t run = kNobody;
        uint32_t bytes = 0;
        bool staged = false;
    };
    static constexpr int32_t kNobody = -1;
    struct Progress {
        uint64_t posted = 0;  // bytes
        int open = 0;         // pieces under way
    };

    MpiRequests requests;
    std::vector<std::byte> landing;
    size_t stride;
    std::vector<Slot> slots;
    std::vector<Progress> runs;
    size_t next = 0;                                  // the first run that is not posted whole
    std::vector<std::shared_ptr<MpiWindow>> windows;  // of the runs
    int idle = 0;

    std::byte* place(int slot) { return landing.data() + static_cast<size_t>(slot) * stride; }
    void begin(size_t n)
    {
        runs.assign(n, {});
        windows.assign(n, nullptr);
        next = 0;
        idle = 0;
    }

    // Abandoned: nobody waits for it, but MPI may still write.
    uint64_t direct = 0;  // bytes of callers' memory that it may write to
    std::shared_ptr<std::atomic<int>> lost;
    static std::atomic<uint64_t> quarantined;

    bool reap(const Mpi& mpi) override
    {
        const auto ended = mpi.testsome(requests);
        for (const Mpi::Ended& each : ended ? *ended : std::span<const Mpi::Ended>()) {
            const Slot& slot = slots[static_cast<size_t>(each.slot)];
            const uint64_t bytes = slot.staged ? 0 : slot.bytes;
            direct -= bytes;
            quarantined -= bytes;
        }
        if (requests.open() > 0)
            return false;
        --*lost;
        return true;
    }
    size_t bytes() const override { return landing.size(); }
};

std::atomic<uint64_t> MpiWire::Flight::quarantined{0};

struct MpiWire::Lease final : Batch::State {
    explicit Lease(MpiWire& owner, std::unique_ptr<Flight> taken)
        : wire(owner), flight(std::move(taken))
    {
    }
    ~Lease() override
    {
        if (flight)
            wire.put_back(std::move(flight));
    }
    MpiWire& wire;
    std::unique_ptr<Flight> flight;
};

MpiWire::MpiWire(const TransportConfig& config, const MpiGroup& group)
    : node_(config.node),
      mpi_(*group.mpi),
      windows_(MpiWindows::open(config.node->store_id(), config.comm))
{
}

MpiWire::~MpiWire() { windows_->park(lost_); }

std::string MpiWire::words() const { return "mpi " + mpi_.name(); }

Result<void> MpiWire::expose(uint32_t segment, const Block& block, Key&)
{
    exposed_ = {segment, {block.arena->segment.data(), block.arena->segment.bytes()}, block.arena};
    return {};
}

Result<void> MpiWire::expose(uint32_t segment, std::span<const std::byte> own, Key&)
{
    exposed_ = {segment, {const_cast<std::byte*>(own.data()), own.size()}, nullptr};
    return {};
}

Result<void> MpiWire::ready()
{
    windows_->ready();
    return {};
}

Result<void> MpiWire::attach(std::span<const Attach> segments, int64_t)
{
    newest_.reset();
    if (segments.empty())
        return {};
    const Exposed exposed = std::exchange(exposed_, {});
    auto window = windows_->add(exposed.memory, exposed.keep, static_cast<int>(segments.size()));
    if (!window) {
        Error why = std::move(window).error();
        why.code = DDS_ERR_UNSUPPORTED;
        why.text += ": this MPI offers no RMA here (Open MPI 4 between nodes needs `--mca osc "
                    "^ucx` and at most MPI_THREAD_SERIALIZED); use method 1, or ranks of one node";
        return why;
    }
    newest_ = *window;
    const std::lock_guard lock(mutex_);
    for (const Attach& segment : segments)
        where_[place(segment.peer, segment.segment)] = newest_;
    return {};
}

bool MpiWire::attached(uint32_t peer, uint32_t segment) const
{
    const std::shared_lock lock(mutex_);
    return where_.count(place(peer, segment)) != 0;
}

void MpiWire::detach(uint32_t peer, uint32_t segment)
{
    const std::lock_guard lock(mutex_);
    const auto at = where_.find(place(peer, segment));
    if (at == where_.end())
        return;
    at->second->live--;
    where_.erase(at);
}

bool MpiWire::quiet() const
{
    mpi_.reap();
    return *lost_ == 0;
}

Result<void> MpiWire::reap()
{
    newest_.reset();
    return windows_->free_unused();
}

void MpiWire::spoil()
{
    if (newest_)
        newest_->spoilt = true;
}

Result<void> MpiWire::sync() { return windows_->sync(); }

void MpiWire::tell(dds_stats_t& stats) const
{
    mpi_.reap();  // as it is now, and not when MPI was last called
    stats.windows += windows_->count();
    stats.staged_bytes += staged_.load(std::memory_order_relaxed);
    stats.quarantined_bytes += Flight::quarantined;
}

std::shared_ptr<MpiWindow> MpiWire::window(uint32_t peer, uint32_t segment) const
{
    const std::shared_lock lock(mutex_);
    return where_.at(place(peer, segment));
}

std::unique_ptr<MpiWire::Flight> MpiWire::take_flight(size_t runs, size_t longest)
{
    const size_t stride = (std::min(longest, kStaged) + 63) & ~size_t{63};
    const size_t n = std::min(runs <= kFlights / 2 ? kFlights / 2 : kFlights,
                              kLanding / std::max<size_t>(stride, 1));
    {
        const std::lock_guard lock(flights_mutex_);
        for (auto& idle : idle_)
            if (idle->slots.size() == n && idle->stride >= stride) {
                std::swap(idle, idle_.back());
                auto taken = std::move(idle_.back());
                idle_.pop_back();
                return taken;
            }
    }
    return std::make_unique<Flight>(mpi_, n, stride);
}

void MpiWire::put_back(std::unique_ptr<Flight> flight)
{
    constexpr size_t kKept = 8;
    const std::lock_guard lock(flights_mutex_);
    if (idle_.size() < kKept)
        idle_.push_back(std::move(flight));
}

Result<void> MpiWire::post(Batch& batch)
{
    DDS_TRY(mpi_.usable());
    if (*lost_ > 0)
        mpi_.reap();
    size_t longest = 0;
    for (const Run& run : batch.runs)
        if (run.bytes <= kStaged)
            longest = std::max<size_t>(longest, run.bytes);
    auto flight = take_flight(batch.runs.size(), longest);
    flight->begin(batch.runs.size());
    batch.state = std::make_unique<Lease>(*this, std::move(flight));
    launch(*static_cast<Lease&>(*batch.state).flight, batch);
    return {};
}

// Start what there is room for.
void MpiWire::launch(Flight& flight, Batch& batch)
{
    const bool losses = node_->dead_count() > 0;
    while (flight.next < batch.runs.size() && !flight.requests.full()) {
        Run& run = batch.runs[flight.next];
        Flight::Progress& progress = flight.runs[flight.next];
        auto& from = flight.windows[flight.next];
        if (run.code != Run::kOpen) {  // it failed meanwhile
            flight.next++;
            continue;
        }
        // Open MPI never comes back from a read of a process that is gone.
        if (losses && node_->died(static_cast<int>(run.from.peer))) {
            batch.fail_run(run, died(run.from.peer));
            continue;
        }
        if (!from && flight.next > 0 && batch.runs[flight.next - 1].from.peer == run.from.peer &&
            batch.runs[flight.next - 1].from.segment == run.from.segment)
            from = flight.windows[flight.next - 1];  // runs come grouped: no lock for each
        if (!from)
            from = window(run.from.peer, run.from.segment);
        const bool staged = run.bytes <= kStaged;
        const uint64_t bytes = std::min(run.bytes - progress.posted, kPiece);
        // The slot that the request will take: the landing place is told before.
        const int expected = flight.requests.next();
        std::byte* to = staged ? flight.place(expected) : run.to + progress.posted;
        const auto slot =
            mpi_.rget(to, bytes, static_cast<int>(run.from.peer), run.from.offset + progress.posted,
                      from->handle, flight.requests);
        if (!slot) {
            Error why = slot.error();
            why.rank = static_cast<int>(run.from.peer);
            batch.fail_run(run, std::move(why));
            continue;
        }
        flight.slots[static_cast<size_t>(*slot)] = {static_cast<int32_t>(flight.next),
                                                    static_cast<uint32_t>(bytes), staged};
        progress.open++;
        progress.posted += bytes;
        if (progress.posted == run.bytes)
            flight.next++;
    }
}

// Take what has come; whether anything has.
bool MpiWire::land(Flight& flight, Batch& batch)
{
    const auto ended = mpi_.testsome(flight.requests);
    if (!ended) {
        for (Run& run : batch.runs)
            if (run.code == Run::kOpen)
                batch.fail_run(run, ended.error());
        return true;
    }
    uint64_t staged = 0;
    for (const Mpi::Ended& each : *ended) {
        const Flight::Slot slot = std::exchange(flight.slots[static_cast<size_t>(each.slot)], {});
        const auto number = static_cast<size_t>(slot.run);
        Run& run = batch.runs[number];
        Flight::Progress& progress = flight.runs[number];
        progress.open--;
        if (run.code != Run::kOpen)
            continue;
        if (each.code) {
            Error why = mpi_.error("MPI_Rget", each.code);
            why.rank = static_cast<int>(run.from.peer);
            batch.fail_run(run, std::move(why));
            continue;
        }
        if (slot.staged) {
            memcpy(run.to, flight.place(each.slot), slot.bytes);
            staged += slot.bytes;
        }
        if (progress.open == 0 && progress.posted == run.bytes)
            batch.end(run, DDS_SUCCESS);
    }
    if (staged)
        staged_.fetch_add(staged, std::memory_order_relaxed);
    return !ended->empty();
}

// A rank of this node that died serves no more; what it sent before has come by now.
void MpiWire::give_up_dead(Flight& flight, Batch& batch)
{
    if (node_->dead_count() == 0 || flight.idle++ < kLooks)
        return;
    for (Run& run : batch.runs)
        if (run.code == Run::kOpen && node_->died(static_cast<int>(run.from.peer)))
            batch.fail_run(run, died(run.from.peer));
}

bool MpiWire::progress(Batch& batch)
{
    Flight& flight = *static_cast<Lease&>(*batch.state).flight;
    if (land(flight, batch)) {
        flight.idle = 0;
        launch(flight, batch);
    } else {
        give_up_dead(flight, batch);
    }
    if (!batch.done())
        return false;
    abandon(batch);
    return true;
}

// MPI_Rget cannot be cancelled: what is under way stays, with the memory that it may write to.
void MpiWire::abandon(Batch& batch)
{
    auto& flight = static_cast<Lease&>(*batch.state).flight;
    if (!flight || flight->requests.open() == 0)
        return;
    uint64_t direct = 0;
    for (const Flight::Slot& slot : flight->slots)
        direct += slot.staged ? 0 : slot.bytes;
    flight->direct = batch.held = direct;
    flight->lost = lost_;
    Flight::quarantined += direct;
    ++*lost_;
    mpi_.park(std::move(flight));
}

Result<std::unique_ptr<Transport>> open_mpi_wire(const TransportConfig& config)
{
    const MpiGroup* group = config.comm ? config.comm->mpi() : nullptr;
    if (!group)
        return fail(DDS_ERR_UNSUPPORTED, "the transport mpi needs a communicator of MPI");
    return std::unique_ptr<Transport>(std::make_unique<MpiWire>(config, *group));
}

}  // namespace dds
