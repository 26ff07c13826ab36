/* kill -9 of one rank of a job.  The survivors go on where they can, are told whom they lost where
 * they cannot, free their store at once, and leave with _exit: MPI_Finalize waits for the dead.  The
 * argument is the name of a case. */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mpi_world.h"
#include "support.h"

enum { kRows = 50, kRow = 1000, kVictim = 2, kDeadline = 5 };

static char victim[16];

static void fill(dds_store_t to)
{
    static char data[kRows * kRow];
    fill_rows(data, 5, 0, my_rank * kRows, kRows, kRow);
    ok(dds_add(to, "x", kRows, kRow, DDS_UINT8, data, NULL));
}

/* All ranks have been here; then the victim dies. */
static void lose_one(void)
{
    snprintf(victim, sizeof victim, "rank %d", kVictim);
    ok(dds_set_timeout(store, 1000, 1000 * kDeadline));
    fill(store);
    ok(dds_epoch_begin(store));
    ok(dds_epoch_end(store));
    meet();
    if (my_rank == kVictim)
        kill(getpid(), SIGKILL);
    sleep_ms(500); /* it may have served a little longer */
}

static bool there(int rank)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/done.%d", test_dir(), rank);
    return access(path, F_OK) == 0;
}

/* Reads of the survivors are served until all of them have read: by a call that reads from none of
 * them, as Open MPI never comes back from a read of one that has left meanwhile. */
static void serve_until_all_are_done(void)
{
    int (*probe)(int, int, uintptr_t, int *, void *) = NULL;
    *(void **)&probe = mpi_function("MPI_Iprobe");
    uintptr_t comm = 0;
    memcpy(&comm, mpi_world()->comm, mpi_world()->comm_size);
    char path[4096], message[64];
    int any;
    bool all;
    snprintf(path, sizeof path, "%s/done.%d", test_dir(), my_rank);
    FILE *word = fopen(path, "we");
    assert_non_null(word);
    fclose(word);
    do {
        all = true;
        for (int rank = 0; rank < ranks; rank++)
            all = all && (rank == kVictim || there(rank));
        probe(my_rank, 0, comm, &any, message);
    } while (!all);
}

static _Noreturn void leave(void)
{
    const double begin = seconds();
    ok(dds_free(&store));
    assert_true(seconds() - begin < 1);
    if (getenv("DDS_TEST_FINALIZE")) /* by hand, to see whether it comes back */
        mpi_finish();
    char path[4096];
    snprintf(path, sizeof path, "%s/survived.%d", test_dir(), my_rank);
    FILE *word = fopen(path, "we");
    assert_non_null(word);
    fflush(NULL);
    _exit(0);
}

static void the_end_was(const char *what, int code, double took, bool same_node)
{
    print_message("rank %d: %s ended with %s after %.2f s: %s\n", my_rank, what,
                  dds_error_name(code), took, dds_last_error());
    if (same_node) {
        assert_int_equal(code, DDS_ERR_PEER);
        assert_int_equal(dds_last_error_rank(), kVictim);
        assert_non_null(strstr(dds_last_error(), victim));
        assert_true(took < 1);
    } else {
        assert_true(code == DDS_ERR_PEER || code == DDS_ERR_TIMEOUT);
        assert_true(took < kDeadline + 1);
    }
}

static void collectives_end(bool same_node)
{
    static char out[kRow];
    const int64_t row = kVictim * kRows;
    double begin = seconds();
    const int code = my_rank % 2 ? dds_get_batch_all(store, "x", 1, &row, out, kRow)
                                 : dds_get_batch_all(store, "x", 0, NULL, NULL, 0);
    the_end_was("a collective", code, seconds() - begin, same_node);
    begin = seconds();
    fails_plainly(dds_epoch_begin(store), DDS_ERR_POISONED);
    assert_true(seconds() - begin < 0.5);
}

static void read_rows(int of)
{
    char out[kRow];
    for (int64_t row = of * kRows; row < (of + 1) * kRows; row += 7) {
        ok(dds_get(store, "x", row, 1, out, kRow));
        check_row(out, 5, 0, row, kRow);
    }
}

static void read_rows_of_the_dead(bool same_node)
{
    char out[kRow];
    const double begin = seconds();
    const int code = dds_get(store, "x", kVictim * kRows + 1, 1, out, kRow);
    the_end_was("a read of the dead", code, seconds() - begin, same_node);
}

static void rows_of_a_killed_rank_of_the_node_are_still_read(void **state)
{
    (void)state;
    lose_one();
    for (int rank = 0; rank < ranks; rank++)
        read_rows(rank);
    collectives_end(true);
    for (int rank = 0; rank < ranks; rank++)
        read_rows(rank);
    leave();
}

static void over_mpi_rows_of_a_killed_rank_are_a_peer_that_died(void **state)
{
    (void)state;
    lose_one();
    read_rows_of_the_dead(true);
    for (int rank = 0; rank < ranks; rank++)
        if (rank != kVictim)
            read_rows(rank);
    serve_until_all_are_done();
    collectives_end(true);
    leave();
}

/* Ranks 0 and 1 are on one node, 2 and 3 on another. */
static void between_nodes_a_killed_rank_ends_calls_at_their_deadline(void **state)
{
    (void)state;
    const bool same_node = my_rank / 2 == kVictim / 2;
    lose_one();
    if (same_node)
        read_rows(kVictim); /* mapped */
    else
        read_rows_of_the_dead(false);
    for (int rank = my_rank / 2 * 2; rank < my_rank / 2 * 2 + 2; rank++)
        read_rows(rank);
    collectives_end(same_node);
    leave();
}

static int open_on_nodes(void **state)
{
    open_world(state);
    signal(SIGUSR1,
           SIG_IGN); /* by which MPICH's mpirun tells of a death; MPICH's own handler fails */
    if (getenv("DDS_TEST_PAIRS"))
        setenv("DDSTORE_NODE", my_rank < 2 ? "a" : "b", 1);
    store = open_store();
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_of_a_killed_rank_of_the_node_are_still_read),
        cmocka_unit_test(over_mpi_rows_of_a_killed_rank_are_a_peer_that_died),
        cmocka_unit_test(between_nodes_a_killed_rank_ends_calls_at_their_deadline),
    };
    cmocka_set_test_filter(argc > 1 ? argv[1] : NULL);
    return cmocka_run_group_tests(tests, open_on_nodes, close_world_and_store);
}
