// Who is there: rank, size and a collective exchange of bytes.  Used to start and between nodes;
// rows never go through it.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/wait.hpp"

namespace dds {

struct MpiGroup;

class Comm {
public:
    virtual ~Comm() = default;

    int rank() const { return rank_; }
    int size() const { return size_; }
    virtual const char* kind() const = 0;  // "self", "file", "custom", "mpi"

    // Start an allgather: `in` from every rank, all of the same size, to `out` (size x in.size()) in
    // rank order.  The spans stay the caller's until the operation ended or was destroyed; one at a
    // time.  An operation that is destroyed before its end leaves the communicator unusable.
    // `timeout_ms` is for communicators whose step cannot but block (custom).
    virtual Result<std::unique_ptr<Operation>> start_allgather(std::span<const std::byte> in,
                                                               std::span<std::byte> out,
                                                               int timeout_ms) = 0;
    // Which ranks an operation that is under way still waits for, for the error text.
    virtual std::vector<int> missing() const { return {}; }
    // What else may be why it has not ended, such as a damaged file.
    virtual std::optional<Error> doubt() const { return std::nullopt; }
    // The operation under way ends here: tell the others why, where that is possible, so that they
    // need not wait for their own deadline.  The communicator is unusable afterwards.
    virtual void give_up(const Error& why) { static_cast<void>(why); }
    // What a transport over MPI's own means needs; NULL where there is no MPI (comm/mpi.hpp).
    virtual const MpiGroup* mpi() const { return nullptr; }

protected:
    Comm(int rank, int size) : rank_(rank), size_(size) {}

private:
    int rank_, size_;
};

// Blocking forms, through the one wait.  TIMEOUT names the ranks that are missing.
Result<void> allgather(Comm& comm, std::span<const std::byte> in, std::span<std::byte> out,
                       int timeout_ms);
Result<void> barrier(Comm& comm, int timeout_ms);
// Each rank's bytes, whose lengths may differ, one after another in `out` (at most `capacity`), and
// their lengths.  TRUNCATED on every rank if any rank's capacity is too small; `sizes` is set then.
Result<void> allgatherv(Comm& comm, std::span<const std::byte> in, std::span<std::byte> out,
                        std::span<size_t> sizes, int timeout_ms);

Result<std::unique_ptr<Comm>> open_self();
Result<std::unique_ptr<Comm>> open_file(const std::string& dir, const std::string& ns, int rank,
                                        int size, int timeout_ms);
Result<std::unique_ptr<Comm>> open_custom(const dds_comm_ops_t& ops, void* ctx);

}  // namespace dds
