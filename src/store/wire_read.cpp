#include "store/wire_read.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/clock.hpp"
#include "store/read.hpp"

namespace dds {
namespace {

// Adds what a scope takes to `ns`, where there is one.
class Took {
public:
    explicit Took(int64_t* ns) : ns_(ns), begin_(ns ? clock::now() : 0) {}
    Took(const Took&) = delete;
    Took& operator=(const Took&) = delete;
    ~Took()
    {
        if (ns_)
            *ns_ += clock::now() - begin_;
    }

private:
    int64_t* ns_;
    int64_t begin_;
};

}  // namespace

Copied copy_mapped(const Variable& v, int64_t n, const int64_t* rows, std::byte* out)
{
    constexpr int64_t kAhead = 64;
    const size_t row = v.mapped.row;
    const auto copy = copy_row.load(std::memory_order_relaxed);
    Copied copied;
    if (row == 0)
        return copied;
    std::atomic_thread_fence(std::memory_order_acquire);
    const std::byte* from[kAhead];
    for (int64_t at = 0; at < n; at += kAhead) {
        const int64_t m = std::min(kAhead, n - at);
        for (int64_t i = 0; i < m; i++) {
            const int shard = v.partition->shard(rows[at + i]);
            from[i] = nullptr;
            if (v.places[static_cast<size_t>(shard)].wired)
                continue;
            from[i] = v.bases[static_cast<size_t>(shard)] + static_cast<size_t>(rows[at + i]) * row;
            gather_prime(from[i], std::min<size_t>(row, 256));
            (shard == v.mapped.own ? copied.own : copied.others)++;
        }
        for (int64_t i = 0; i < m; i++)
            if (from[i])
                copy(reinterpret_cast<char*>(out + static_cast<size_t>(at + i) * row),
                     reinterpret_cast<const char*>(from[i]), row);
    }
    return copied;
}

WireRead::WireRead(Store& store, std::shared_ptr<Variable> variable, int64_t n, int32_t* status)
    : store_(store), variable_(std::move(variable)), n_(n), status_(status)
{
}

WireRead::~WireRead()
{
    if (!ended_)
        abandon({DDS_ERR_STATE, -1, "the read was given up"});
}

std::vector<uint8_t> WireRead::wired() const
{
    std::vector<uint8_t> marks;
    for (const Variable::Place& place : variable_->places)
        marks.push_back(place.wired);
    return marks;
}

WireRead::Part& WireRead::part_for(Transport& transport)
{
    for (Part& part : parts_)
        if (part.transport == &transport)
            return part;
    parts_.push_back({&transport, {}, {}, false});
    return parts_.back();
}

Result<void> WireRead::post(const std::vector<WireRun>& runs, std::byte* out)
{
    Router& router = store_.router();
    for (const WireRun& run : runs) {
        const int rank = variable_->partition->rank_of(run.shard);
        const auto& place = variable_->places[static_cast<size_t>(run.shard)];
        Part& part = part_for(router.of(rank, variable_->in_place));
        if (part.runs.empty()) {
            part.runs.reserve(runs.size());
            part.batch.runs.reserve(runs.size());
        }
        part.batch.runs.push_back(
            {{static_cast<uint32_t>(rank), place.segment, place.offset + run.from},
             out + run.to,
             run.bytes,
             static_cast<uint32_t>(part.runs.size())});
        part.runs.push_back(run);
    }
    const Took took(timed() ? &post_ns_ : nullptr);
    for (Part& part : parts_) {
        part.batch.timed = timed();
        DDS_TRY(part.transport->post(part.batch));
    }
    return {};
}

Result<std::unique_ptr<WireRead>> WireRead::start(Store& store, std::shared_ptr<Variable> variable,
                                                  int64_t n, const int64_t* rows, std::byte* out,
                                                  int32_t* status)
{
    std::unique_ptr<WireRead> read(new WireRead(store, std::move(variable), n, status));
    const Variable& v = *read->variable_;
    const std::vector<uint8_t> wired = read->wired();
    std::vector<WireRun> runs;
    plan_runs(*v.partition, {rows, static_cast<size_t>(n)}, v.mapped.row, store.max_read(), wired,
              runs);
    DDS_TRY(read->post(runs, out));
    read->copied_ = copy_mapped(v, n, rows, out);
    return read;
}

Result<std::unique_ptr<WireRead>> WireRead::start_range(Store& store,
                                                        std::shared_ptr<Variable> variable,
                                                        int64_t first, int64_t nrows,
                                                        std::byte* out)
{
    std::unique_ptr<WireRead> read(new WireRead(store, std::move(variable), nrows, nullptr));
    const Variable& v = *read->variable_;
    const size_t row = v.mapped.row;
    std::vector<WireRun> runs;
    for (int64_t at = first, end = first + nrows; at < end;) {
        const int shard = v.partition->shard(at);
        const int64_t m = std::min(end, v.partition->start(shard + 1)) - at;
        const size_t to = static_cast<size_t>(at - first) * row,
                     bytes = static_cast<size_t>(m) * row;
        if (v.places[static_cast<size_t>(shard)].wired) {
            const uint64_t from = static_cast<uint64_t>(at - v.partition->start(shard)) * row;
            split_run({shard, from, to, bytes, at - first, m}, row, store.max_read(), runs);
        } else {
            memcpy(out + to, v.bases[static_cast<size_t>(shard)] + static_cast<size_t>(at) * row,
                   bytes);
            (shard == v.mapped.own ? read->copied_.own : read->copied_.others) += m;
        }
        at += m;
    }
    DDS_TRY(read->post(runs, out));
    return read;
}

Result<Step> WireRead::step()
{
    if (ended_)
        return Step::ended;
    bool all = true, moved = false;
    std::optional<Took> took(timed() ? &complete_ns_ : nullptr);
    for (Part& part : parts_) {
        if (part.done)
            continue;
        const size_t before = part.batch.ended;
        part.done = part.transport->progress(part.batch);
        moved = moved || part.batch.ended != before || part.done;
        all = all && part.done;
    }
    took.reset();
    if (all) {
        conclude();
        return Step::ended;
    }
    return moved ? Step::moved : Step::idle;
}

void WireRead::abandon(const Error& why)
{
    for (Part& part : parts_) {
        if (!part.done)
            part.transport->abandon(part.batch);
        for (Run& run : part.batch.runs)
            if (run.code == Run::kOpen)
                part.batch.fail_run(run, why);
        part.done = true;
    }
    error_ = why;
    conclude();
}

void WireRead::conclude()
{
    ended_ = true;
    if (status_)
        std::fill_n(status_, n_, DDS_SUCCESS);
    Reader* reader = Readers::mine();
    Counters* counters = reader ? store_.counters().of(*reader) : nullptr;
    const size_t row = variable_->mapped.row;
    uint64_t held = 0;
    for (const Part& part : parts_) {
        held += part.batch.held;
        if (error_.code == DDS_SUCCESS && part.batch.error.code != DDS_SUCCESS)
            error_ = part.batch.error;
        uint64_t rows = 0, bytes = 0;
        for (size_t i = 0; i < part.runs.size(); i++) {
            const WireRun& run = part.runs[i];
            const int32_t code = part.batch.runs[i].code;
            if (code == DDS_SUCCESS) {
                bytes += run.bytes;
                rows += static_cast<uint64_t>((run.from + run.bytes) / row - run.from / row);
            } else if (status_) {
                std::fill_n(status_ + run.first, run.count, code);
            }
        }
        if (counters)
            counters->add(part.transport->path(), rows, bytes);
    }
    if (counters) {
        counters->add(DDS_PATH_SELF, static_cast<uint64_t>(copied_.own),
                      static_cast<uint64_t>(copied_.own) * row);
        counters->add(DDS_PATH_SHM, static_cast<uint64_t>(copied_.others),
                      static_cast<uint64_t>(copied_.others) * row);
    }
    if (held)
        error_.text += "; MPI may still write to the buffer of this read: keep it until "
                       "quarantined_bytes of dds_stats is 0, or until MPI_Finalize";
    if (timed())
        note();
}

void WireRead::note()
{
    Profile& profile = variable_->profile;
    profile.read(static_cast<uint64_t>(n_));
    Profile::add(profile.post_ns, static_cast<uint64_t>(post_ns_));
    Profile::add(profile.complete_ns, static_cast<uint64_t>(complete_ns_));
    for (const Part& part : parts_) {
        Profile::add(profile.missed, part.batch.unregistered);
        Profile::add(profile.lock_ns, static_cast<uint64_t>(part.batch.lock_ns));
    }
}

bool WireRead::patient() const
{
    return std::any_of(parts_.begin(), parts_.end(),
                       [](const Part& part) { return !part.done && part.transport->patient(); });
}

int64_t WireRead::patience_ms() const
{
    return patient() ? store_.collective_ms() : store_.read_ms();
}

void WireRead::time_out()
{
    store_.count_timeout();
    const int64_t ms = patience_ms();
    const bool patient = ms != store_.read_ms();
    abandon(fail(DDS_ERR_TIMEOUT,
                 "rank %d: a read of variable \"%s\" made no progress for %lld ms (%s)",
                 store_.rank(), variable_->name.c_str(), static_cast<long long>(ms),
                 patient ? "DDSTORE_COLLECTIVE_TIMEOUT_S" : "DDSTORE_TIMEOUT_S"));
}

void WireRead::park(int64_t ns)
{
    constexpr int kLooks = 32;  // between two naps: some wires serve one message in each
    if (patient() && ++parks_ % kLooks != 0)
        return;
    const auto waits =
        std::find_if(parts_.begin(), parts_.end(), [](const Part& part) { return !part.done; });
    if (waits != parts_.end())
        waits->transport->park(waits->batch, ns);
}

Result<void> WireRead::finish()
{
    // A yield costs as much as a row of some wires, a nap as much as a batch, and where owners serve
    // by such steps all of them wait for the one that naps.  Where they are more than the processors,
    // naps are better: after a yield the system lets the others run on for long.
    constexpr int kSpins = 1000, kYields = 2000, kServedYields = 200;
    constexpr int64_t kNap = 50'000, kServedNap = 20'000, kSleep = clock::kMillisecond;
    const bool crowded = store_.crowded();
    Patience patience{.timeout_ms = patience_ms(), .stall = true};
    patience.spins = crowded ? 0 : kSpins;
    if (patient()) {
        patience.yields = crowded ? 0 : kYields;
        patience.park_max_ns = kNap;
    } else {
        // A thread of each rank serves what others read of it, on a processor that we may be on.
        patience.spins = store_.spare() ? kSpins : 0;
        patience.yields = crowded ? 0 : kServedYields;
        const bool one = parts_.size() == 1 && parts_.front().transport->wakes();
        patience.park_max_ns = one ? kSleep : kServedNap;
    }
    DDS_LET(waited, wait(*this, patience));
    if (waited == Waited::interrupted)
        abandon(fail(DDS_ERR_INTERRUPTED, "rank %d: interrupted in a read of variable \"%s\"",
                     store_.rank(), variable_->name.c_str()));
    if (waited == Waited::timeout)
        time_out();
    if (error_.code != DDS_SUCCESS)
        return error_;
    return {};
}

}  // namespace dds
