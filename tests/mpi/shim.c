/* The table of an MPI as its own mpi.h has it, compiled by its mpicc; calls.cpp holds the one of the
 * library against it. */
#include <ddstore_mpi.h>

dds_mpi_table_t table_of_header(void);
int fortran_of(const void *comm);

dds_mpi_table_t table_of_header(void) { return dds_mpi_table_of_caller(); }

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
