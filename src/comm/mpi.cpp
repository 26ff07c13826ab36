// Nonblocking collectives of MPI as operations.  What is left before its end stays MPI's to write to:
// buffers are the library's own, and are parked until MPI has ended.
#include "comm/mpi.hpp"

#include <sched.h>

#include <algorithm>
#include <cstring>

#include "base/clock.hpp"

namespace dds {
namespace {

// Of all ranks, in one call of MPI: bounds the memory that is parked, and what an int must hold.
constexpr size_t kMostAtOnce = size_t{16} << 20;

// A call of MPI that is under way, with what it writes to.
struct Flight : Mpi::Parked {
    explicit Flight(const Mpi& mpi) : request(mpi.null_request()) {}

    Mpi::Cell request;
    std::vector<std::byte> from, to;

    bool reap(const Mpi& mpi) override
    {
        const auto done = mpi.test(request);
        return !done || *done;  // one that failed has ended, too
    }
    size_t bytes() const override { return from.size() + to.size(); }
};

// A duplicate that may come when nobody waits for it any more.  MPI_Finalize ends it.
struct Duplicate : Flight {
    using Flight::Flight;
    Mpi::Cell made;
};

// A group of which every rank has let go, once the barrier has ended.
struct Leaving : Flight {
    Leaving(const MpiGroup& left, bool broken) : Flight(*left.mpi), group(left), broken_(broken) {}

    bool reap(const Mpi& mpi) override
    {
        if (!Flight::reap(mpi))
            return false;
        // Nobody is left to hear of an error.  What is out of step may have requests open.
        static_cast<void>(mpi.comm_free(group.farewell));
        if (!broken_)
            static_cast<void>(mpi.comm_free(group.comm));
        return true;
    }
    const MpiGroup group;

private:
    const bool broken_;
};

// An all-to-all: whoever started it gave the memory.
struct Exchange : Flight {
    Exchange(const Mpi& mpi, std::shared_ptr<void> memory, size_t size)
        : Flight(mpi), keep(std::move(memory)), all(size)
    {
    }
    size_t bytes() const override { return all; }

    const std::shared_ptr<void> keep;
    const size_t all;
};

// Owns a flight until it has ended; parks it otherwise.
template <class F>
class Underway {
public:
    Underway(Mpi& mpi, std::unique_ptr<F> flight) : mpi_(mpi), flight_(std::move(flight)) {}
    ~Underway()
    {
        if (flight_)
            mpi_.park(std::move(flight_));
    }
    Underway(const Underway&) = delete;
    Underway& operator=(const Underway&) = delete;

    Result<bool> ended() { return mpi_.test(flight_->request); }
    std::unique_ptr<F> take() { return std::move(flight_); }
    F* operator->() { return flight_.get(); }

private:
    Mpi& mpi_;
    std::unique_ptr<F> flight_;
};

// MPI moves on only while it is called, for the other ranks, too: never away for long, and looks often
// between two naps, as MPICH serves one message of theirs in each.
class Attentive : public Operation {
public:
    void park(int64_t ns) override
    {
        if (parks_++ < kYields)
            sched_yield();
        else if (parks_ % kLooks == 0)
            clock::sleep(std::min(ns, kNap));
    }

private:
    static constexpr int kYields = 200, kLooks = 32;
    static constexpr int64_t kNap = 200'000;
    int parks_ = 0;
};

// Duplicates the caller's communicator, and that again.
class Duplication : public Attentive {
public:
    Duplication(Mpi& mpi, Mpi::Handle original) : original_(original), made_{&mpi, 0, 0} {}

    Result<Step> step() override
    {
        if (!flight_)
            return start(original_);
        DDS_LET(done, flight_->ended());
        if (!done)
            return Step::idle;
        const bool first = made_.comm == 0;
        Mpi::Handle& made = first ? made_.comm : made_.farewell;
        made = made_.mpi->value_of(flight_->take()->made);
        flight_.reset();
        DDS_TRY(made_.mpi->comm_return_errors(made));
        return first ? start(made) : Step::ended;
    }
    const MpiGroup& made() const { return made_; }

private:
    Result<Step> start(Mpi::Handle from)
    {
        auto duplicate = std::make_unique<Duplicate>(*made_.mpi);
        DDS_TRY(made_.mpi->comm_idup(from, duplicate->made, duplicate->request));
        flight_.emplace(*made_.mpi, std::move(duplicate));
        return Step::moved;
    }

    const Mpi::Handle original_;
    MpiGroup made_;
    std::optional<Underway<Duplicate>> flight_;
};

class MpiComm : public Comm {
public:
    MpiComm(const MpiGroup& group, int rank, int size) : Comm(rank, size), group_(group) {}
    ~MpiComm() override;
    const char* kind() const override { return "mpi"; }
    const MpiGroup* mpi() const override { return &group_; }
    std::optional<Error> doubt() const override
    {
        return fail(DDS_ERR_TIMEOUT, "MPI does not tell who is missing");
    }

    Result<std::unique_ptr<Operation>> start_allgather(std::span<const std::byte> in,
                                                       std::span<std::byte> out, int) override;
    Result<std::unique_ptr<Operation>> start_alltoallv(const Parts& from, const Parts& to,
                                                       std::shared_ptr<void> keep) override;

private:
    class Call;
    class Exchanging;
    Result<void> in_step() const;

