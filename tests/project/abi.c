/* The ABI as numbers: the size of every struct, offset and size of every field, the value of
 * every constant, as released.  Numbers here are never edited, only added: a field that moves is a
 * new SONAME.  abi_complete.py sees to it that nothing of the header is missing. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "ddstore.h"

#define SIZE(type, bytes) _Static_assert(sizeof(type) == (bytes), #type " changed its size")
#define FIELD(type, field, offset, bytes)                                         \
    _Static_assert(offsetof(type, field) == (offset), #type "." #field " moved"); \
    _Static_assert(sizeof(((type *)0)->field) == (bytes), #type "." #field " changed its size")
#define VALUE(name, value) _Static_assert((name) == (value), #name " changed its value")

SIZE(dds_comm_ops_t, 32);
FIELD(dds_comm_ops_t, struct_size, 0, 4);
FIELD(dds_comm_ops_t, flags, 4, 4);
FIELD(dds_comm_ops_t, rank, 8, 4);
FIELD(dds_comm_ops_t, size, 12, 4);
FIELD(dds_comm_ops_t, allgather, 16, 8);
FIELD(dds_comm_ops_t, free, 24, 8);

SIZE(dds_mpi_table_t, 328);
FIELD(dds_mpi_table_t, struct_size, 0, 4);
FIELD(dds_mpi_table_t, flags, 4, 4);
FIELD(dds_mpi_table_t, handle_size, 8, 4);
FIELD(dds_mpi_table_t, status_size, 12, 4);
FIELD(dds_mpi_table_t, status_error, 16, 4);
FIELD(dds_mpi_table_t, thread_multiple, 20, 4);
FIELD(dds_mpi_table_t, mode_nocheck, 24, 4);
FIELD(dds_mpi_table_t, reserved, 28, 4);
FIELD(dds_mpi_table_t, byte, 32, 8);
FIELD(dds_mpi_table_t, comm_null, 40, 8);
FIELD(dds_mpi_table_t, comm_self, 48, 8);
FIELD(dds_mpi_table_t, win_null, 56, 8);
FIELD(dds_mpi_table_t, info_null, 64, 8);
FIELD(dds_mpi_table_t, request_null, 72, 8);
FIELD(dds_mpi_table_t, errors_return, 80, 8);
FIELD(dds_mpi_table_t, in_place, 88, 8);
FIELD(dds_mpi_table_t, status_ignore, 96, 8);
FIELD(dds_mpi_table_t, statuses_ignore, 104, 8);
FIELD(dds_mpi_table_t, Initialized, 112, 8);
FIELD(dds_mpi_table_t, Finalized, 120, 8);
FIELD(dds_mpi_table_t, Query_thread, 128, 8);
FIELD(dds_mpi_table_t, Get_library_version, 136, 8);
FIELD(dds_mpi_table_t, Error_class, 144, 8);
FIELD(dds_mpi_table_t, Error_string, 152, 8);
FIELD(dds_mpi_table_t, Comm_rank, 160, 8);
FIELD(dds_mpi_table_t, Comm_size, 168, 8);
FIELD(dds_mpi_table_t, Comm_idup, 176, 8);
FIELD(dds_mpi_table_t, Comm_free, 184, 8);
FIELD(dds_mpi_table_t, Comm_set_errhandler, 192, 8);
FIELD(dds_mpi_table_t, Comm_create_keyval, 200, 8);
FIELD(dds_mpi_table_t, Comm_free_keyval, 208, 8);
FIELD(dds_mpi_table_t, Comm_set_attr, 216, 8);
FIELD(dds_mpi_table_t, Ibarrier, 224, 8);
FIELD(dds_mpi_table_t, Iallgather, 232, 8);
FIELD(dds_mpi_table_t, Iallgatherv, 240, 8);
FIELD(dds_mpi_table_t, Ialltoallv, 248, 8);
FIELD(dds_mpi_table_t, Test, 256, 8);
FIELD(dds_mpi_table_t, Testsome, 264, 8);
FIELD(dds_mpi_table_t, Win_create, 272, 8);
FIELD(dds_mpi_table_t, Win_free, 280, 8);
FIELD(dds_mpi_table_t, Win_set_errhandler, 288, 8);
FIELD(dds_mpi_table_t, Win_lock_all, 296, 8);
FIELD(dds_mpi_table_t, Win_unlock_all, 304, 8);
FIELD(dds_mpi_table_t, Win_sync, 312, 8);
FIELD(dds_mpi_table_t, Rget, 320, 8);

SIZE(dds_options_t, 48);
FIELD(dds_options_t, struct_size, 0, 4);
FIELD(dds_options_t, flags, 4, 4);
FIELD(dds_options_t, method, 8, 4);
FIELD(dds_options_t, timeout_ms, 12, 4);
FIELD(dds_options_t, collective_timeout_ms, 16, 4);
FIELD(dds_options_t, reserved, 20, 4);
FIELD(dds_options_t, handshake_dir, 24, 8);
FIELD(dds_options_t, nic_map, 32, 8);
FIELD(dds_options_t, hints, 40, 8);

SIZE(dds_var_options_t, 48);
FIELD(dds_var_options_t, struct_size, 0, 4);
FIELD(dds_var_options_t, flags, 4, 4);
FIELD(dds_var_options_t, memory, 8, 4);
FIELD(dds_var_options_t, device, 12, 4);
FIELD(dds_var_options_t, ndim, 16, 4);
FIELD(dds_var_options_t, reserved, 20, 4);
FIELD(dds_var_options_t, shape, 24, 8);
FIELD(dds_var_options_t, meta, 32, 8);
FIELD(dds_var_options_t, meta_bytes, 40, 8);

SIZE(dds_info_t, 144);
FIELD(dds_info_t, struct_size, 0, 4);
FIELD(dds_info_t, flags, 4, 4);
FIELD(dds_info_t, type, 8, 4);
FIELD(dds_info_t, memory, 12, 4);
FIELD(dds_info_t, device, 16, 4);
FIELD(dds_info_t, ndim, 20, 4);
FIELD(dds_info_t, shape, 24, 64);
FIELD(dds_info_t, rows, 88, 8);
FIELD(dds_info_t, disp, 96, 8);
FIELD(dds_info_t, first, 104, 8);
FIELD(dds_info_t, nrows, 112, 8);
FIELD(dds_info_t, itemsize, 120, 8);
FIELD(dds_info_t, meta_bytes, 128, 8);
FIELD(dds_info_t, version, 136, 8);

SIZE(dds_profile_t, 64);
FIELD(dds_profile_t, struct_size, 0, 4);
FIELD(dds_profile_t, flags, 4, 4);
FIELD(dds_profile_t, calls, 8, 8);
FIELD(dds_profile_t, rows, 16, 8);
FIELD(dds_profile_t, mr_miss, 24, 8);
FIELD(dds_profile_t, lock_wait_ns, 32, 8);
FIELD(dds_profile_t, mr_ns, 40, 8);
FIELD(dds_profile_t, read_ns, 48, 8);
FIELD(dds_profile_t, cq_ns, 56, 8);

SIZE(dds_stats_t, 240);
FIELD(dds_stats_t, struct_size, 0, 4);
FIELD(dds_stats_t, flags, 4, 4);
FIELD(dds_stats_t, rows, 8, 64);
FIELD(dds_stats_t, bytes, 72, 64);
FIELD(dds_stats_t, staged_bytes, 136, 8);
FIELD(dds_stats_t, retries, 144, 8);
FIELD(dds_stats_t, timeouts, 152, 8);
FIELD(dds_stats_t, dead_peers, 160, 8);
FIELD(dds_stats_t, arenas, 168, 8);
FIELD(dds_stats_t, arena_bytes, 176, 8);
FIELD(dds_stats_t, used_bytes, 184, 8);
FIELD(dds_stats_t, peer_maps, 192, 8);
FIELD(dds_stats_t, keys, 200, 8);
FIELD(dds_stats_t, windows, 208, 8);
FIELD(dds_stats_t, table_bytes, 216, 8);
FIELD(dds_stats_t, parked_bytes, 224, 8);
FIELD(dds_stats_t, quarantined_bytes, 232, 8);

SIZE(dds_comm_t, 8);
SIZE(dds_store_t, 8);
SIZE(dds_request_t, 8);

VALUE(DDS_SUCCESS, 0);
VALUE(DDS_ERR_ARG, 1);
VALUE(DDS_ERR_RANGE, 2);
VALUE(DDS_ERR_TYPE, 3);
VALUE(DDS_ERR_NOTFOUND, 4);
VALUE(DDS_ERR_EXISTS, 5);
VALUE(DDS_ERR_MISMATCH, 6);
VALUE(DDS_ERR_OVERFLOW, 7);
VALUE(DDS_ERR_TIMEOUT, 8);
VALUE(DDS_ERR_PEER, 9);
VALUE(DDS_ERR_POISONED, 10);
VALUE(DDS_ERR_STALE, 11);
VALUE(DDS_ERR_CORRUPT, 12);
VALUE(DDS_ERR_VERSION, 13);
VALUE(DDS_ERR_PERM, 14);
VALUE(DDS_ERR_NOSPC, 15);
VALUE(DDS_ERR_IO, 16);
VALUE(DDS_ERR_NOMEM, 17);
VALUE(DDS_ERR_LIMIT, 18);
VALUE(DDS_ERR_STATE, 19);
VALUE(DDS_ERR_FORKED, 20);
VALUE(DDS_ERR_INTERRUPTED, 21);
VALUE(DDS_ERR_DEVICE, 22);
VALUE(DDS_ERR_UNSUPPORTED, 23);
VALUE(DDS_ERR_BUSY, 24);
VALUE(DDS_ERR_TRUNCATED, 25);
VALUE(DDS_ERR_INTERNAL, 26);
VALUE(DDS_LOG_WARN, 1);
VALUE(DDS_LOG_INFO, 2);
VALUE(DDS_LOG_DEBUG, 3);
VALUE(DDS_BOOL, 1);
VALUE(DDS_INT8, 2);
VALUE(DDS_INT16, 3);
VALUE(DDS_INT32, 4);
VALUE(DDS_INT64, 5);
VALUE(DDS_UINT8, 6);
VALUE(DDS_UINT16, 7);
VALUE(DDS_UINT32, 8);
VALUE(DDS_UINT64, 9);
VALUE(DDS_FLOAT16, 10);
VALUE(DDS_BFLOAT16, 11);
VALUE(DDS_FLOAT32, 12);
VALUE(DDS_FLOAT64, 13);
VALUE(DDS_COMPLEX64, 14);
VALUE(DDS_COMPLEX128, 15);
VALUE(DDS_METHOD_MPI, 0);
VALUE(DDS_METHOD_FABRIC, 1);
VALUE(DDS_METHOD_FILE, 2);
VALUE(DDS_NOCOPY, 1);
VALUE(DDS_HUGEPAGES, 2);
VALUE(DDS_MEM_HOST, 0);
VALUE(DDS_PATH_SELF, 0);
VALUE(DDS_PATH_SHM, 1);
VALUE(DDS_PATH_CMA, 2);
VALUE(DDS_PATH_FABRIC, 3);
VALUE(DDS_PATH_MPI, 4);
VALUE(DDS_PATH_DEVICE, 5);
VALUE(DDS_BYTES(1), 0x40000001);
VALUE(DDS_BYTES(0x3fffffff), 0x7fffffff);

/* Zero means default: a struct that DDS_*_INIT made is its size and zeros (but one rank of one). */
#define INIT_IS_ZERO(type, init)                                         \
    do {                                                                 \
        const type made = init;                                          \
        type zero;                                                       \
        memset(&zero, 0, sizeof zero);                                   \
        zero.struct_size = (uint32_t)sizeof zero;                        \
        if (memcmp(&made, &zero, sizeof made) != 0) {                    \
            fprintf(stderr, "%s is not zero but for its size\n", #init); \
            bad++;                                                       \
        }                                                                \
    } while (0)

int main(void)
{
    int bad = 0;
    INIT_IS_ZERO(dds_options_t, DDS_OPTIONS_INIT);
    INIT_IS_ZERO(dds_var_options_t, DDS_VAR_OPTIONS_INIT);
    INIT_IS_ZERO(dds_info_t, DDS_INFO_INIT);
    INIT_IS_ZERO(dds_profile_t, DDS_PROFILE_INIT);
    INIT_IS_ZERO(dds_stats_t, DDS_STATS_INIT);
    const dds_comm_ops_t alone = DDS_COMM_OPS_INIT;
    if (alone.struct_size != sizeof alone || alone.rank != 0 || alone.size != 1)
        bad++;

    /* The header and the library that is loaded are of one version. */
    int major = -1, minor = -1, patch = -1;
    dds_version(&major, &minor, &patch);
    if (major != DDSTORE_VERSION_MAJOR || minor != DDSTORE_VERSION_MINOR ||
        patch != DDSTORE_VERSION_PATCH) {
        fprintf(stderr, "the library says %d.%d.%d\n", major, minor, patch);
        bad++;
    }
    return bad != 0;
}
