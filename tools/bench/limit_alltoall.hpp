// The limit of a collective read where ranks do not see each other's rows, by the MPI's own means:
// MPI_Allgatherv of the indices, then rounds of 2 MiB a rank in which owners pack rows, MPI_Alltoallv
// moves and readers unpack them.  Own rows are copied past it.
#pragma once

#include <memory>

#include "limit_gather.h"
#include "limit_mpi.hpp"

namespace bench {

class Alltoall {
public:
    // For calls of n rows, packed by that gather.
    static std::unique_ptr<Alltoall> make(const MpiShards& shards, int64_t n,
                                          limit_gather_fn* gather, const limit_how& how);
    virtual ~Alltoall() = default;
    virtual void read(const int64_t* rows, char* out) = 0;  // collective
};

}  // namespace bench
