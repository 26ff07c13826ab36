/* Ranks that are slow and not dead: they come late to a collective call, compute while their rows are
 * read, or are stopped for longer than anybody waits.  The argument is the name of a case.
 * DDS_TEST_LATE_S says how late (3); the deadline of reads (DDSTORE_TIMEOUT_S) is meant to be
 * shorter.  Past 30 s the log must name whom the others wait for. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "mpi_world.h"
#include "support.h"

enum { kRows = 40, kRow = 600, kGivenUp = 2 /* s: the deadline that a stop outlasts */ };

static int late_s(void)
{
    const char *text = getenv("DDS_TEST_LATE_S");
    return text ? atoi(text) : 3;
}

static int named; /* lines of the log that say who is missing */

static void listen(void *ctx, int level, const char *text)
{
    (void)level;
    named += strstr(text, "has waited 30 s for") && strstr(text, ctx);
}

static bool is_late(void) { return my_rank == ranks - 1; }

static void begin_waiting(void)
{
    static char who[24];
    const char *node = getenv("DDSTORE_NODE");
    snprintf(who, sizeof who, "rank %d", ranks - 1);
    ok(dds_set_log(listen, node ? "another node" : who));
    named = 0;
    if (is_late())
        sleep_ms(1000 * late_s());
}

static void end_waiting(double begin)
{
    const double waited = seconds() - begin;
    ok(dds_set_log(NULL, NULL));
    if (is_late())
        return;
    assert_true(waited > late_s() - 0.5 && waited < late_s() + 5);
    assert_int_equal(named, late_s() > 30);
}

static void add_filled(const char *name, size_t row)
{
    char *data = must_alloc(kRows * row);
    fill_rows(data, 1, 0, my_rank * kRows, kRows, row);
    ok(dds_add(store, name, kRows, (int64_t)row, DDS_UINT8, data, NULL));
    free(data);
}

static void read_some(const char *name)
{
    static char out[kRows * kRow];
    int64_t rows[kRows];
    uint64_t random = (uint64_t)my_rank;
    for (int i = 0; i < kRows; i++)
        rows[i] = random_below(&random, kRows * ranks);
    ok(dds_get_batch(store, name, kRows, rows, out, sizeof out));
    for (int i = 0; i < kRows; i++)
        check_row(out + i * kRow, 1, 0, rows[i], kRow);
}

/* ... and nothing was poisoned by the wait. */
static void all_go_on(void)
{
    ok(dds_epoch_begin(store));
    read_some("x");
    ok(dds_epoch_end(store));
    ok(dds_drop(store, "x"));
}

static void a_rank_that_comes_late_to_an_add_is_waited_for(void **state)
{
    (void)state;
    meet();
    const double begin = seconds();
    begin_waiting();
    add_filled("x", kRow);
    end_waiting(begin);
    all_go_on();
}

static void a_rank_that_comes_late_to_an_epoch_is_waited_for(void **state)
{
    (void)state;
    add_filled("x", kRow);
    const double begin = seconds();
    begin_waiting();
    ok(dds_epoch_begin(store));
    end_waiting(begin);
    read_some("x");
    ok(dds_epoch_end(store));
    all_go_on();
}

static void a_rank_that_comes_late_to_a_collective_read_is_waited_for(void **state)
{
    (void)state;
    static char out[kRows * kRow];
    int64_t rows[kRows];
    uint64_t random = (uint64_t)my_rank + 7;
    add_filled("x", kRow);
    for (int i = 0; i < kRows; i++)
        rows[i] = random_below(&random, kRows * ranks);
    const double begin = seconds();
    begin_waiting();
    ok(dds_get_batch_all(store, "x", kRows, rows, out, sizeof out));
    end_waiting(begin);
    for (int i = 0; i < kRows; i++)
        check_row(out + i * kRow, 1, 0, rows[i], kRow);
    all_go_on();
}

/* Makes no call of MPI, and none of the library. */
static void compute(double how_long)
{
    volatile double sum = 0;
    for (const double end = seconds() + how_long; seconds() < end;)
        for (int i = 0; i < 1000; i++)
            sum += i;
}

static void a_target_that_computes_is_waited_for(void **state)
{
    (void)state;
    char out[kRow];
    add_filled("x", kRow);
    meet();
    const double begin = seconds();
    if (is_late()) {
        compute(late_s());
    } else {
        const int64_t row = (ranks - 1) * kRows + my_rank;
        ok(dds_get(store, "x", row, 1, out, kRow));
        check_row(out, 1, 0, row, kRow);
        print_message("rank %d waited %.2f s for a row\n", my_rank, seconds() - begin);
    }
    dds_stats_t stats;
    stats_of(store, &stats);
    assert_int_equal(stats.timeouts, 0);
    all_go_on();
}

/* A rank that waits looks for what others want of it between two naps, and must then serve more than
 * one row of them. */
