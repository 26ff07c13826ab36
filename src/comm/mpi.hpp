// The communicator over an MPI: the caller's, duplicated.
#pragma once

#include "comm/comm.hpp"
#include "drivers/mpi.hpp"

namespace dds {

// The MPI and the duplicate, whose errors return.  Both are there as long as the Comm is; whoever
// starts collectives of its own on the duplicate does so where no other is under way, on every rank.
struct MpiGroup {
    Mpi* mpi;
    Mpi::Handle comm;
};

// Collective over the ranks of `comm`.
Result<std::unique_ptr<Comm>> open_mpi(Mpi& mpi, Mpi::Handle comm, int timeout_ms);

}  // namespace dds
