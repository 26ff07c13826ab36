/* dds_get_batch and dds_get_batch_all: rows in any order, by the path under test. */
#include <stdlib.h>
#include <string.h>

#include "support.h"

typedef int (*batch_t)(dds_store_t, const char *, int64_t, const int64_t *, void *, size_t);
static const batch_t local_and_collective[] = {dds_get_batch, dds_get_batch_all};

static void one_bad_row_anywhere_refuses_all_of_the_batch(void **state)
{
    (void)state;
    shards_t shards;
    int64_t rows[100];
    char *out = guarded_new(100 * 24, 0);
    add_shards(store, &shards, "x", 24, 60, 21);
    const int64_t bad[] = {total_rows(&shards), -1, INT64_MIN, INT64_MAX, total_rows(&shards) + 7};
    for (int kind = 0; kind < 2; kind++) {
        for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
            uint64_t random = i;
            random_rows(&shards, &random, 100, rows);
            rows[i == 0 ? 99 : i == 1 ? 0 : 50] = bad[i];
            memset(out, 7, 100 * 24);
            dds_stats_t before;
            stats_of(store, &before);
            fails_plainly(local_and_collective[kind](store, "x", 100, rows, out, 100 * 24),
                          DDS_ERR_RANGE);
            check_traffic(store, &before, 0, 0, 24);
            for (int k = 0; k < 100 * 24; k++)
                assert_int_equal(out[k], 7);
        }
    }
    guarded_free(out);
    drop_shards(store, &shards);
}

static void sizes_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    shards_t shards;
    int64_t rows[4] = {0};
    char *out = guarded_new(4 * 24, 0);
    add_shards(store, &shards, "x", 24, 60, 22);
    for (int kind = 0; kind < 2; kind++) {
        const batch_t batch = local_and_collective[kind];
        fails_plainly(batch(store, "x", 4, rows, out, 4 * 24 - 1), DDS_ERR_ARG);
        fails_plainly(batch(store, "x", -1, rows, out, 4 * 24), DDS_ERR_ARG);
        fails_plainly(batch(store, "x", INT64_MIN, rows, out, 4 * 24), DDS_ERR_ARG);
        /* 2^60 x 24 wraps to 2^63 */
        fails_plainly(batch(store, "x", (int64_t)1 << 60, rows, out, SIZE_MAX), DDS_ERR_OVERFLOW);
        ok(batch(store, "x", 0, NULL, NULL, 0));
        ok(batch(store, "x", 0, rows, out, 4 * 24));
    }
    guarded_free(out);
    drop_shards(store, &shards);
}

static void one_size(size_t row, size_t at)
{
    static const int64_t counts[] = {1, 2, 3, 7, 64, 128, 129, 2000};
    shards_t shards;
    int64_t rows[2000];
    uint64_t random = row;
    add_shards(store, &shards, "x", row, row > 100000 ? 9 : 300, 100 + row);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        const int64_t n = counts[i];
        if ((size_t)n * row > 6u << 20)
            break;
        for (int kind = 0; kind < 2; kind++) {
            const int64_t own = random_rows(&shards, &random, n, rows);
            const size_t bytes = (size_t)n * row;
            char *out = guarded_new(bytes, (at + i) % 17);
            dds_stats_t before;
            stats_of(store, &before);
            ok(local_and_collective[kind](store, "x", n, rows, out, bytes));
            check_batch(&shards, n, rows, out);
            check_traffic(store, &before, own, n - own, row);
            guarded_free(out);
        }
    }
    drop_shards(store, &shards);
}

static void rows_of_every_size_and_number_come_whole_and_in_order(void **state)
{
    (void)state;
    static const size_t sizes[] = {
        1,    2,    3,    4,    5,    7,    8,    9,    12,   16,    17,    24,    31,     32,
        33,   48,   63,   64,   65,   96,   100,  127,  128,  200,   256,   511,   512,    513,
        1000, 1500, 2048, 3072, 4095, 4096, 4097, 5000, 8192, 12800, 65536, 70000, 204800, 1 << 20};
    /* A wire sees a number of bytes, not one kernel or another. */
    const size_t step = path_under_test() >= DDS_PATH_FABRIC ? 3 : 1;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i += step)
        one_size(sizes[i], i);
}

