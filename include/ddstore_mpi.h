/* ddstore_mpi.h - communicators and stores over the MPI that the caller is compiled with.
 *
 * The library itself knows no mpi.h and finds the MPI of the process by itself (dds_comm_mpi).  The
 * functions here hand it the caller's own instead: with them it works over an MPI that is linked
 * statically, over one that it does not know, and where a process has several.
 */
#ifndef DDSTORE_MPI_H
#define DDSTORE_MPI_H

#include <ddstore.h>
#include <mpi.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The caller's MPI as a table. */
static inline dds_mpi_table_t dds_mpi_table_of_caller(void)
{
    const MPI_Datatype byte = MPI_BYTE;
    const MPI_Comm no_comm = MPI_COMM_NULL, self = MPI_COMM_SELF;
    const MPI_Win no_win = MPI_WIN_NULL;
    const MPI_Info no_info = MPI_INFO_NULL;
    const MPI_Request no_request = MPI_REQUEST_NULL;
    const MPI_Errhandler errors_return = MPI_ERRORS_RETURN;
    dds_mpi_table_t table;
    memset(&table, 0, sizeof table);
    table.struct_size = (uint32_t)sizeof table;
    table.handle_size = (int32_t)sizeof(MPI_Comm);
    table.status_size = (int32_t)sizeof(MPI_Status);
    table.status_error = (int32_t)offsetof(MPI_Status, MPI_ERROR);
    table.thread_multiple = MPI_THREAD_MULTIPLE;
    table.mode_nocheck = MPI_MODE_NOCHECK;
    memcpy(&table.byte, &byte, sizeof byte);
    memcpy(&table.comm_null, &no_comm, sizeof no_comm);
    memcpy(&table.comm_self, &self, sizeof self);
    memcpy(&table.win_null, &no_win, sizeof no_win);
    memcpy(&table.info_null, &no_info, sizeof no_info);
    memcpy(&table.request_null, &no_request, sizeof no_request);
    memcpy(&table.errors_return, &errors_return, sizeof errors_return);
    table.in_place = (void *)MPI_IN_PLACE;
    table.status_ignore = (void *)MPI_STATUS_IGNORE;
    table.statuses_ignore = (void *)MPI_STATUSES_IGNORE;
    table.Initialized = (dds_mpi_fn_t)MPI_Initialized;
    table.Finalized = (dds_mpi_fn_t)MPI_Finalized;
    table.Query_thread = (dds_mpi_fn_t)MPI_Query_thread;
    table.Get_library_version = (dds_mpi_fn_t)MPI_Get_library_version;
    table.Error_class = (dds_mpi_fn_t)MPI_Error_class;
    table.Error_string = (dds_mpi_fn_t)MPI_Error_string;
    table.Comm_rank = (dds_mpi_fn_t)MPI_Comm_rank;
    table.Comm_size = (dds_mpi_fn_t)MPI_Comm_size;
    table.Comm_idup = (dds_mpi_fn_t)MPI_Comm_idup;
    table.Comm_free = (dds_mpi_fn_t)MPI_Comm_free;
    table.Comm_set_errhandler = (dds_mpi_fn_t)MPI_Comm_set_errhandler;
    table.Comm_create_keyval = (dds_mpi_fn_t)MPI_Comm_create_keyval;
    table.Comm_free_keyval = (dds_mpi_fn_t)MPI_Comm_free_keyval;
    table.Comm_set_attr = (dds_mpi_fn_t)MPI_Comm_set_attr;
    table.Ibarrier = (dds_mpi_fn_t)MPI_Ibarrier;
    table.Iallgather = (dds_mpi_fn_t)MPI_Iallgather;
    table.Iallgatherv = (dds_mpi_fn_t)MPI_Iallgatherv;
    table.Ialltoallv = (dds_mpi_fn_t)MPI_Ialltoallv;
    table.Test = (dds_mpi_fn_t)MPI_Test;
    table.Testsome = (dds_mpi_fn_t)MPI_Testsome;
    table.Win_create = (dds_mpi_fn_t)MPI_Win_create;
    table.Win_free = (dds_mpi_fn_t)MPI_Win_free;
    table.Win_set_errhandler = (dds_mpi_fn_t)MPI_Win_set_errhandler;
    table.Win_lock_all = (dds_mpi_fn_t)MPI_Win_lock_all;
    table.Win_unlock_all = (dds_mpi_fn_t)MPI_Win_unlock_all;
    table.Win_sync = (dds_mpi_fn_t)MPI_Win_sync;
    table.Rget = (dds_mpi_fn_t)MPI_Rget;
    return table;
}

/* As dds_comm_mpi, over the caller's MPI.  Collective.  Deadline: collective. */
static inline int dds_comm_from_mpi(MPI_Comm comm, dds_comm_t *ddscomm)
{
    const dds_mpi_table_t table = dds_mpi_table_of_caller();
    return dds_comm_mpi_table(&table, &comm, ddscomm);
}

/* As dds_init, over the ranks of `comm`.  Collective.  Deadline: collective. */
static inline int dds_init_mpi(MPI_Comm comm, const dds_options_t *options, dds_store_t *store)
{
    dds_comm_t ddscomm = NULL;
    int code = dds_comm_from_mpi(comm, &ddscomm);
    if (code == DDS_SUCCESS) {
        code = dds_init(ddscomm, options, store);
        (void)dds_comm_free(&ddscomm);
    }
    return code;
}

#ifdef __cplusplus
}
#endif

#endif /* DDSTORE_MPI_H */
