/* ddstore.h - a distributed in-memory store of rows.
 *
 * Every rank holds a shard of each variable; any rank reads any row by its global index, one-sided.
 *
 * Conventions that hold for every function here:
 *   - It returns DDS_SUCCESS (0) or one of the DDS_ERR_* classes below.  dds_last_error() then tells
 *     the detail: which rank, variable and value, and what to do.  Outputs are set only on success.
 *   - Rows count from 0 along axis 0.  Counts and rows are int64_t, sizes in bytes are size_t.
 *   - A `name` is 1 to 255 bytes of UTF-8, compared byte by byte.
 *   - Handles are checked: one that was freed or never given out is DDS_ERR_STATE, not a crash.
 *   - Option structs begin with their size (DDS_*_INIT sets it); zero means default everywhere, and
 *     NULL means all defaults.  Unknown flags are errors.
 *   - Threads: any, concurrently, unless said.  Collective calls come from one thread at a time and
 *     in the same order on every rank; they end with the same code on every rank.
 *   - Deadlines: `read` (30 s without progress) and `collective` (1800 s), see dds_set_timeout.
 *     A rank that is known to be dead ends a wait at once with DDS_ERR_PEER.
 *   - The library never prints, exits, aborts or installs a signal handler.
 */
#ifndef DDSTORE_H
#define DDSTORE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define DDS_API __attribute__((visibility("default")))
#else
#define DDS_API
#endif

#define DDSTORE_VERSION_MAJOR 0
#define DDSTORE_VERSION_MINOR 1
#define DDSTORE_VERSION_PATCH 0

/* ---- Errors ---------------------------------------------------------------------------------- */

#define DDS_SUCCESS         0
#define DDS_ERR_ARG         1  /* an argument is NULL, negative, malformed or too small */
#define DDS_ERR_RANGE       2  /* a row or a range is past the end */
#define DDS_ERR_TYPE        3  /* no such element type */
#define DDS_ERR_NOTFOUND    4  /* no variable of that name */
#define DDS_ERR_EXISTS      5  /* a variable of that name is there already */
#define DDS_ERR_MISMATCH    6  /* the ranks of a collective call do not agree */
#define DDS_ERR_OVERFLOW    7  /* a size does not fit in 63 bits */
#define DDS_ERR_TIMEOUT     8  /* a deadline passed */
#define DDS_ERR_PEER        9  /* another rank died or left; dds_last_error_rank() tells which */
#define DDS_ERR_POISONED    10 /* an earlier collective call was not completed: reads only */
#define DDS_ERR_STALE       11 /* the data belongs to an earlier run */
#define DDS_ERR_CORRUPT     12 /* a file or a message is damaged */
#define DDS_ERR_VERSION     13 /* another version of the library wrote it */
#define DDS_ERR_PERM        14 /* permission was refused */
#define DDS_ERR_NOSPC       15 /* the file system is full */
#define DDS_ERR_IO          16 /* a file or a socket failed; the text has errno */
#define DDS_ERR_NOMEM       17 /* no memory */
#define DDS_ERR_LIMIT       18 /* a limit of the system was hit: descriptors, locked memory, cgroup */
#define DDS_ERR_STATE       19 /* the handle is not open, or the call does not fit its state */
#define DDS_ERR_FORKED      20 /* the handle belongs to the parent process */
#define DDS_ERR_INTERRUPTED 21 /* the interrupt check said so */
#define DDS_ERR_DEVICE      22 /* a GPU failed */
#define DDS_ERR_UNSUPPORTED 23 /* not possible with these peers, this method or this machine */
#define DDS_ERR_BUSY        24 /* in use */
#define DDS_ERR_TRUNCATED   25 /* the buffer is too small; the size needed is set */
#define DDS_ERR_INTERNAL    26 /* a bug in the library */

/* Set the version of the library that is loaded; each pointer may be NULL. */
DDS_API void dds_version(int *major, int *minor, int *patch);

/* Fixed text, and the name of the macro, for any int.  Static storage. */
DDS_API const char *dds_strerror(int code);
DDS_API const char *dds_error_name(int code);

/* The detail of this thread's last failure, never NULL; and the rank it is about, or -1.
 * The text is valid until this thread's next failing call. */
DDS_API const char *dds_last_error(void);
DDS_API int dds_last_error_rank(void);

