// Stores: opening, closing, and the slots that handles stand for.
#include <mutex>

#include "api/comm.hpp"
#include "api/visit.hpp"
#include "base/env.hpp"
#include "transport/gather.hpp"

namespace dds {

StoreSlot store_slots[kStoreSlots];

namespace {

constexpr int64_t kFreeWait = 1'000'000'000;  // dds_free waits for readers at most so long, ns

ForkSafeMutex mutex;  // of the slots, but for the words that readers look at

// Stores that were freed while a reader was inside and did not leave: their memory stays until it has.
struct Parked {
    uint64_t token;
    std::unique_ptr<Store> store;
};
std::vector<Parked>& parked()
{
    static auto* stores = new std::vector<Parked>;
    return *stores;
}

[[maybe_unused]] const bool registered = [] {
    at_fork_in_child([] {
        for (StoreSlot& slot : store_slots) {
            slot.forked = slot.live.exchange(0);
            leave_to_parent(slot.store);
            slot.inherited = slot.store;
            slot.store = nullptr;
        }
    });
    return true;
}();

void reap()
{
    std::vector<Parked> gone;
    const std::lock_guard lock(mutex);
    for (auto at = parked().begin(); at != parked().end();) {
        if (Readers::wait_for(at->token, 0)) {
            gone.push_back(std::move(*at));
            at = parked().erase(at);
        } else {
            ++at;
        }
    }
}

Result<dds_store_t> hand_out(std::unique_ptr<Store> store)
{
    const std::lock_guard lock(mutex);
    for (uint64_t i = 0; i < kStoreSlots; i++) {
        StoreSlot& slot = store_slots[i];
        if (slot.store)
            continue;
        slot.last = slot.last ? slot.last + (kStoreSlots << 2) : kStoreSlots << 2 | i << 2 | 1;
        slot.store = store.release();
        slot.live.store(slot.last, std::memory_order_release);
        return reinterpret_cast<dds_store_t>(slot.last);
    }
    return fail(DDS_ERR_LIMIT, "%llu stores are open in this process",
                static_cast<unsigned long long>(kStoreSlots));
}

// The slot is closed to new calls on return; NULL where there is nothing to close.
Result<Store*> close(uint64_t handle)
{
    const std::lock_guard lock(mutex);
    StoreSlot& slot = slot_of(handle);
    if (slot.live.load() == handle) {
        slot.live.store(0);
        return slot.store;
    }
    if (slot.forked.load() == handle)
        return nullptr;
    return fail(DDS_ERR_STATE, "store handle %p is not open", reinterpret_cast<void*>(handle));
}

void vacate(uint64_t handle)
{
    const std::lock_guard lock(mutex);
    slot_of(handle).store = nullptr;
}

}  // namespace

Error Visit::refusal() const
{
    if (!reader_)
        return fail(DDS_ERR_NOMEM, "no memory for this thread's first call");
    if (handle_ && slot_.forked.load() == handle_)
        return fail(DDS_ERR_FORKED,
                    "store handle %p belongs to the parent process: read through dds_fork_reader, "
                    "or open a store here",
                    reinterpret_cast<void*>(handle_));
    return fail(DDS_ERR_STATE, "store handle %p is not open", reinterpret_cast<void*>(handle_));
}

}  // namespace dds

using namespace dds;

