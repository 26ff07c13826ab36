/* The ranks of a job of MPI, by the library that DDS_TEST_MPI names: the tests, and ddstore-bench,
 * are compiled once and run under each MPI. */
#ifndef MPI_WORLD_H
#define MPI_WORLD_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mpi_world_s {
    void *library;         /* of dlopen */
    unsigned char comm[8]; /* MPI_COMM_WORLD */
    size_t comm_size;
    int level; /* of threads that MPI gave: 0 single, 1 funneled, 2 serialized, 3 multiple */
} mpi_world_t;

/* Whether this test runs under an MPI. */
bool under_mpi(void);
/* Before the others: that library, not DDS_TEST_MPI's, and that level, not DDS_TEST_MPI_LEVEL's. */
void mpi_use(const char *library, int level);
/* Load the MPI for all to see, if that was not done; MPI_Init_thread at DDS_TEST_MPI_LEVEL (3);
 * MPI_Finalize is called at exit.  Ends the program where it cannot be. */
const mpi_world_t *mpi_world(void);
/* A function of that MPI, by name. */
void *mpi_function(const char *name);
/* Now instead of at exit. */
void mpi_finish(void);

#ifdef __cplusplus
}
#endif

#endif