/* Call `check(ctx)` at least every 100 ms in each thread that waits inside a dds_ call; non-zero
 * ends the wait with DDS_ERR_INTERRUPTED.  NULL removes it.  Process-wide. */
DDS_API int dds_set_interrupt(int (*check)(void *ctx), void *ctx);

#define DDS_LOG_WARN  1
#define DDS_LOG_INFO  2
#define DDS_LOG_DEBUG 3

/* Send what the library has to say to `fn`, from the thread that is inside a dds_ call.  NULL, the
 * default, keeps it silent.  `text` has no newline and is valid during the call.  Process-wide. */
DDS_API int dds_set_log(void (*fn)(void *ctx, int level, const char *text), void *ctx);

/* ---- Types ----------------------------------------------------------------------------------- */

#define DDS_BOOL       1
#define DDS_INT8       2
#define DDS_INT16      3
#define DDS_INT32      4
#define DDS_INT64      5
#define DDS_UINT8      6
#define DDS_UINT16     7
#define DDS_UINT32     8
#define DDS_UINT64     9
#define DDS_FLOAT16    10
#define DDS_BFLOAT16   11
#define DDS_FLOAT32    12
#define DDS_FLOAT64    13
#define DDS_COMPLEX64  14
#define DDS_COMPLEX128 15
#define DDS_BYTES(n)   (0x40000000 | (n)) /* n opaque bytes an element, 1 <= n < 2^30 */

/* Bytes of one element; 0 where `type` is no type. */
DDS_API size_t dds_type_size(int type);

typedef struct dds_comm_s *dds_comm_t;
typedef struct dds_store_s *dds_store_t;
typedef struct dds_request_s *dds_request_t;

/* ---- Communicators: who the ranks are.  Used to start; data never goes through them ---------- */

/* The caller's own allgather, for launchers that have one (torch.distributed, PMIx, threads ...).
 * `allgather` sends `bytes` at `in` to every rank and fills `out` with size x bytes in rank order;
 * it returns 0 or a DDS_ERR_*, after at most about `timeout_ms`.  It is called from the thread that
 * is inside a collective dds_ call.  `free`, or NULL, is called once, when the last user is gone. */
typedef struct dds_comm_ops_s {
    uint32_t struct_size; /* set by DDS_COMM_OPS_INIT */
    uint32_t flags;       /* 0 */
    int32_t rank, size;
    int (*allgather)(void *ctx, const void *in, size_t bytes, void *out, int timeout_ms);
    void (*free)(void *ctx);
} dds_comm_ops_t;
#define DDS_COMM_OPS_INIT { (uint32_t)sizeof(dds_comm_ops_t), 0, 0, 1, NULL, NULL }

/* The functions and constants of one MPI, for dds_comm_mpi_table().  <ddstore_mpi.h> fills it from the
 * caller's mpi.h.  Each function is called with the types that the MPI standard gives it, where a
 * handle is an int (handle_size 4) or a pointer (8); the constants are handles as (uintptr_t). */
typedef void (*dds_mpi_fn_t)(void);
typedef struct dds_mpi_table_s {
    uint32_t struct_size;    /* sizeof(dds_mpi_table_t) */
    uint32_t flags;          /* 0 */
    int32_t handle_size;     /* 4 or 8 */
    int32_t status_size;     /* of an MPI_Status */
    int32_t status_error;    /* where in it MPI_ERROR is */
    int32_t thread_multiple; /* MPI_THREAD_MULTIPLE */
    int32_t mode_nocheck;    /* MPI_MODE_NOCHECK */
    int32_t reserved;        /* 0 */
    uint64_t byte, comm_null, comm_self, win_null, info_null, request_null, errors_return;
    void *in_place, *status_ignore, *statuses_ignore;
    dds_mpi_fn_t Initialized, Finalized, Query_thread, Get_library_version, Error_class,
        Error_string, Comm_rank, Comm_size, Comm_idup, Comm_free, Comm_set_errhandler,
        Comm_create_keyval, Comm_free_keyval, Comm_set_attr, Ibarrier, Iallgather, Iallgatherv,
        Ialltoallv, Test, Testsome, Win_create, Win_free, Win_set_errhandler, Win_lock_all,
        Win_unlock_all, Win_sync, Rget;
} dds_mpi_table_t;

