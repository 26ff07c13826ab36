/* A communicator split by host has a store of its own on each, all of it in shared memory; ranks on
 * other hosts that nothing reaches are named. */
#include <stdio.h>
#include <string.h>

#include "mpi_world.h"
#include "places.h"

enum { kRows = 40, kRow = 100 };

/* The ranks of this host, in the order of `world`: an int or a pointer, as this MPI has it. */
static dds_comm_t split_by_host(void)
{
    const mpi_world_t *mpi = mpi_world();
    int (*split)(uintptr_t, int, int, uintptr_t *), (*release)(uintptr_t *);
    uintptr_t all = 0, some = 0;
    dds_comm_t comm = NULL;
    *(void **)&split = mpi_function("MPI_Comm_split");
    *(void **)&release = mpi_function("MPI_Comm_free");
    memcpy(&all, mpi->comm, mpi->comm_size);
    assert_int_equal(split(all, host_of(my_rank), my_rank, &some), 0);
    ok(dds_comm_mpi(&some, mpi->comm_size, NULL, &comm));
    assert_int_equal(release(&some), 0); /* the library has its own */
    return comm;
}

static void a_store_per_host_is_all_shared_memory(void **state)
{
    (void)state;
    int mine = -1, all = -1, expected = 0;
    char data[kRows * kRow], out[kRow], text[64];
    const uint32_t variable = (uint32_t)host_of(my_rank);
    dds_comm_t comm = split_by_host();
    dds_store_t open = NULL;
    ok(dds_init(comm, NULL, &open));
    ok(dds_comm_free(&comm));
    ok(dds_rank(open, &mine));
    ok(dds_size(open, &all));
    for (int rank = 0; rank < ranks; rank++)
        expected += host_of(rank) == host_of(my_rank);
    assert_int_equal(all, expected);

    fill_rows(data, variable, 0, mine * kRows, kRows, kRow);
    ok(dds_add(open, "x", kRows, kRow, DDS_UINT8, data, NULL));
    for (int64_t row = 0; row < all * kRows; row++) {
        ok(dds_get(open, "x", row, 1, out, kRow));
        check_row(out, variable, 0, row, kRow);
    }
    for (int rank = 0; rank < all; rank++) {
        ok(dds_path(open, rank, text, sizeof text));
        assert_string_equal(text, rank == mine ? "self" : "shm");
    }
    dds_stats_t stats;
    stats_of(open, &stats);
    assert_int_equal(stats.rows[DDS_PATH_SELF], kRows);
    assert_int_equal(stats.rows[DDS_PATH_SHM], (all - 1) * kRows);
    assert_int_equal(stats.rows[DDS_PATH_MPI], 0);
    assert_int_equal(stats.windows, 0); /* none is made where none is needed */
    close_store(&open);
}

static void ranks_that_nothing_reaches_are_named(void **state)
{
    (void)state;
    char dir[4096];
    dds_comm_t comm = NULL;
    dds_store_t open = NULL;
    snprintf(dir, sizeof dir, "%s/files", test_dir());
    /* Files are no way to read rows. */
    ok(dds_comm_file(dir, "files", my_rank, ranks, 20000, &comm));
    fails(dds_init(comm, NULL, &open), DDS_ERR_UNSUPPORTED, "rank 0 cannot reach", "another node");
    assert_int_not_equal(host_of(dds_last_error_rank()), host_of(0));
    assert_null(open);
    ok(dds_comm_barrier(comm)); /* which goes on working */
    ok(dds_comm_free(&comm));
    meet();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_store_per_host_is_all_shared_memory),
        cmocka_unit_test(ranks_that_nothing_reaches_are_named),
    };
    return cmocka_run_group_tests(tests, open_places, close_world);
}