static void rows_without_bytes_are_still_checked(void **state)
{
    (void)state;
    const int64_t rows[] = {0, 1, 0}, bad[] = {0, 2 * ranks};
    ok(dds_add(store, "x", 2, 0, DDS_INT8, NULL, NULL));
    ok(dds_get_batch(store, "x", 3, rows, NULL, 0));
    ok(dds_get_batch_all(store, "x", 3, rows, NULL, 0));
    fails_plainly(dds_get_batch(store, "x", 2, bad, NULL, 0), DDS_ERR_RANGE);
    ok(dds_drop(store, "x"));
}

static void repeats_and_backward_orders_are_kept(void **state)
{
    (void)state;
    enum { kRow = 32, kMost = 600 };
    shards_t shards;
    int64_t rows[kMost];
    char *out = guarded_new(kMost * kRow, 0);
    add_shards(store, &shards, "x", kRow, 200, 23);
    const int64_t total = total_rows(&shards);
    for (int64_t i = 0; i < kMost; i++)
        rows[i] = total - 1 - i % total;
    ok(dds_get_batch(store, "x", kMost, rows, out, kMost * kRow));
    check_batch(&shards, kMost, rows, out);
    for (int64_t i = 0; i < kMost; i++)
        rows[i] = total - 1;
    ok(dds_get_batch(store, "x", kMost, rows, out, kMost * kRow));
    check_batch(&shards, kMost, rows, out);
    for (int64_t i = 0; i < kMost; i++)
        rows[i] = i % total; /* neighbours: what a wire merges */
    ok(dds_get_batch(store, "x", kMost, rows, out, kMost * kRow));
    check_batch(&shards, kMost, rows, out);
    guarded_free(out);
    drop_shards(store, &shards);
}

static void ten_random_partitions_are_read_right(void **state)
{
    (void)state;
    enum { kRow = 40, kMost = 500 };
    int64_t rows[kMost];
    char *out = guarded_new(kMost * kRow, 5);
    for (uint64_t seed = 31; seed < 41; seed++) {
        shards_t shards;
        uint64_t random = seed + (uint64_t)my_rank;
        add_shards(store, &shards, "x", kRow, 1 + (int64_t)(seed - 31) * 100, seed);
        for (int i = 0; i < 20; i++) {
            const int64_t n = random_below(&random, kMost) + 1;
            random_rows(&shards, &random, n, rows);
            ok(dds_get_batch(store, "x", n, rows, out, (size_t)n * kRow));
            check_batch(&shards, n, rows, out);
        }
        drop_shards(store, &shards);
    }
    guarded_free(out);
}

static void a_million_rows_are_one_call(void **state)
{
    (void)state;
    /* Over MPI each 256 of them wait for their owner's turn on a processor. */
    const int64_t n = path_under_test() >= DDS_PATH_FABRIC ? 20000 : 1000000;
    shards_t shards;
    uint64_t random = (uint64_t)my_rank;
    if (wire_under_test())
        skip(); /* a run of the slow wire is meant to be slow */
    add_shards(store, &shards, "x", 8, 5000, 24);
    int64_t *rows = must_alloc((size_t)n * sizeof *rows);
    char *out = guarded_new((size_t)n * 8, 0);
    random_rows(&shards, &random, n, rows);
    ok(dds_get_batch(store, "x", n, rows, out, (size_t)n * 8));
    check_batch(&shards, n, rows, out);
    rows[n - 1] = total_rows(&shards); /* the one at the end is found before a byte moves */
    memset(out, 7, 64);
    fails_plainly(dds_get_batch(store, "x", n, rows, out, (size_t)n * 8), DDS_ERR_RANGE);
    for (int i = 0; i < 64; i++)
        assert_int_equal(out[i], 7);
    free(rows);
    guarded_free(out);
    drop_shards(store, &shards);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_bad_row_anywhere_refuses_all_of_the_batch),
        cmocka_unit_test(sizes_that_do_not_fit_are_refused),
        cmocka_unit_test(rows_without_bytes_are_still_checked),
        cmocka_unit_test(repeats_and_backward_orders_are_kept),
        cmocka_unit_test(ten_random_partitions_are_read_right),
        cmocka_unit_test(rows_of_every_size_and_number_come_whole_and_in_order),
        cmocka_unit_test(a_million_rows_are_one_call),
    };
    return run_group_with_store(tests);
}
