// One call at a time where MPI wants it so, and MPI's errors in words.
#include "drivers/mpi.hpp"

#include <algorithm>
#include <climits>
#include <cstring>

namespace dds {
namespace {

// Calls below MPI_THREAD_MULTIPLE are the process's, whatever MPI they go to.
std::timed_mutex one_call;

// Longer than any call but those that wait for other ranks.
constexpr auto kLongestCall = std::chrono::seconds(30);

constexpr size_t kLongestText = 8192;  // no MPI has a longer MPI_MAX_ERROR_STRING

// On one line, with single spaces.
std::string tidy(const char* text, size_t most)
{
    std::string tidied;
    for (; *text && tidied.size() < most; text++) {
        const bool space = static_cast<unsigned char>(*text) <= ' ';
        if (!space)
            tidied += *text;
        else if (!tidied.empty() && tidied.back() != ' ')
            tidied += ' ';
    }
    while (!tidied.empty() && tidied.back() == ' ')
        tidied.pop_back();
    return tidied;
}

}  // namespace

class Mpi::Turn {
public:
    Turn(const Mpi& mpi, std::chrono::milliseconds patience)
    {
        if (mpi.multiple_)
            return;
        has_ = patience.count() == 0 ? one_call.try_lock() : one_call.try_lock_for(patience);
        locked_ = has_;
    }
    ~Turn()
    {
        if (locked_)
            one_call.unlock();
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    explicit operator bool() const { return has_; }

private:
    bool has_ = true, locked_ = false;
};

template <class Work>
Result<void> Mpi::call(const char* function, const Work& work) const
{
    if (finalized_.load(std::memory_order_acquire) || forks_ != fork_count()) [[unlikely]]
        return gone();
    const Turn turn(*this, kLongestCall);
    if (!turn) [[unlikely]]
        return busy(function);
    if (const int code = native(work)) [[unlikely]]
        return error(function, code);
    return {};
}

Error Mpi::gone() const
{
    if (forks_ != fork_count())
        return fail(DDS_ERR_FORKED, "MPI belongs to the parent process");
    return fail(DDS_ERR_STATE, "MPI was finalised (%s)", name_.c_str());
}

Error Mpi::busy(const char* function) const
{
    return fail(DDS_ERR_TIMEOUT,
                "%s had no turn for %lld s: another thread is in a call of MPI that waits for "
                "other ranks, and MPI was not initialised with MPI_THREAD_MULTIPLE",
                function, static_cast<long long>(kLongestCall.count()));
}

Error Mpi::error(const char* function, int code) const
{
    char text[kLongestText] = "";
    int length = 0, kind = 0;
    reinterpret_cast<int (*)(int, int*)>(table_.Error_class)(code, &kind);
    reinterpret_cast<int (*)(int, char*, int*)>(table_.Error_string)(code, text, &length);
    return fail(DDS_ERR_IO, "%s failed (%s), class %d: %s", function, name_.c_str(), kind,
                tidy(text, 400).c_str());
}

Result<void> Mpi::usable() const
{
    int over = 0;
    if (finalized_.load(std::memory_order_acquire) || forks_ != fork_count())
        return gone();
    reinterpret_cast<int (*)(int*)>(table_.Finalized)(&over);
    if (over)
        return gone();
    return {};
}

Mpi::Handle Mpi::handle_at(const void* raw) const
{
    if (table_.handle_size == 4) {
        uint32_t bits;
        memcpy(&bits, raw, sizeof bits);
        return bits;
    }
    uint64_t bits;
    memcpy(&bits, raw, sizeof bits);
    return bits;
}

Mpi::Cell Mpi::null_request() const
{
    Cell cell;  // little-endian: an int's 32 bits come first
    memcpy(cell.bytes, &table_.request_null, sizeof cell.bytes);
    return cell;
}

Result<int> Mpi::query_thread() const
{
    int level = 0;
    DDS_TRY(call("MPI_Query_thread", [&](auto mpi) { return mpi.query_thread(&level); }));
    return level;
}

Result<void> Mpi::ask_to_be_told()
{
    return call("MPI_Comm_set_attr",
                [&](auto mpi) { return mpi.template when_self_goes<&Mpi::finalizing>(this); });
}

Result<int> Mpi::comm_rank(Handle comm) const
{
    int rank = -1;
    DDS_TRY(call("MPI_Comm_rank", [&](auto mpi) { return mpi.comm_rank(comm, &rank); }));
    return rank;
}

Result<int> Mpi::comm_size(Handle comm) const
{
    int size = 0;
    DDS_TRY(call("MPI_Comm_size", [&](auto mpi) { return mpi.comm_size(comm, &size); }));
    return size;
}

Result<void> Mpi::comm_idup(Handle comm, Cell& made, Cell& request) const
{
    return call("MPI_Comm_idup",
                [&](auto mpi) { return mpi.comm_idup(comm, made.bytes, request.bytes); });
}

Result<void> Mpi::comm_free(Handle comm) const
{
    return call("MPI_Comm_free", [&](auto mpi) { return mpi.comm_free(comm); });
}

Result<void> Mpi::comm_return_errors(Handle comm) const
{
    return call("MPI_Comm_set_errhandler", [&](auto mpi) { return mpi.comm_return_errors(comm); });
}

Result<void> Mpi::ibarrier(Handle comm, Cell& request) const
{
    return call("MPI_Ibarrier", [&](auto mpi) { return mpi.ibarrier(comm, request.bytes); });
}

Result<void> Mpi::iallgather(const void* in, int bytes, void* out, Handle comm, Cell& request) const
{
    return call("MPI_Iallgather",
                [&](auto mpi) { return mpi.iallgather(in, bytes, out, comm, request.bytes); });
}

Result<void> Mpi::iallgatherv(const void* in, int bytes, void* out, const int* sizes,
                              const int* places, Handle comm, Cell& request) const
{
    return call("MPI_Iallgatherv", [&](auto mpi) {
        return mpi.iallgatherv(in, bytes, out, sizes, places, comm, request.bytes);
    });
}

Result<void> Mpi::ialltoallv(const void* in, const int* in_sizes, const int* in_places, void* out,
                             const int* out_sizes, const int* out_places, Handle comm,
                             Cell& request) const
{
    return call("MPI_Ialltoallv", [&](auto mpi) {
        return mpi.ialltoallv(in, in_sizes, in_places, out, out_sizes, out_places, comm,
                              request.bytes);
    });
}

Result<bool> Mpi::test(Cell& request) const
{
    if (finalized_.load(std::memory_order_acquire) || forks_ != fork_count()) [[unlikely]]
        return gone();
    const Turn turn(*this, {});
    int done = 0;
    if (!turn)
        return false;
    if (const int code = native([&](auto mpi) { return mpi.test(request.bytes, &done); }))
        return error("MPI_Test", code);
    return done != 0;
}

Result<Mpi::Handle> Mpi::win_create(void* base, size_t bytes, Handle comm) const
{
    Cell made;
    DDS_TRY(call("MPI_Win_create",
                 [&](auto mpi) { return mpi.win_create(base, bytes, comm, made.bytes); }));
    const Handle win = value_of(made);
    DDS_TRY(call("MPI_Win_set_errhandler", [&](auto mpi) { return mpi.win_return_errors(win); }));
    return win;
}

Result<void> Mpi::win_free(Handle win) const
{
    return call("MPI_Win_free", [&](auto mpi) { return mpi.win_free(win); });
}

Result<void> Mpi::win_lock_all(Handle win) const
{
    return call("MPI_Win_lock_all", [&](auto mpi) { return mpi.win_lock_all(win); });
}

Result<void> Mpi::win_unlock_all(Handle win) const
{
    return call("MPI_Win_unlock_all", [&](auto mpi) { return mpi.win_unlock_all(win); });
}

Result<void> Mpi::win_sync(Handle win) const
{
    return call("MPI_Win_sync", [&](auto mpi) { return mpi.win_sync(win); });
}

MpiRequests::MpiRequests(const Mpi& mpi, size_t slots)
    : width_(static_cast<size_t>(mpi.table().handle_size)),
      handles_(slots * width_),
      free_(slots),
      left_(slots),
      which_(slots),
      statuses_(slots * static_cast<size_t>(mpi.table().status_size)),
      ended_(slots)
{
    const Mpi::Cell null = mpi.null_request();
    for (size_t slot = 0; slot < slots; slot++) {
        memcpy(at(slot), null.bytes, width_);
        free_[slots - 1 - slot] = static_cast<int>(slot);  // the lowest first
    }
}

Result<int> Mpi::rget(void* to, size_t bytes, int target, uint64_t at, Handle win,
                      MpiRequests& requests) const
{
    if (requests.full() || bytes > INT_MAX)
        return fail(DDS_ERR_INTERNAL, "MPI_Rget of %zu bytes with %zu requests open", bytes,
                    requests.open());
    const int slot = requests.next();
    void* request = requests.at(static_cast<size_t>(slot));
    DDS_TRY(call("MPI_Rget", [&](auto mpi) {
        return mpi.rget(to, static_cast<int>(bytes), target, at, win, request);
    }));
    requests.left_--;
    return slot;
}

Result<std::span<const Mpi::Ended>> Mpi::testsome(MpiRequests& requests) const
{
    using Some = std::span<const Ended>;
    if (requests.open() == 0)
        return Some();
    if (finalized_.load(std::memory_order_acquire) || forks_ != fork_count()) [[unlikely]]
        return gone();
    const Turn turn(*this, {});
    if (!turn)
        return Some();
    int n = 0;
    const int code = native([&](auto mpi) {
        return mpi.testsome(static_cast<int>(requests.slots()), requests.handles_.data(), &n,
                            requests.which_.data(), requests.statuses_.data());
    });
    // With MPI_ERR_IN_STATUS some have ended, and their statuses tell which failed.  Any other error
    // is the call's own.
    const bool told = code && n > 0 && n <= static_cast<int>(requests.slots());
    if (code && !told)
        return error("MPI_Testsome", code);
    if (n < 0)  // MPI_UNDEFINED: all are null
        n = 0;
    const auto status = static_cast<size_t>(table_.status_size);
    for (int i = 0; i < n; i++) {
        const int slot = requests.which_[static_cast<size_t>(i)];
        int failed = 0;
        if (told)
            memcpy(&failed,
                   &requests.statuses_[static_cast<size_t>(i) * status +
                                       static_cast<size_t>(table_.status_error)],
                   sizeof failed);
        requests.ended_[static_cast<size_t>(i)] = {slot, failed};
        requests.free_[requests.left_++] = slot;
        // A request that failed may be left as it is by MPI.
        memcpy(requests.at(static_cast<size_t>(slot)), null_request().bytes, requests.width_);
    }
    return Some(requests.ended_.data(), static_cast<size_t>(n));
}

}  // namespace dds
