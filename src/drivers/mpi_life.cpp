// From the first use of an MPI to its MPI_Finalize: one object for each, what is parked with it, and
// what it is told at its end.
#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/clock.hpp"
#include "drivers/mpi.hpp"

namespace dds {
namespace {

constexpr int64_t kLastWait = clock::kSecond;

// Their number, and that of the MPIs, is small; an MPI's object outlives all that use it.
ForkSafeMutex all_mutex;
std::vector<Mpi*>& all()
{
    static auto* mpis = new std::vector<Mpi*>;
    return *mpis;
}
std::atomic<size_t> all_parked{0};

// "MPICH Version:      4.0.2" and "Open MPI v4.1.4, package: ..." without what follows.
std::string short_name(const dds_mpi_table_t& table)
{
    char text[8192] = "";
    int length = 0;
    reinterpret_cast<int (*)(char*, int*)>(table.Get_library_version)(text, &length);
    text[strcspn(text, ",\n")] = '\0';
    std::string name;
    for (const char* at = text; *at && name.size() < 80; at++)
        if (static_cast<unsigned char>(*at) > ' ')
            name += *at;
        else if (!name.empty() && name.back() != ' ')
            name += ' ';
    return name;
}

}  // namespace

Mpi::Mpi(const dds_mpi_table_t& table) : table_(table) {}

Result<Mpi*> Mpi::open(const dds_mpi_table_t& table)
{
    const std::lock_guard lock(all_mutex);
    for (Mpi* known : all())
        if (memcmp(&known->table_, &table, sizeof table) == 0) {
            DDS_TRY(known->usable());
            return known;
        }
    std::unique_ptr<Mpi> mpi(new Mpi(table));
    DDS_TRY(mpi->begin());
    all().push_back(mpi.get());
    return mpi.release();
}

Result<void> Mpi::begin()
{
    int yes = 0;
    reinterpret_cast<int (*)(int*)>(table_.Initialized)(&yes);
    if (!yes)
        return fail(DDS_ERR_STATE, "MPI is not initialised: call MPI_Init first");
    name_ = short_name(table_);
    DDS_TRY(usable());
    DDS_TRY(ask_to_be_told());
    DDS_LET(level, query_thread());
    multiple_ = level == table_.thread_multiple;
    return {};
}

void Mpi::park(std::unique_ptr<Parked> parked)
{
    if (forks_ != fork_count()) {
        leave_to_parent(parked.release());
        return;
    }
    all_parked += parked->bytes();
    const std::lock_guard lock(mutex_);
    parked_.push_back(std::move(parked));
}

void Mpi::reap()
{
    if (!usable())
        return;
    std::vector<std::unique_ptr<Parked>> ended;  // goes without the lock: it may park what it held
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock)
        return;
    std::erase_if(parked_, [&](auto& parked) {
        const size_t bytes = parked->bytes();
        if (!parked->reap(*this))
            return false;
        all_parked -= bytes;
        ended.push_back(std::move(parked));
        return true;
    });
}

size_t Mpi::parked_bytes() { return all_parked; }

uint64_t Mpi::at_finalize(std::function<void()> work)
{
    const std::lock_guard lock(mutex_);
    hooks_.push_back({++last_hook_, std::move(work)});
    return last_hook_;
}

void Mpi::forget(uint64_t work)
{
    const std::lock_guard lock(mutex_);
    std::erase_if(hooks_, [&](const Hook& hook) { return hook.number == work; });
}

void Mpi::finalizing(void* mpi) { static_cast<Mpi*>(mpi)->finalize(); }

void Mpi::finalize()
{
    std::vector<Hook> hooks;
    {
        const std::lock_guard lock(mutex_);
        hooks.swap(hooks_);
    }
    for (const Hook& hook : hooks)
        hook.work();
    // The other ranks are on their way here, too: what waits for them may end now.
    const int64_t give_up = clock::now() + kLastWait;
    const auto waits = [&] {
        reap();
        const std::lock_guard lock(mutex_);
        return !parked_.empty();
    };
    while (waits() && clock::now() < give_up)
        clock::sleep(clock::kMillisecond);
    finalized_.store(true, std::memory_order_release);
}

}  // namespace dds