static void a_rank_that_waits_serves_many_rows_between_two_naps(void **state)
{
    (void)state;
    enum { kBatches = 50 };
    static char out[kRows * kRow];
    int64_t rows[kRows];
    double best = 1;
    add_filled("x", kRow);
    for (int i = 0; i < kRows; i++)
        rows[i] = (ranks - 1) * kRows + i * 7 % kRows;
    for (int i = 0; my_rank == 0 && i < kBatches; i++) {
        if (i == 0)
            sleep_ms(100); /* until the others nap */
        const double begin = seconds();
        ok(dds_get_batch(store, "x", kRows, rows, out, sizeof out));
        best = seconds() - begin < best ? seconds() - begin : best;
    }
    if (my_rank == 0) {
        for (int i = 0; i < kRows; i++)
            check_row(out + i * kRow, 1, 0, rows[i], kRow);
        print_message("rank 0 read %d rows in %.0f us at best\n", kRows, 1e6 * best);
        assert_true(best < kRows * 100e-6); /* a nap is of 200 us */
    }
    all_go_on();
}

/* ---- Reads that were given up. */

static pid_t pid_of_last(void)
{
    pid_t mine = getpid(), all[64];
    assert_true(ranks <= 64);
    ok(dds_comm_allgather(world, &mine, sizeof mine, all));
    return all[ranks - 1];
}

/* True where it timed out; some MPIs read the memory of a process that is stopped. */
static bool read_of_the_stopped(char *out, int64_t row, size_t bytes)
{
    const double begin = seconds();
    const int code = dds_get(store, "x", row, 1, out, bytes);
    const double took = seconds() - begin;
    if (code == DDS_SUCCESS) {
        check_row(out, 1, 0, row, bytes);
        print_message("this MPI reads of a stopped process\n");
        return false;
    }
    fails(code, DDS_ERR_TIMEOUT, "x", "DDSTORE_COLLECTIVE_TIMEOUT_S");
    assert_true(took > kGivenUp - 0.1 && took < kGivenUp + 1);
    return true;
}

static uint64_t quarantined(void)
{
    dds_stats_t stats;
    stats_of(store, &stats);
    return stats.quarantined_bytes;
}

static void read_rows_of_a_stopped_rank(size_t bytes, bool staged)
{
    const pid_t last = pid_of_last();
    const int64_t row = (ranks - 1) * kRows + 3;
    const size_t room = (bytes + 4095) / 4096 * 4096;
    add_filled("x", bytes);
    ok(dds_set_timeout(store, 0, 1000 * kGivenUp));
    meet();
    if (my_rank == 0) {
        char *out = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        assert_true(out != MAP_FAILED);
        assert_int_equal(kill(last, SIGSTOP), 0);
        sleep_ms(100);
        const bool given_up = read_of_the_stopped(out, row, bytes);
        if (staged) /* it can be written to no more */
            assert_int_equal(mprotect(out, room, PROT_NONE), 0);
        assert_int_equal(quarantined(), given_up && !staged ? bytes : 0);
        if (given_up && !staged)
            assert_non_null(strstr(dds_last_error(), "quarantined_bytes"));
        assert_int_equal(kill(last, SIGCONT), 0);
        char *again = must_alloc(bytes);
        for (int i = 0; i < 20; i++) {
            ok(dds_get(store, "x", row + i, 1, again, bytes));
            check_row(again, 1, 0, row + i, bytes);
        }
        free(again);
        for (const double end = seconds() + 10; quarantined() > 0 && seconds() < end;)
            sleep_ms(1);
        assert_int_equal(quarantined(), 0);
        munmap(out, room);
        ok(dds_set_timeout(store, 0, 0));
    } else {
        ok(dds_set_timeout(store, 0, 0));
    }
    ok(dds_epoch_begin(store)); /* the others wait here, and serve meanwhile */
    ok(dds_epoch_end(store));
    ok(dds_drop(store, "x"));
}

static void a_short_row_that_was_given_up_is_not_written_later(void **state)
{
    (void)state;
    read_rows_of_a_stopped_rank(16 << 10, true);
    read_rows_of_a_stopped_rank(100, true);
}

static void a_long_row_that_was_given_up_is_quarantined_until_it_has_come(void **state)
{
    (void)state;
    read_rows_of_a_stopped_rank((16 << 10) + 1, false);
    read_rows_of_a_stopped_rank(1 << 20, false);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rank_that_comes_late_to_an_add_is_waited_for),
        cmocka_unit_test(a_rank_that_comes_late_to_an_epoch_is_waited_for),
        cmocka_unit_test(a_rank_that_comes_late_to_a_collective_read_is_waited_for),
        cmocka_unit_test(a_target_that_computes_is_waited_for),
        cmocka_unit_test(a_rank_that_waits_serves_many_rows_between_two_naps),
        cmocka_unit_test(a_short_row_that_was_given_up_is_not_written_later),
        cmocka_unit_test(a_long_row_that_was_given_up_is_quarantined_until_it_has_come),
    };
    cmocka_set_test_filter(argc > 1 ? argv[1] : NULL);
    return run_group_with_store(tests);
}
