// The ranks and their paths to each other, as a store over them has them.
#pragma once

#include "mpi.hpp"

namespace info {

class Ranks {
public:
    // Collective over the ranks of the MPI, or of this process alone where there is none.  What they
    // tell, and their problems, come to all of them.
    Ranks(Sheet& sheet, const Mpi& mpi);
    int rank() const { return rank_; }  // this one
    int size() const { return size_; }

private:
    int rank_ = 0, size_ = 1;
};

}  // namespace info