/* This process alone.  Local. */
DDS_API int dds_comm_self(dds_comm_t *comm);

/* `size` processes that meet in the directory `dir`, which all of them see; it is created 0700 where
 * it is missing, and NULL takes DDSTORE_HANDSHAKE_DIR.  `ns` names this group in it; NULL takes s0, s1, ... in this process's order of
 * creation.  Collective.  `timeout_ms` bounds the meeting; 0: DDSTORE_HANDSHAKE_TIMEOUT_S. */
DDS_API int dds_comm_file(const char *dir, const char *ns, int rank, int size, int timeout_ms,
                          dds_comm_t *comm);

/* The ranks of an MPI communicator, which is duplicated and may be freed.  `comm` points to the
 * MPI_Comm, of `comm_size` bytes.  The MPI is the one that this process has initialised; where there
 * are several, `object` is a file bound to the one that is meant (mpi4py's MPI.__file__), else NULL.
 * Any thread, whatever level of threads MPI gives.  Collective.  Deadline: collective. */
DDS_API int dds_comm_mpi(const void *comm, size_t comm_size, const char *object,
                         dds_comm_t *ddscomm);

/* The same for the integer that Fortran has for a communicator. */
DDS_API int dds_comm_mpi_f(int fcomm, dds_comm_t *comm);

/* The same for the MPI of `table`, whatever it is and however it is linked; both are copied. */
DDS_API int dds_comm_mpi_table(const dds_mpi_table_t *table, const void *comm,
                               dds_comm_t *ddscomm);

/* The caller's allgather; `ops` is copied, `ctx` must live until `free` is called.  Collective. */
DDS_API int dds_comm_custom(const dds_comm_ops_t *ops, void *ctx, dds_comm_t *comm);

DDS_API int dds_comm_rank(dds_comm_t comm, int *rank);
DDS_API int dds_comm_size(dds_comm_t comm, int *size);

/* Collective.  Deadline: collective. */
DDS_API int dds_comm_barrier(dds_comm_t comm);

/* Every rank gives `bytes`, the same number; `out` gets size x bytes in rank order.  Collective. */
DDS_API int dds_comm_allgather(dds_comm_t comm, const void *in, size_t bytes, void *out);

/* Every rank gives as many bytes as it likes; `out` gets them one after another in rank order, and
 * `sizes`, one per rank, their lengths.  DDS_ERR_TRUNCATED where `capacity` is too small on any
 * rank, on every rank; `sizes` is set then too.  Collective. */
DDS_API int dds_comm_allgatherv(dds_comm_t comm, const void *in, size_t bytes, void *out,
                                size_t capacity, size_t *sizes);

/* Local; idempotent; sets NULL.  Stores that were made on it keep working. */
DDS_API int dds_comm_free(dds_comm_t *comm);

/* ---- Stores ---------------------------------------------------------------------------------- */

#define DDS_METHOD_MPI    0 /* between nodes: what the communicator has */
#define DDS_METHOD_FABRIC 1 /* between nodes: libfabric */
#define DDS_METHOD_FILE   2 /* readers from other jobs */

typedef struct dds_options_s {
    uint32_t struct_size;          /* set by DDS_OPTIONS_INIT */
    uint32_t flags;                /* 0 */
    int32_t method;                /* DDS_METHOD_*: the same on every rank */
    int32_t timeout_ms;            /* deadline of reads; 0: DDSTORE_TIMEOUT_S */
    int32_t collective_timeout_ms; /* of collectives; 0: DDSTORE_COLLECTIVE_TIMEOUT_S */
    int32_t reserved;              /* 0 */
    const char *handshake_dir;     /* method 2; NULL: DDSTORE_HANDSHAKE_DIR */
    const char *nic_map;           /* methods 1, 2: instead of DDSTORE_NIC_MAP */
    const char *const *hints;      /* "key=value" strings, NULL-terminated */
} dds_options_t;
#define DDS_OPTIONS_INIT { (uint32_t)sizeof(dds_options_t), 0, 0, 0, 0, 0, NULL, NULL, NULL }

/* Open a store over the ranks of `comm`, which may be freed afterwards.  Ranks of one node share
 * memory whatever the method; those of other nodes are read over MPI in method 0, where `comm` must
 * be one of MPI, and over libfabric in method 1, else this is DDS_ERR_UNSUPPORTED.  Collective.
 * Deadline: collective. */
