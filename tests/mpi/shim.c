/* The table of an MPI as its own mpi.h has it, compiled by its mpicc; calls.cpp holds the one of the
 * library against it. */
#include <ddstore_mpi.h>

dds_mpi_table_t table_of_header(void);
int fortran_of(const void *comm);
uint64_t world_of_header(void);

dds_mpi_table_t table_of_header(void) { return dds_mpi_table_of_caller(); }

uint64_t world_of_header(void)
{
    const MPI_Comm world = MPI_COMM_WORLD;
    uint64_t handle = 0;
    memcpy(&handle, &world, sizeof world);
    return handle;
}

int fortran_of(const void *comm)
{
    MPI_Comm handle;
    memcpy(&handle, comm, sizeof handle);
#ifdef MPI_ABI_VERSION
    return MPI_Comm_toint(handle);
#else
    return (int)MPI_Comm_c2f(handle);
#endif
}
