/* What the tests of the C API share: the ranks of the test, calls that must end in a given way, rows
 * that tell where they come from, buffers that see a write outside of them, and traffic by path. */
#ifndef SUPPORT_H
#define SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ddstore.h"

/* ---- The ranks of this test: those of MPI under an MPI (mpi_world.h), else DDS_TEST_RANK and
 * DDS_TEST_SIZE, or 0 of 1 without a guard. */
extern int my_rank, ranks;
extern dds_comm_t world;  /* all of them, open during a group of tests */
extern dds_store_t store; /* over them, where the group wants one */

int open_world(void **state);
int close_world(void **state);
int open_world_and_store(void **state);
int close_world_and_store(void **state);
int open_nothing(void **state);
#define run_alone(tests) cmocka_run_group_tests(tests, open_nothing, open_nothing)
#define run_group(tests) cmocka_run_group_tests(tests, open_world, close_world)
#define run_group_with_store(tests) \
    cmocka_run_group_tests(tests, open_world_and_store, close_world_and_store)

const char *test_dir(void); /* private to this test */
void meet(void);            /* a barrier of `world` */
/* Remove a directory where ranks met, after all are here: a meeting that failed leaves word in it for
 * those who come late, and is the launcher's to remove. */
void remove_meeting(const char *dir);
dds_store_t open_store(void);
void close_store(dds_store_t *open); /* after all ranks are here */

/* ---- Calls that must end in a given way. */
#define ok(call) check_ok((call), #call, __FILE__, __LINE__)
/* ... with `code`, and with each of the texts (NULL-terminated) in dds_last_error(). */
#define fails(call, code, ...) \
    check_fails((call), code, #call, __FILE__, __LINE__, __VA_ARGS__, (const char *)NULL)
void check_ok(int code, const char *call, const char *file, int line);
void check_fails(int code, int expected, const char *call, const char *file, int line, ...);
#define fails_plainly(call, code) fails(call, code, "")

/* ---- Rows that tell where they come from: every byte is f(variable, generation, row, place). */
void fill_rows(void *to, uint32_t variable, uint32_t generation, int64_t first, int64_t nrows,
               size_t row_bytes);
bool row_is(const void *at, uint32_t variable, uint32_t generation, int64_t row, size_t row_bytes);
#define check_row(at, variable, generation, row, row_bytes) \
    check_row_(at, variable, generation, row, row_bytes, __FILE__, __LINE__)
void check_row_(const void *at, uint32_t variable, uint32_t generation, int64_t row,
                size_t row_bytes, const char *file, int line);

/* ---- Random numbers that are the same on every rank for the same seed. */
uint64_t random_next(uint64_t *state);
int64_t random_below(uint64_t *state, int64_t bound);

/* ---- A variable in uneven shards, of rows that tell where they come from. */
typedef struct shards_s {
    const char *name;
    uint32_t variable, generation;
    size_t row_bytes;
    int64_t first[65]; /* of each rank, and the total */
    void *memory;      /* of a shard that is not copied */
} shards_t;

/* Split about `rows` rows at random, some shards empty, and add them the way the path under test
 * wants it: with DDS_NOCOPY for cma. */
void add_shards(dds_store_t to, shards_t *shards, const char *name, size_t row_bytes, int64_t rows,
                uint64_t seed);
void drop_shards(dds_store_t from, shards_t *shards);
int owner_of(const shards_t *shards, int64_t row);
static inline int64_t total_rows(const shards_t *shards) { return shards->first[ranks]; }

/* `n` rows at random, and how many of them are this rank's own. */
int64_t random_rows(const shards_t *shards, uint64_t *state, int64_t n, int64_t *rows);
#define check_batch(shards, n, rows, out) check_batch_(shards, n, rows, out, __FILE__, __LINE__)
void check_batch_(const shards_t *shards, int64_t n, const int64_t *rows, const void *out,
                  const char *file, int line);

/* ---- Memory whose last byte is followed by a page that cannot be touched, at `shift` bytes before
 * it, and that is surrounded by bytes that must stay as they are. */
void *guarded_new(size_t bytes, size_t shift);
void guarded_check(const void *memory);
void guarded_free(void *memory); /* checks, too */

/* ---- Which way the bytes went. */
int path_under_test(void); /* DDS_PATH_* by DDS_TEST_PATH: shm, cma, mpi, slow or fault */
bool wire_under_test(void);
void stats_of(dds_store_t of, dds_stats_t *stats);
/* Since `before`: so many rows of this rank's own, and of others by the path under test. */
#define check_traffic(store, before, own, others, row_bytes) \
    check_traffic_(store, before, own, others, row_bytes, __FILE__, __LINE__)
void check_traffic_(dds_store_t of, const dds_stats_t *before, int64_t own, int64_t others,
                    size_t row_bytes, const char *file, int line);

double seconds(void); /* CLOCK_MONOTONIC */
void sleep_ms(int ms);
int open_descriptors(void);
long resident_kib(void);
void *must_alloc(size_t bytes);

#endif
