/* Requests: reads that are started, and ended by wait, test, waitall, waitany or cancel. */
#include <stdlib.h>
#include <string.h>

#include "support.h"

enum { kRow = 64, kMost = 100, kRequests = 20 };

typedef struct reading_s {
    int64_t n, rows[kMost];
    int32_t *status;
    char *out;
} reading_t;

static shards_t shards;

static dds_request_t start(reading_t *reading, int64_t n, uint64_t *random)
{
    dds_request_t request = NULL;
    reading->n = n;
    reading->out = guarded_new((size_t)n * kRow, 0);
    reading->status = guarded_new((size_t)n * sizeof *reading->status, 0);
    random_rows(&shards, random, n, reading->rows);
    ok(dds_iget_batch(store, "x", n, reading->rows, reading->out, (size_t)n * kRow, reading->status,
                      &request));
    return request;
}

static void check_end(reading_t *reading)
{
    check_batch(&shards, reading->n, reading->rows, reading->out);
    for (int64_t i = 0; i < reading->n; i++)
        assert_int_equal(reading->status[i], DDS_SUCCESS);
    guarded_free(reading->out);
    guarded_free(reading->status);
}

static void a_null_request_has_ended(void **state)
{
    (void)state;
    dds_request_t none[3] = {NULL, NULL, NULL};
    int done = 0, index = 7;
    ok(dds_wait(none, 0));
    ok(dds_test(none, &done));
    assert_int_equal(done, 1);
    ok(dds_cancel(none));
    ok(dds_waitall(3, none, 0));
    ok(dds_waitall(0, NULL, 0));
    ok(dds_waitany(3, none, 0, &index));
    assert_int_equal(index, -1);
    index = 7;
    ok(dds_waitany(0, NULL, 0, &index));
    assert_int_equal(index, -1);
    fails_plainly(dds_wait(none, -1), DDS_ERR_ARG);
    fails_plainly(dds_waitall(3, none, -1), DDS_ERR_ARG);
    fails_plainly(dds_waitany(3, none, -1, &index), DDS_ERR_ARG);
}

static void a_bad_row_is_told_when_the_read_is_started(void **state)
{
    (void)state;
    int64_t rows[3] = {0, 0, total_rows(&shards)};
    char out[3 * kRow];
    dds_request_t request = NULL;
    fails_plainly(dds_iget_batch(store, "x", 3, rows, out, sizeof out, NULL, &request),
                  DDS_ERR_RANGE);
    rows[2] = 0;
    fails_plainly(dds_iget_batch(store, "x", 3, rows, out, sizeof out - 1, NULL, &request),
                  DDS_ERR_ARG);
    fails_plainly(dds_iget_batch(store, "x", -3, rows, out, sizeof out, NULL, &request),
                  DDS_ERR_ARG);
    assert_null(request);
}

static void a_read_is_started_and_waited_for(void **state)
{
    (void)state;
    uint64_t random = (uint64_t)my_rank;
    for (int64_t n = 0; n <= kMost; n += 20) {
        reading_t reading;
        dds_stats_t before;
        stats_of(store, &before);
        dds_request_t request = start(&reading, n, &random);
        int64_t own = 0;
        for (int64_t i = 0; i < n; i++)
            own += owner_of(&shards, reading.rows[i]) == my_rank;
        ok(dds_wait(&request, 0));
        assert_null(request);
        check_traffic(store, &before, own, n - own, kRow);
        check_end(&reading);
    }
}

static void test_moves_a_read_to_its_end(void **state)
{
    (void)state;
    uint64_t random = 5;
    reading_t reading;
    dds_request_t request = start(&reading, kMost, &random);
    int done = 0;
    for (const double end = seconds() + 20; !done && seconds() < end;)
        ok(dds_test(&request, &done));
    assert_int_equal(done, 1);
    assert_null(request);
    check_end(&reading);
}

static void many_reads_are_open_at_once_and_end_in_any_order(void **state)
{
    (void)state;
    uint64_t random = 6;
    reading_t readings[kRequests];
    dds_request_t requests[kRequests];
    for (int i = 0; i < kRequests; i++)
        requests[i] = start(&readings[i], 1 + random_below(&random, kMost), &random);
    for (int i = kRequests - 1; i >= 0; i -= 2)
        ok(dds_wait(&requests[i], 0));
    ok(dds_waitall(kRequests, requests, 0));
    for (int i = 0; i < kRequests; i++) {
        assert_null(requests[i]);
        check_end(&readings[i]);
    }
}

