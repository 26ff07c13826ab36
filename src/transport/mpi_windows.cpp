#include "transport/mpi_windows.hpp"

#include <algorithm>
#include <mutex>

#include "base/clock.hpp"

namespace dds {
namespace {

// Every store with windows, freed ones too.
std::mutex mutex;
std::vector<std::shared_ptr<MpiWindows>>& stores()
{
    static auto* all = new std::vector<std::shared_ptr<MpiWindows>>;
    return *all;
}
std::vector<const Mpi*>& hooked()
{
    static auto* all = new std::vector<const Mpi*>;
    return *all;
}

bool ends(const Mpi& mpi, Mpi::Cell& request, const clock::Deadline& deadline)
{
    for (;;) {
        const auto done = mpi.test(request);
        if (!done || *done)
            return bool(done);
        if (deadline.left_ms() <= 0)
            return false;
        clock::sleep(clock::kMillisecond / 10);
    }
}

}  // namespace

// Until all ranks have freed the store, and none has a read of it under way that was given up: the
// memory is read till then.
class MpiWindows::Waiting final : public Mpi::Parked {
public:
    explicit Waiting(std::shared_ptr<MpiWindows> windows) : windows_(std::move(windows))
    {
        for (const auto& window : windows_->all_)
            bytes_ += window->keep ? window->bytes : 0;
    }
    bool reap(const Mpi& mpi) override
    {
        if (windows_->ended_)
            return true;
        if (!windows_->barrier_ && (*windows_->lost_ > 0 || !windows_->meet()))
            return false;
        const auto done = mpi.test(*windows_->barrier_);
        if (!done || !*done)
            return false;
        for (const auto& window : windows_->all_)
            window->keep.reset();
        windows_->left_ = true;
        return true;
    }
    size_t bytes() const override { return bytes_; }

private:
    std::shared_ptr<MpiWindows> windows_;
    size_t bytes_ = 0;
};

MpiWindows::MpiWindows(const StoreId& store, std::shared_ptr<Comm> comm)
    : store_(store), comm_(std::move(comm)), group_(*comm_->mpi())
{
}

std::shared_ptr<MpiWindows> MpiWindows::open(const StoreId& store, std::shared_ptr<Comm> comm)
{
    std::shared_ptr<MpiWindows> windows(new MpiWindows(store, std::move(comm)));
    const Mpi* mpi = windows->group_.mpi;
    const std::lock_guard lock(mutex);
    stores().push_back(windows);
    if (std::find(hooked().begin(), hooked().end(), mpi) == hooked().end()) {
        windows->group_.mpi->at_finalize([mpi] { at_finalize(mpi); });
        hooked().push_back(mpi);
    }
    return windows;
}

void MpiWindows::ready()
{
    if (!next_)
        next_ = std::make_shared<MpiWindow>();
    all_.reserve(all_.size() + 1);
}

Result<std::shared_ptr<MpiWindow>> MpiWindows::add(std::span<std::byte> memory,
                                                   std::shared_ptr<const void> keep, int segments)
{
    ready();
    auto window = std::move(next_);
    window->keep = std::move(keep);
    window->bytes = memory.size();
    window->live = segments;
    DDS_LET(handle, group_.mpi->win_create(memory.data(), memory.size(), group_.comm));
    window->handle = handle;
    all_.push_back(window);
    DDS_TRY(group_.mpi->win_lock_all(handle));
    return window;
}

Result<void> MpiWindows::sync() const
{
    for (const auto& window : all_)
        DDS_TRY(group_.mpi->win_sync(window->handle));
    return {};
}

Result<void> MpiWindows::free_these(std::span<const std::shared_ptr<MpiWindow>> windows) const
{
    for (const auto& window : windows) {
        if (window->spoilt)
            continue;
        DDS_TRY(group_.mpi->win_unlock_all(window->handle));
        DDS_TRY(group_.mpi->win_free(window->handle));
    }
    return {};
}

Result<void> MpiWindows::free_unused()
{
    const auto unused = std::stable_partition(all_.begin(), all_.end(),
                                              [](const auto& window) { return window->live > 0; });
    const std::vector<std::shared_ptr<MpiWindow>> going(unused, all_.end());
    all_.erase(unused, all_.end());
    return free_these(going);
}

Result<void> MpiWindows::meet()
{
    barrier_ = std::make_unique<Mpi::Cell>();
    return group_.mpi->ibarrier(group_.farewell, *barrier_);
}

void MpiWindows::forget()
{
    const std::lock_guard lock(mutex);
    std::erase_if(stores(), [&](const auto& each) { return each.get() == this; });
}

void MpiWindows::park(std::shared_ptr<const std::atomic<int>> lost)
{
    Mpi& mpi = *group_.mpi;
    if (all_.empty() || !mpi.usable())  // after MPI_Finalize there is nobody to wait for
        return forget();
    lost_ = std::move(lost);
    mpi.park(std::make_unique<Waiting>(shared_from_this()));
    mpi.reap();
}

void MpiWindows::parked(int size, std::span<StoreId> known)
{
    std::vector<StoreId> all;
    {
        const std::lock_guard lock(mutex);
        for (const auto& each : stores())
            if (each->left_ && each->comm_->size() == size)
                all.push_back(each->store_);
    }
    std::sort(all.begin(), all.end());
    std::copy_n(all.begin(), std::min(all.size(), known.size()), known.begin());
}

Result<void> MpiWindows::free_parked(const StoreId& store)
{
    std::shared_ptr<MpiWindows> left;
    {
        const std::lock_guard lock(mutex);
        for (const auto& each : stores())
            if (each->store_ == store)
                left = each;
    }
    if (!left)
        return {};
    left->forget();
    return left->free_these(left->all_);
}

// All ranks come here, if they come, but not at once, and those that died never do: so nothing is
// freed before two barriers with deadlines, and the first that is missed ends it.  Whoever passes the
// second knows that all have passed the first.  Stores go in an order that all ranks have in common.
void MpiWindows::at_finalize(const Mpi* mpi)
{
    constexpr int kPatience = 10'000;  // ms
    std::vector<std::shared_ptr<MpiWindows>> mine;
    {
        const std::lock_guard lock(mutex);
        std::copy_if(stores().begin(), stores().end(), std::back_inserter(mine),
                     [&](const auto& each) { return each->group_.mpi == mpi; });
        std::erase_if(stores(), [&](const auto& each) { return each->group_.mpi == mpi; });
    }
    std::sort(mine.begin(), mine.end(),
              [](const auto& a, const auto& b) { return a->store_ < b->store_; });
    const auto all_come = clock::Deadline::after_ms(kPatience);
    for (const auto& each : mine) {
        while (each->lost_ && *each->lost_ > 0 && all_come.left_ms() > 0) {
            each->group_.mpi->reap();
            clock::sleep(clock::kMillisecond / 10);
        }
        if (!each->barrier_ && !each->meet())
            return;
    }
    for (const auto& each : mine) {
        if (!each->left_ && !ends(*mpi, *each->barrier_, all_come))
            return;
        if (!each->meet() || !ends(*mpi, *each->barrier_, clock::Deadline::after_ms(kPatience)))
            return;
        each->ended_ = true;
        if (!each->free_these(std::exchange(each->all_, {})))
            return;
    }
}

}  // namespace dds