DDS_API int dds_init(dds_comm_t comm, const dds_options_t *options, dds_store_t *store);

/* Open a store that reads what a core job of `n_core` ranks, opened with method 2 in the directory
 * `handshake_dir`, publishes there: on its node from shared memory, on others over libfabric.  Any
 * number of jobs may, at any time, before the core job too; its rank is -1.  dds_join brings a variable
 * in.  After the end of an owner of this node, reads are DDS_ERR_STALE.  Local. */
DDS_API int dds_attach(const char *handshake_dir, int n_core, const dds_options_t *options,
                       dds_store_t *store);

/* Open a store that reads the variables that `store` has now, and nothing else: in a forked child,
 * where `store` is the parent's handle, or in the same process.  It has connections of its own.  In a
 * child rows that lie in callers' memory (DDS_NOCOPY), or on other nodes in method 0, are
 * DDS_ERR_UNSUPPORTED.  Close it with dds_free.  Local. */
DDS_API int dds_fork_reader(dds_store_t store, dds_store_t *reader);

/* Change the deadlines, in ms; 0 takes the default again, a negative one is DDS_ERR_ARG.  Local. */
DDS_API int dds_set_timeout(dds_store_t store, int read_ms, int collective_ms);

DDS_API int dds_rank(dds_store_t store, int *rank);
DDS_API int dds_size(dds_store_t store, int *size);

/* Close the store and give its memory back, except shards that have a view of dds_local().
 * Local, never waits more than a second for readers; idempotent; sets NULL. */
DDS_API int dds_free(dds_store_t *store);

/* ---- Variables ------------------------------------------------------------------------------- */

#define DDS_NOCOPY    1 /* the shard stays in the caller's memory until the drop or the free */
#define DDS_HUGEPAGES 2 /* a segment of its own, advised to use huge pages */

#define DDS_MEM_HOST 0

typedef struct dds_var_options_s {
    uint32_t struct_size; /* set by DDS_VAR_OPTIONS_INIT */
    uint32_t flags;       /* DDS_NOCOPY, DDS_HUGEPAGES */
    int32_t memory;       /* DDS_MEM_HOST */
    int32_t device;       /* 0 */
    int32_t ndim;         /* of a row, at most 8; 0: `disp` alone */
    int32_t reserved;     /* 0 */
    const int64_t *shape; /* ndim extents whose product is disp */
    const void *meta;     /* the caller's schema, the same on every rank */
    size_t meta_bytes;    /* at most 64 KiB */
} dds_var_options_t;
#define DDS_VAR_OPTIONS_INIT { (uint32_t)sizeof(dds_var_options_t), 0, 0, 0, 0, 0, NULL, NULL, 0 }

/* Add variable `name`: this rank's `nrows` rows of `disp` elements of `type` at `data`, which is
 * copied and may be reused on return (not with DDS_NOCOPY).  The global rows are the shards in rank
 * order; nrows may differ and be 0, disp may be 0, everything else is the same on every rank.
 * Collective.  Deadline: collective. */
DDS_API int dds_add(dds_store_t store, const char *name, int64_t nrows, int64_t disp, int type,
                    const void *data, const dds_var_options_t *options);

/* The same, zeroed, to be filled by dds_update or through dds_local.  Collective. */
DDS_API int dds_create(dds_store_t store, const char *name, int64_t nrows, int64_t disp, int type,
                       const dds_var_options_t *options);

/* Overwrite rows [first, first + nrows) of this rank's own shard; `first` counts within the shard.
 * Library memory only: DDS_ERR_UNSUPPORTED with DDS_NOCOPY.  Local.  A read that begins after a
 * synchronisation that follows the update sees it. */
DDS_API int dds_update(dds_store_t store, const char *name, int64_t first, int64_t nrows,
                       const void *data);

/* This rank's own shard in place: a view, which stays valid after dds_drop and dds_free until it is
 * given back.  Each call is one view; a shard without rows has none, and `*data` is NULL.  Local. */
DDS_API int dds_local(dds_store_t store, const char *name, int64_t *nrows, void **data);

/* Give one view of dds_local back; `data` may be NULL.  Needs no store.  Local. */
DDS_API int dds_release_local(void *data);