    const MpiGroup group_;
    bool broken_ = false;  // a collective failed or was left: the ranks are out of step
};

// An allgather in pieces of all ranks' bytes; of nothing, a barrier.
class MpiComm::Call : public Attentive {
public:
    Call(MpiComm& comm, std::span<const std::byte> in, std::span<std::byte> out,
         std::unique_ptr<Flight> flight)
        : comm_(comm),
          in_(in),
          out_(out),
          piece_(std::min(in.size(), std::max<size_t>(1, kMostAtOnce / ranks()))),
          flight_(*comm.group_.mpi, std::move(flight))
    {
        flight_->from.resize(piece_);
        flight_->to.resize(piece_ * ranks());
    }

    Result<void> start()
    {
        const auto& [mpi, comm, farewell] = comm_.group_;
        if (in_.empty())
            return mpi->ibarrier(comm, flight_->request);
        memcpy(flight_->from.data(), in_.data() + done_, now());
        return mpi->iallgather(flight_->from.data(), static_cast<int>(now()), flight_->to.data(),
                               comm, flight_->request);
    }

    Result<Step> step() override
    {
        DDS_LET(ended, flight_.ended());
        if (!ended)
            return Step::idle;
        const size_t bytes = now();
        for (size_t rank = 0; rank < ranks() && bytes; rank++)
            memcpy(out_.data() + rank * in_.size() + done_, flight_->to.data() + rank * bytes,
                   bytes);
        done_ += bytes;
        if (done_ < in_.size()) {
            DDS_TRY(start());
            return Step::moved;
        }
        comm_.broken_ = false;
        flight_.take().reset();
        return Step::ended;
    }

private:
    size_t ranks() const { return static_cast<size_t>(comm_.size()); }
    size_t now() const { return std::min(piece_, in_.size() - done_); }

    MpiComm& comm_;
    std::span<const std::byte> in_;
    std::span<std::byte> out_;
    size_t piece_, done_ = 0;
    Underway<Flight> flight_;
};

Result<void> MpiComm::in_step() const
{
    DDS_TRY(group_.mpi->usable());
    if (broken_)
        return fail(DDS_ERR_STATE, "the MPI communicator: an earlier collective call was not "
                                   "completed");
    return {};
}

Result<std::unique_ptr<Operation>> MpiComm::start_allgather(std::span<const std::byte> in,
                                                            std::span<std::byte> out, int)
{
    DDS_TRY(in_step());
    group_.mpi->reap();
    auto call = std::make_unique<Call>(*this, in, out, std::make_unique<Flight>(*group_.mpi));
    DDS_TRY(call->start());
    broken_ = true;  // until it ended
    return std::unique_ptr<Operation>(std::move(call));
}

class MpiComm::Exchanging : public Attentive {
public:
    Exchanging(MpiComm& comm, std::unique_ptr<Exchange> flight)
        : comm_(comm), flight_(*comm.group_.mpi, std::move(flight))
    {
    }
    Result<Step> step() override
    {
        DDS_LET(ended, flight_.ended());
        if (!ended)
            return Step::idle;
        comm_.broken_ = false;
        flight_.take().reset();
        return Step::ended;
    }

private:
    MpiComm& comm_;
    Underway<Exchange> flight_;
};

Result<std::unique_ptr<Operation>> MpiComm::start_alltoallv(const Parts& from, const Parts& to,
                                                            std::shared_ptr<void> keep)
{
    DDS_TRY(in_step());
    const auto end = [](const Parts& parts) {
        return static_cast<size_t>(parts.at.back()) + static_cast<size_t>(parts.count.back());
    };
    const Mpi& mpi = *group_.mpi;
    auto flight = std::make_unique<Exchange>(mpi, std::move(keep), end(from) + end(to));
    DDS_TRY(mpi.ialltoallv(from.data, from.count.data(), from.at.data(), to.data, to.count.data(),
                           to.at.data(), group_.comm, flight->request));
    broken_ = true;  // until it ended
    return std::unique_ptr<Operation>(std::make_unique<Exchanging>(*this, std::move(flight)));
}

// Freeing waits for nobody, and MPI_Comm_free, which may wait, should find every rank past its last
// use: a barrier runs on its own, and the communicators go when it has ended.
MpiComm::~MpiComm()
{
    Mpi& mpi = *group_.mpi;
    if (!mpi.usable())
        return;
    auto leaving = std::make_unique<Leaving>(group_, broken_);
    if (mpi.ibarrier(group_.farewell, leaving->request))
        mpi.park(std::move(leaving));
    mpi.reap();
}

}  // namespace

Result<std::unique_ptr<Comm>> open_mpi(Mpi& mpi, Mpi::Handle comm, int timeout_ms)
{
    if (comm == mpi.table().comm_null)
        return fail(DDS_ERR_ARG, "the communicator is MPI_COMM_NULL: this rank is not in it");
    mpi.reap();
    DDS_LET(rank, mpi.comm_rank(comm));
    DDS_LET(size, mpi.comm_size(comm));
    Duplication duplication(mpi, comm);
    const Patience patience{.timeout_ms = timeout_ms};
    DDS_LET(waited, wait(duplication, patience));
    if (waited == Waited::interrupted)
        return fail_rank(DDS_ERR_INTERRUPTED, rank,
                         "rank %d was interrupted while the communicator was duplicated", rank);
    if (waited == Waited::timeout)
        return fail_rank(DDS_ERR_TIMEOUT, -1,
                         "rank %d waited %g s for the other ranks to duplicate the communicator; "
                         "MPI does not tell who is missing",
                         rank, timeout_ms / 1000.0);
    return std::unique_ptr<Comm>(std::make_unique<MpiComm>(duplication.made(), rank, size));
}

}  // namespace dds
