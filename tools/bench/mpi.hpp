// The MPI that the ranks run under, as the limits call it: its functions and constants in its binary
// form, found when it is loaded.  H is a handle: int in MPICH, a pointer in Open MPI.
#pragma once

#include <cstdint>
#include <string>

#include "mpi_world.h"

namespace bench {

// Starts MPI in this rank, or exits; its rank.
int start_mpi(const std::string& library, int level);
bool mpi_is_mpich();            // handles are ints
const std::string& mpi_name();  // "Open MPI v4.1.4"
// Lets other ranks' reads of this one go on: not every MPI serves them by itself.
void mpi_progress();

template <class H>
struct Mpi {
    Mpi();

    H world, byte, no_info;
    void *status_ignore, *statuses_ignore;
    int no_check;

    int (*allgatherv)(const void* in, int n, H type, void* out, const int* sizes, const int* places,
                      H out_type, H comm);
    int (*alltoallv)(const void* in, const int* in_sizes, const int* in_places, H type, void* out,
                     const int* out_sizes, const int* out_places, H out_type, H comm);
    int (*waitall)(int n, H* requests, void* statuses);
    int (*win_create)(void* base, intptr_t bytes, int unit, H info, H comm, H* win);
    int (*win_free)(H* win);
    int (*win_lock_all)(int assert, H win);
    int (*win_unlock_all)(H win);
    int (*win_flush)(int target, H win);
    int (*get)(void* to, int n, H type, int target, intptr_t at, int there, H there_type, H win);
    int (*rget)(void* to, int n, H type, int target, intptr_t at, int there, H there_type, H win,
                H* request);
};

}  // namespace bench
