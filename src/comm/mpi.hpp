// The communicator over an MPI: the caller's, duplicated.
#pragma once

#include "comm/comm.hpp"
#include "drivers/mpi.hpp"

namespace dds {

// The MPI and two duplicates, whose errors return; there as long as the Comm is.  Whoever starts
// collectives of its own on `comm` does so where no other is under way, on every rank.  `farewell`
// is for the one barrier in which ranks leave, each when it likes: a rank that missed a collective
// on `comm` would meet the others in the wrong one there, which MPI may end the program for.
struct MpiGroup {
    Mpi* mpi;
    Mpi::Handle comm, farewell;
};

// Collective over the ranks of `comm`.
Result<std::unique_ptr<Comm>> open_mpi(Mpi& mpi, Mpi::Handle comm, int timeout_ms);

}  // namespace dds
