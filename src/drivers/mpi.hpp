// An MPI of this process, whatever its binary form: the calls that the library makes, with errors
// that have MPI's own words.  Below MPI_THREAD_MULTIPLE one call is made at a time, process-wide; no
// call is refused for its thread.  After MPI_Finalize, and in a forked child, none is made.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/fork.hpp"
#include "base/result.hpp"
#include "drivers/mpi_native.hpp"

namespace dds {

class MpiRequests;

class Mpi {
public:
    using Handle = uint64_t;  // (uintptr_t) of MPI's own; an int's 32 bits

    // Where MPI writes a handle, in its own size: a request, or what it makes.  It must stay in its
    // place until MPI has written.
    struct Cell {
        alignas(8) std::byte bytes[8]{};
    };

    // The one over these functions, made by the first call, which must find it initialised; never
    // destroyed.
    static Result<Mpi*> open(const dds_mpi_table_t& table);

    const std::string& name() const { return name_; }  // "Open MPI v4.1.4"
    const dds_mpi_table_t& table() const { return table_; }
    bool thread_multiple() const { return multiple_; }

    // STATE after MPI_Finalize, FORKED in a child.  Every call below begins with the same, without
    // asking MPI: it is told.
    Result<void> usable() const;

    Handle handle_at(const void* raw) const;  // from the caller's memory
    Handle value_of(const Cell& cell) const { return handle_at(cell.bytes); }
    Cell null_request() const;

    Result<int> comm_rank(Handle comm) const;
    Result<int> comm_size(Handle comm) const;
    Result<void> comm_idup(Handle comm, Cell& made, Cell& request) const;
    Result<void> comm_free(Handle comm) const;
    Result<void> comm_return_errors(Handle comm) const;

    // Sizes and places are bytes; all buffers are MPI's until the request ended.
    Result<void> ibarrier(Handle comm, Cell& request) const;
    Result<void> iallgather(const void* in, int bytes, void* out, Handle comm, Cell& request) const;
    Result<void> iallgatherv(const void* in, int bytes, void* out, const int* sizes,
                             const int* places, Handle comm, Cell& request) const;
    Result<void> ialltoallv(const void* in, const int* in_sizes, const int* in_places, void* out,
                            const int* out_sizes, const int* out_places, Handle comm,
                            Cell& request) const;
    // Has it ended?  Not yet, too, while another thread has its turn.
    Result<bool> test(Cell& request) const;
    // Those that have ended since, by slot; the slots are free again.  Nothing of it is allocated.
    struct Ended {
        int slot;
        int code;  // 0, or MPI's, for error()
    };
    Result<std::span<const Ended>> testsome(MpiRequests& requests) const;

    // These two may wait for other ranks, and nobody else has a turn meanwhile: agree before.
    Result<Handle> win_create(void* base, size_t bytes, Handle comm) const;
    Result<void> win_free(Handle win) const;
    Result<void> win_lock_all(Handle win) const;  // shared, MPI_MODE_NOCHECK
    Result<void> win_unlock_all(Handle win) const;
    Result<void> win_sync(Handle win) const;
    // Start a read of `bytes`, at most INT_MAX, `at` bytes into the target's window; the slot in
    // `requests`, which has a free one.
    Result<int> rget(void* to, size_t bytes, int target, uint64_t at, Handle win,
                     MpiRequests& requests) const;

    // "MPI_Rget failed (Open MPI v4.1.4): MPI_ERR_RANK: invalid rank"
    Error error(const char* function, int code) const;

    // What MPI may still write to, or what waits for other ranks: kept until reap() says that it has
    // ended.  Asked by later calls and, for a second, by MPI_Finalize; what is left then stays.
    // In a forked child it stays, too.
    class Parked {
    public:
        virtual ~Parked() = default;
        virtual bool reap(const Mpi& mpi) = 0;  // never waits
        virtual size_t bytes() const { return 0; }
    };
    void park(std::unique_ptr<Parked> parked);
    void reap();
    static size_t parked_bytes();  // of all MPIs of this process

    // Called at the begin of MPI_Finalize, when MPI still works, in the thread that calls it.
    uint64_t at_finalize(std::function<void()> work);
    void forget(uint64_t work);

private:
    class Turn;
    explicit Mpi(const dds_mpi_table_t& table);
    Result<void> begin();
    Result<int> query_thread() const;
    Result<void> ask_to_be_told();  // of MPI_Finalize
    static void finalizing(void* mpi);
    void finalize();
    Error gone() const;
    Error busy(const char* function) const;

    // `work(native)` in turn; it returns MPI's code.
    template <class Work>
    int native(const Work& work) const
    {
        return table_.handle_size == 4 ? work(mpi::Native<int>(table_))
                                       : work(mpi::Native<void*>(table_));
    }
    template <class Work>
    Result<void> call(const char* function, const Work& work) const;

    const dds_mpi_table_t table_;
    std::string name_;
    bool multiple_ = false;
    uint64_t forks_ = fork_count();
    std::atomic<bool> finalized_{false};

    std::mutex mutex_;  // of what follows
    std::vector<std::unique_ptr<Parked>> parked_;
    struct Hook {
        uint64_t number;
        std::function<void()> work;
    };
    std::vector<Hook> hooks_;
    uint64_t last_hook_ = 0;
};

// Requests under way, as an array of MPI's own handles, so that all of them are tested by one call.
class MpiRequests {
public:
    MpiRequests(const Mpi& mpi, size_t slots);

    size_t slots() const { return free_.size(); }
    size_t open() const { return slots() - left_; }
    bool full() const { return left_ == 0; }
    int next() const { return free_[left_ - 1]; }  // the slot that the next one takes, unless full

private:
    friend class Mpi;
    void* at(size_t slot) { return handles_.data() + slot * width_; }

    size_t width_;                    // of a handle
    std::vector<std::byte> handles_;  // null where the slot is free
    std::vector<int> free_;           // the slots that are, the first left_ of it
    size_t left_;
    std::vector<int> which_;
    std::vector<std::byte> statuses_;
    std::vector<Mpi::Ended> ended_;
};

}  // namespace dds