static void waitany_gives_each_of_them_once(void **state)
{
    (void)state;
    uint64_t random = 7;
    reading_t readings[kRequests];
    dds_request_t requests[kRequests];
    int seen[kRequests] = {0}, index = -7;
    for (int i = 0; i < kRequests; i++)
        requests[i] = start(&readings[i], 1 + random_below(&random, kMost), &random);
    for (int i = 0; i < kRequests; i++) {
        ok(dds_waitany(kRequests, requests, 0, &index));
        assert_in_range(index, 0, kRequests - 1);
        assert_int_equal(seen[index]++, 0);
        assert_null(requests[index]);
        check_end(&readings[index]);
    }
    ok(dds_waitany(kRequests, requests, 0, &index));
    assert_int_equal(index, -1);
}

static void a_cancelled_read_gives_its_buffer_back(void **state)
{
    (void)state;
    uint64_t random = 8;
    reading_t reading;
    for (int i = 0; i < 50; i++) {
        dds_request_t request = start(&reading, kMost, &random);
        const dds_request_t stale = request;
        ok(dds_cancel(&request));
        assert_null(request);
        guarded_free(reading.out); /* unmapped: a late write would be a fault */
        guarded_free(reading.status);
        dds_request_t again = stale;
        fails_plainly(dds_cancel(&again), DDS_ERR_STATE);
        fails_plainly(dds_wait(&again, 0), DDS_ERR_STATE);
    }
    reading_t after;
    dds_request_t request = start(&after, kMost, &random);
    ok(dds_wait(&request, 0));
    check_end(&after);
}

static void an_ended_request_is_told(void **state)
{
    (void)state;
    uint64_t random = 9;
    reading_t reading;
    int done;
    dds_request_t request = start(&reading, 3, &random), stale = request;
    ok(dds_wait(&request, 0));
    check_end(&reading);
    fails_plainly(dds_wait(&stale, 0), DDS_ERR_STATE);
    fails_plainly(dds_test(&stale, &done), DDS_ERR_STATE);
    fails_plainly(dds_waitall(1, &stale, 0), DDS_ERR_STATE);
}

static void the_status_is_not_asked_for(void **state)
{
    (void)state;
    int64_t row = 0;
    char out[kRow];
    dds_request_t request = NULL;
    ok(dds_iget_batch(store, "x", 1, &row, out, sizeof out, NULL, &request));
    ok(dds_wait(&request, 0));
    check_batch(&shards, 1, &row, out);
}

/* Its outcome is the read's own or that the store is gone; it ends, and nothing is written after. */
static void a_read_that_is_open_when_its_store_is_freed_ends(void **state)
{
    (void)state;
    dds_store_t other = open_store();
    shards_t its;
    char *out = guarded_new(kRow, 0);
    dds_request_t request = NULL;
    add_shards(other, &its, "y", kRow, 10, 3);
    const int64_t row = total_rows(&its) - 1;
    ok(dds_iget_batch(other, "y", 1, &row, out, kRow, NULL, &request));
    ok(dds_free(&other));
    const int code = dds_wait(&request, 0);
    assert_true(code == DDS_SUCCESS || code == DDS_ERR_STATE);
    guarded_free(out);
    meet();
    free(its.memory);
}

static int open_all(void **state)
{
    open_world_and_store(state);
    add_shards(store, &shards, "x", kRow, 400, 51);
    return 0;
}

static int close_all(void **state)
{
    drop_shards(store, &shards);
    return close_world_and_store(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_null_request_has_ended),
        cmocka_unit_test(a_bad_row_is_told_when_the_read_is_started),
        cmocka_unit_test(a_read_is_started_and_waited_for),
        cmocka_unit_test(test_moves_a_read_to_its_end),
        cmocka_unit_test(many_reads_are_open_at_once_and_end_in_any_order),
        cmocka_unit_test(waitany_gives_each_of_them_once),
        cmocka_unit_test(a_cancelled_read_gives_its_buffer_back),
        cmocka_unit_test(an_ended_request_is_told),
        cmocka_unit_test(the_status_is_not_asked_for),
        cmocka_unit_test(a_read_that_is_open_when_its_store_is_freed_ends),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
