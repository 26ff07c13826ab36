/* Reads that take their time or fail on the way, over the wires that only test builds have. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "support.h"

enum { kRow = 4096, kRows = 64 };

static shards_t shards;
static int64_t others[kRows]; /* rows of other ranks, no two of them neighbours */

/* A store whose peers are all reached by `wire`. */
static dds_store_t open_wire(const char *wire)
{
    char way[64];
    setenv("DDSTORE_TEST_WIRE", wire, 1);
    dds_store_t wired = open_store();
    ok(dds_path(wired, (my_rank + 1) % ranks, way, sizeof way));
    assert_non_null(strstr(way, wire[0] == 's' ? "test slow" : "test fault"));
    add_shards(wired, &shards, "x", kRow, 4 * kRows * ranks, 61);
    const int64_t first = shards.first[my_rank], next = shards.first[my_rank + 1];
    for (int64_t i = 0, row = 0; i < kRows; i++) {
        others[i] = row;
        row = (row + 2) % total_rows(&shards);
        if (others[i] >= first && others[i] < next)
            i--; /* own */
    }
    return wired;
}

static void close_wire(dds_store_t *wired)
{
    drop_shards(*wired, &shards);
    close_store(wired);
}

static void nobody_writes_into(void *memory, size_t bytes, int ms)
{
    assert_int_equal(mprotect(memory, bytes, PROT_NONE), 0);
    sleep_ms(ms); /* a late write would be a fault */
    assert_int_equal(mprotect(memory, bytes, PROT_READ | PROT_WRITE), 0);
}

static void *map_buffer(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    return memory;
}

static void a_read_without_progress_ends_at_the_deadline_and_writes_nothing_later(void **state)
{
    (void)state;
    dds_store_t slow = open_wire("slow:1500");
    char *out = map_buffer(kRow);
    dds_stats_t before, after;
    stats_of(slow, &before);
    ok(dds_set_timeout(slow, 300, 0));
    const double begin = seconds();
    fails(dds_get(slow, "x", others[0], 1, out, kRow), DDS_ERR_TIMEOUT, "rank");
    const double took = seconds() - begin;
    assert_true(took >= 0.3 && took < 1.3);
    nobody_writes_into(out, kRow, 1600);
    stats_of(slow, &after);
    assert_int_equal(after.timeouts, before.timeouts + 1);

    ok(dds_set_timeout(slow, 0, 0)); /* slow is not dead */
    ok(dds_get(slow, "x", others[0], 1, out, kRow));
    check_row(out, shards.variable, 0, others[0], kRow);
    munmap(out, kRow);
    close_wire(&slow);
}

static void a_wait_that_is_over_leaves_the_read_going(void **state)
{
    (void)state;
    dds_store_t slow = open_wire("slow:400");
    char *out = guarded_new(kRow, 0);
    dds_request_t request = NULL;
    int done = 7;
    ok(dds_iget_batch(slow, "x", 1, others, out, kRow, NULL, &request));
    double begin = seconds();
    ok(dds_test(&request, &done)); /* never waits */
    assert_true(seconds() - begin < 0.2);
    assert_int_equal(done, 0);
    fails_plainly(dds_wait(&request, 20), DDS_ERR_TIMEOUT);
    assert_non_null(request);
    ok(dds_wait(&request, 0));
    const double took = seconds() - begin;
    assert_true(took > 0.35 && took < 1.5);
    check_row(out, shards.variable, 0, others[0], kRow);
    guarded_free(out);
    close_wire(&slow);
}

static void a_request_ends_by_itself_at_the_deadline_of_reads(void **state)
{
    (void)state;
    dds_store_t slow = open_wire("slow:1500");
    char *out = map_buffer(kRow);
    int32_t status = -1;
    dds_request_t request = NULL;
    ok(dds_set_timeout(slow, 200, 0));
    ok(dds_iget_batch(slow, "x", 1, others, out, kRow, &status, &request));
    const double begin = seconds();
    fails_plainly(dds_wait(&request, 10000), DDS_ERR_TIMEOUT);
    assert_null(request); /* the read's own end, not the wait's */
    assert_true(seconds() - begin < 1.2);
    assert_int_equal(status, DDS_ERR_TIMEOUT);
    nobody_writes_into(out, kRow, 1600);
    munmap(out, kRow);
    close_wire(&slow);
}

static void progress_puts_the_deadline_off(void **state)
{
    (void)state;
    dds_store_t slow = open_wire("slow:20");
    char *out = guarded_new(kRows * kRow, 0);
    ok(dds_set_timeout(slow, 500, 0));
    ok(dds_get_batch(slow, "x", kRows, others, out, kRows * kRow));
    check_batch(&shards, kRows, others, out);
    guarded_free(out);
    close_wire(&slow);
}

