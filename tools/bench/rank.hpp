// One rank's life: opens a store with the others, measures, leaves.
#pragma once

#include "options.hpp"

namespace bench {

// As a rank that an mpirun started: starts MPI; its number.
int join_mpi(const Options& options);
void run_rank(const Options& options);  // or exits with kFailed

}  // namespace bench