/* A reader of another job (dds_attach): wait until the core job publishes `name`, and read it from now
 * on.  The first variable pins the reader to its job's run: another run is DDS_ERR_STALE.  Local.
 * Deadline: DDSTORE_HANDSHAKE_TIMEOUT_S. */
DDS_API int dds_join(dds_store_t store, const char *name);

/* Method 2: tell readers that the variable is whole as of now, by a version higher than the last.
 * Collective.  Deadline: collective. */
DDS_API int dds_publish(dds_store_t store, const char *name, int64_t version);

/* Wait until version `version` of the variable, or a later one, is published; `*seen`, or NULL, is the
 * one that is.  `timeout_ms` 0: the deadline of reads.  Local. */
DDS_API int dds_wait_version(dds_store_t store, const char *name, int64_t version, int timeout_ms,
                             int64_t *seen);

/* Remove the variable.  Waits for this rank's own readers.  Collective. */
DDS_API int dds_drop(dds_store_t store, const char *name);

typedef struct dds_info_s {
    uint32_t struct_size; /* set by DDS_INFO_INIT */
    uint32_t flags;       /* as given to dds_add or dds_create */
    int32_t type, memory, device;
    int32_t ndim;     /* of a row */
    int64_t shape[8]; /* of a row; ndim 0: disp alone */
    int64_t rows;     /* of all ranks */
    int64_t disp;     /* elements a row */
    int64_t first;    /* this rank's first global row */
    int64_t nrows;    /* this rank's rows */
    uint64_t itemsize, meta_bytes;
    int64_t version; /* last published, 0: none */
} dds_info_t;
#define DDS_INFO_INIT { (uint32_t)sizeof(dds_info_t), 0, 0, 0, 0, 0, { 0, 0, 0, 0, 0, 0, 0, 0 }, \
                        0, 0, 0, 0, 0, 0, 0 }

/* Describe the variable.  Set info->struct_size first.  Local. */
DDS_API int dds_info(dds_store_t store, const char *name, dds_info_t *info);

/* Copy the caller's schema out; `*bytes` is its size, also on DDS_ERR_TRUNCATED.  `NULL, 0` just
 * asks for the size.  Local. */
DDS_API int dds_meta(dds_store_t store, const char *name, void *buf, size_t capacity,
                     size_t *bytes);

/* Who holds a global row, and where in its shard; either output may be NULL.  Local. */
DDS_API int dds_owner(dds_store_t store, const char *name, int64_t row, int *rank,
                      int64_t *local_row);

/* The first global row of each rank and, last, the total: size + 1 numbers.  Local. */
DDS_API int dds_partition(dds_store_t store, const char *name, int64_t *first);

/* The names of all variables in order of creation, each ended by a NUL; `*bytes` as in dds_meta. */
DDS_API int dds_list(dds_store_t store, char *names, size_t capacity, size_t *bytes);

/* ---- Reading --------------------------------------------------------------------------------- *
 * All rows are checked before a byte moves; `out` is not touched beyond its rows; nothing but `out`
 * is touched after an error, and its content is unspecified then.  Deadline: read. */

/* Copy rows [first, first + nrows) of all ranks' rows into `out`.  The range may cross shards.
 * Local: the other ranks do nothing. */
DDS_API int dds_get(dds_store_t store, const char *name, int64_t first, int64_t nrows, void *out,
                    size_t out_bytes);

/* Copy the `n` rows listed in `rows` into `out`, in that order.  Rows may repeat and lie on any
 * rank.  `rows` and `out` stay yours; `out_bytes` must hold n rows.  Local. */
DDS_API int dds_get_batch(dds_store_t store, const char *name, int64_t n, const int64_t *rows,
                          void *out, size_t out_bytes);

/* The same as one call of all ranks: n may differ and be 0, and a bad row on one rank fails on every
 * rank.  Collective.  Deadline: collective. */
DDS_API int dds_get_batch_all(dds_store_t store, const char *name, int64_t n, const int64_t *rows,
                              void *out, size_t out_bytes);

/* Start a dds_get_batch and return.  `rows`, `out` and `status` (one DDS_ERR_* a row, or NULL) must
 * stay untouched until the request ends: by itself, at the latest at the deadline of reads.  Local. */
DDS_API int dds_iget_batch(dds_store_t store, const char *name, int64_t n, const int64_t *rows,
                           void *out, size_t out_bytes, int32_t *status, dds_request_t *request);