static void a_cancelled_read_never_lands(void **state)
{
    (void)state;
    dds_store_t slow = open_wire("slow:300");
    char *out = map_buffer(kRow);
    dds_request_t request = NULL;
    ok(dds_iget_batch(slow, "x", 1, others, out, kRow, NULL, &request));
    const double begin = seconds();
    ok(dds_cancel(&request));
    assert_null(request);
    assert_true(seconds() - begin < 1.0);
    nobody_writes_into(out, kRow, 400);
    ok(dds_get(slow, "x", others[1], 1, out, kRow));
    check_row(out, shards.variable, 0, others[1], kRow);
    munmap(out, kRow);
    close_wire(&slow);
}

static void waitany_takes_what_is_ready_first(void **state)
{
    (void)state;
    dds_store_t slow = open_wire("slow:300");
    char *outs[3];
    dds_request_t requests[3] = {NULL, NULL, NULL};
    int index = -7;
    if (shards.first[my_rank + 1] > shards.first[my_rank]) {
        for (int i = 0; i < 3; i++) {
            const int64_t *row = i == 1 ? &shards.first[my_rank] : &others[i]; /* 1: own */
            outs[i] = guarded_new(kRow, 0);
            ok(dds_iget_batch(slow, "x", 1, row, outs[i], kRow, NULL, &requests[i]));
        }
        const double begin = seconds();
        ok(dds_waitany(3, requests, 0, &index));
        assert_int_equal(index, 1);
        assert_true(seconds() - begin < 0.25);
        fails_plainly(dds_waitany(3, requests, 10, &index), DDS_ERR_TIMEOUT);
        ok(dds_waitall(3, requests, 0));
        check_row(outs[1], shards.variable, 0, shards.first[my_rank], kRow);
        for (int i = 0; i < 3; i++)
            guarded_free(outs[i]);
    }
    close_wire(&slow);
}

/* The n-th run fails, for every n until none does. */
static void every_failure_is_told_row_by_row_and_the_store_works_on(void **state)
{
    (void)state;
    char wire[32];
    for (int n = 1;; n++) {
        snprintf(wire, sizeof wire, "fault:%d", n);
        dds_store_t faulty = open_wire(wire);
        char *out = guarded_new(kRows * kRow, 0);
        int32_t *status = guarded_new(kRows * sizeof *status, 0);
        dds_request_t request = NULL;
        memset(status, 0xff, kRows * sizeof *status);
        int code = dds_iget_batch(faulty, "x", kRows, others, out, kRows * kRow, status, &request);
        if (code == DDS_SUCCESS)
            code = dds_wait(&request, 0);
        assert_null(request);
        int bad = 0;
        for (int i = 0; i < kRows; i++) {
            if (status[i] == DDS_SUCCESS)
                check_batch(&shards, 1, &others[i], out + i * kRow);
            else
                bad++;
        }
        if (code == DDS_SUCCESS) {
            assert_int_equal(bad, 0);
        } else {
            fails(code, DDS_ERR_IO, "rank");
            assert_true(bad > 0);
            ok(dds_get_batch(faulty, "x", kRows, others, out, kRows * kRow));
            check_batch(&shards, kRows, others, out);
        }
        guarded_free(out);
        guarded_free(status);
        close_wire(&faulty);
        int32_t ends[64], mine = code;
        ok(dds_comm_allgather(world, &mine, sizeof mine, ends));
        int failed = 0;
        for (int rank = 0; rank < ranks; rank++)
            failed += ends[rank] != DDS_SUCCESS;
        if (!failed) {
            assert_true(n > 1);
            return;
        }
        assert_true(n < 1000);
    }
}

static void a_failure_on_one_rank_fails_the_collective_read_on_all(void **state)
{
    (void)state;
    dds_store_t faulty = open_wire(my_rank == 0 ? "fault:1" : "fault:1000000");
    char *out = guarded_new(kRows * kRow, 0);
    fails(dds_get_batch_all(faulty, "x", kRows, others, out, kRows * kRow), DDS_ERR_IO, "rank");
    ok(dds_get_batch_all(faulty, "x", kRows, others, out, kRows * kRow));
    check_batch(&shards, kRows, others, out);
    guarded_free(out);
    close_wire(&faulty);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_failure_is_told_row_by_row_and_the_store_works_on),
        cmocka_unit_test(a_failure_on_one_rank_fails_the_collective_read_on_all),
        cmocka_unit_test(a_wait_that_is_over_leaves_the_read_going),
        cmocka_unit_test(progress_puts_the_deadline_off),
        cmocka_unit_test(waitany_takes_what_is_ready_first),
        cmocka_unit_test(a_cancelled_read_never_lands),
        cmocka_unit_test(a_request_ends_by_itself_at_the_deadline_of_reads),
        cmocka_unit_test(a_read_without_progress_ends_at_the_deadline_and_writes_nothing_later),
    };
    return run_group(tests);
}