extern "C" {

int dds_init(dds_comm_t comm, const dds_options_t* options, dds_store_t* store)
{
    return guarded([&]() -> Result<void> {
        DDS_LET(found, comm_handles().get(comm));
        reap();
        // What is wrong on this rank goes into the exchange, so that the others hear of it.
        Result<void> arguments;
        auto ours = read_struct(options, "dds_options_t");
        if (!store)
            arguments = null_argument("store");
        else if (!ours)
            arguments = ours.error();
        else if (auto environment = env::check(); !environment)
            arguments = environment;
        else
            arguments = gather_select(env::text("DDSTORE_KERNEL").value_or("auto"));
        DDS_LET(opened, Store::open(found, ours ? *ours : dds_options_t{}, arguments));
        DDS_LET(handle, hand_out(std::move(opened)));
        *store = handle;
        return {};
    });
}

int dds_attach(const char* handshake_dir, int n_core, const dds_options_t* options,
               dds_store_t* store)
{
    return guarded([&]() -> Result<void> {
        if (!store)
            return null_argument("store");
        DDS_TRY(env::check());
        DDS_TRY(gather_select(env::text("DDSTORE_KERNEL").value_or("auto")));
        DDS_LET(given, read_struct(options, "dds_options_t"));
        if (given.method != DDS_METHOD_MPI && given.method != DDS_METHOD_FILE)
            return fail(DDS_ERR_ARG, "dds_attach is method 2, not %d", given.method);
        given.method = DDS_METHOD_FILE;
        if (handshake_dir)
            given.handshake_dir = handshake_dir;
        DDS_LET(opened, Store::attach(n_core, given));
        DDS_LET(handle, hand_out(std::move(opened)));
        *store = handle;
        return {};
    });
}

int dds_fork_reader(dds_store_t store, dds_store_t* reader)
{
    return guarded([&]() -> Result<void> {
        if (!reader)
            return null_argument("reader");
        const auto handle = reinterpret_cast<uint64_t>(store);
        const StoreSlot& slot = slot_of(handle);
        const Visit visit(store);
        const bool child = !visit && handle && slot.forked.load() == handle;
        if (!visit && !child)
            return visit.refusal();
        DDS_LET(opened, Store::open_reader(child ? *slot.inherited : visit.store(), child));
        DDS_LET(made, hand_out(std::move(opened)));
        *reader = made;
        return {};
    });
}

int dds_free(dds_store_t* store)
{
    return guarded([&]() -> Result<void> {
        if (!store)
            return null_argument("store");
        if (!*store)
            return {};
        const auto handle = reinterpret_cast<uint64_t>(*store);
        DDS_LET(closed, close(handle));
        *store = nullptr;
        if (!closed)
            return {};
        std::unique_ptr<Store> owned(closed);
        owned->leave();
        const bool left = Readers::wait_for(handle, kFreeWait);
        vacate(handle);
        if (left) {
            owned.reset();
        } else {
            const std::lock_guard lock(mutex);
            parked().push_back({handle, std::move(owned)});
        }
        reap();
        return {};
    });
}

int dds_set_timeout(dds_store_t store, int read_ms, int collective_ms)
{
    return visiting(store, [&](Store& opened, const Visit&) -> Result<void> {
        if (read_ms < 0 || collective_ms < 0)
            return fail(DDS_ERR_ARG,
                        "deadlines of %d and %d ms: give positive ones, or 0 for the default",
                        read_ms, collective_ms);
        opened.set_timeout(read_ms, collective_ms);
        return {};
    });
}

int dds_rank(dds_store_t store, int* rank)
{
    return visiting(store, [&](Store& opened, const Visit&) -> Result<void> {
        if (!rank)
            return null_argument("rank");
        *rank = opened.rank();
        return {};
    });
}

int dds_size(dds_store_t store, int* size)
{
    return visiting(store, [&](Store& opened, const Visit&) -> Result<void> {
        if (!size)
            return null_argument("size");
        *size = opened.size();
        return {};
    });
}

int dds_stats(dds_store_t store, dds_stats_t* stats)
{
    return visiting(store, [&](Store& opened, const Visit&) -> Result<void> {
        if (!stats)
            return null_argument("stats");
        dds_stats_t ours{};
        opened.stats(ours);
        return write_struct(stats, ours, "dds_stats_t");
    });
}

int dds_path(dds_store_t store, int rank, char* text, size_t capacity)
{
    return visiting(store, [&](Store& opened, const Visit&) -> Result<void> {
        if (rank < 0 || rank >= opened.size())
            return fail(DDS_ERR_RANGE, "rank %d: the store has %d ranks", rank, opened.size());
        if (!text || capacity == 0)
            return null_argument("text");
        const std::string words = opened.path(rank);
        const size_t n = words.size() < capacity ? words.size() : capacity - 1;
        memcpy(text, words.data(), n);
        text[n] = '\0';
        return {};
    });
}
}