/* Wait for the request's end: the handle becomes NULL and the read's own code is returned.  A wait
 * that is over before, after `timeout_ms` (0: the deadline of reads), is DDS_ERR_TIMEOUT; the handle
 * stays and the read goes on.  A NULL request has ended.  Local; one thread a request. */
DDS_API int dds_wait(dds_request_t *request, int timeout_ms);

/* Move the read on and tell whether it has ended, and then as dds_wait.  Never waits. */
DDS_API int dds_test(dds_request_t *request, int *done);

/* Wait for all of `n` requests; the code of the first that failed, in their order. */
DDS_API int dds_waitall(int n, dds_request_t *requests, int timeout_ms);

/* Wait until one of `n` requests has ended; its place goes to `*index`, its code is returned.
 * `*index` is -1, and the code DDS_SUCCESS, where all were NULL. */
DDS_API int dds_waitany(int n, dds_request_t *requests, int timeout_ms, int *index);

/* End the request without its data.  `out` is the caller's again on return.  Sets NULL. */
DDS_API int dds_cancel(dds_request_t *request);

/* Tell that `buffer` will be read into again and again, so that a wire registers it once.  Slices of
 * it count.  Repeating is harmless.  It must stay allocated until unregistered or dds_free.  Local. */
DDS_API int dds_register_recv(dds_store_t store, void *buffer, size_t bytes);
DDS_API int dds_unregister_recv(dds_store_t store, void *buffer);

/* Method 0: after dds_epoch_begin every rank sees all updates made before it; after dds_epoch_end no
 * rank still reads.  Collective.  Methods 1 and 2: no-ops. */
DDS_API int dds_epoch_begin(dds_store_t store);
DDS_API int dds_epoch_end(dds_store_t store);

typedef struct dds_profile_s {
    uint32_t struct_size; /* set by DDS_PROFILE_INIT */
    uint32_t flags;
    uint64_t calls, rows;  /* reads of the variable, rows they named */
    /* Wires only: */
    uint64_t mr_miss;      /* reads into a buffer that had to be registered and was not */
    uint64_t lock_wait_ns; /* waiting for other threads' reads */
    uint64_t mr_ns, read_ns, cq_ns; /* registering (0: no read does), posting, completing */
} dds_profile_t;
#define DDS_PROFILE_INIT { (uint32_t)sizeof(dds_profile_t), 0, 0, 0, 0, 0, 0, 0, 0 }

/* Counts of this process's reads of `name`; zero unless DDSTORE_PROFILE is 1 at dds_init.  Local. */
DDS_API int dds_profile(dds_store_t store, const char *name, dds_profile_t *profile);

#define DDS_PATH_SELF   0
#define DDS_PATH_SHM    1
#define DDS_PATH_CMA    2
#define DDS_PATH_FABRIC 3
#define DDS_PATH_MPI    4
#define DDS_PATH_DEVICE 5

typedef struct dds_stats_s {
    uint32_t struct_size; /* set by DDS_STATS_INIT */
    uint32_t flags;
    uint64_t rows[8], bytes[8]; /* read, by DDS_PATH_* */
    uint64_t staged_bytes;      /* of these, through library memory */
    uint64_t retries, timeouts, dead_peers;
    uint64_t arenas, arena_bytes, used_bytes; /* own: count, memory taken, of live variables */
    uint64_t peer_maps, keys, windows; /* peers' arenas mapped, registrations, MPI windows */
    uint64_t table_bytes;              /* partitions and addresses */
    uint64_t parked_bytes, quarantined_bytes; /* of the whole process */
} dds_stats_t;
#define DDS_STATS_INIT { (uint32_t)sizeof(dds_stats_t), 0, { 0, 0, 0, 0, 0, 0, 0, 0 }, \
                         { 0, 0, 0, 0, 0, 0, 0, 0 }, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/* What this rank's store has done and holds.  Set stats->struct_size first.  Local. */
DDS_API int dds_stats(dds_store_t store, dds_stats_t *stats);

/* How this rank reaches `rank`, in words, such as "shm"; cut to fit.  Local. */
DDS_API int dds_path(dds_store_t store, int rank, char *text, size_t capacity);

#ifdef __cplusplus
}
#endif

#endif /* DDSTORE_H */
