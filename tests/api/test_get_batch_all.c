/* dds_get_batch_all: what is of all ranks in it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

enum { kRow = 48, kMost = 200 };

static void every_rank_asks_for_its_own_number_of_rows(void **state)
{
    (void)state;
    shards_t shards;
    int64_t rows[kMost];
    char *out = guarded_new(kMost * kRow, 0);
    uint64_t random = 77 + (uint64_t)my_rank;
    add_shards(store, &shards, "x", kRow, 300, 41);
    for (int round = 0; round < 100; round++) {
        const int64_t n = (round + my_rank) % 3 == 0 ? 0 : random_below(&random, kMost);
        const int64_t own = random_rows(&shards, &random, n, rows);
        dds_stats_t before;
        stats_of(store, &before);
        ok(dds_get_batch_all(store, "x", n, rows, out, (size_t)n * kRow));
        check_batch(&shards, n, rows, out);
        check_traffic(store, &before, own, n - own, kRow);
    }
    ok(dds_get_batch_all(store, "x", 0, NULL, NULL, 0)); /* of no rank */
    guarded_free(out);
    drop_shards(store, &shards);
}

static void a_bad_row_on_one_rank_fails_on_every_rank(void **state)
{
    (void)state;
    shards_t shards;
    int64_t rows[kMost];
    char out[kMost * kRow], culprit[32];
    uint64_t random = 78 + (uint64_t)my_rank;
    add_shards(store, &shards, "x", kRow, 300, 42);
    for (int bad = 0; bad < ranks; bad++) {
        random_rows(&shards, &random, kMost, rows);
        if (my_rank == bad)
            rows[kMost / 2] = total_rows(&shards);
        snprintf(culprit, sizeof culprit, "rank %d", bad);
        fails(dds_get_batch_all(store, "x", kMost, rows, out, sizeof out), DDS_ERR_RANGE, culprit);
        assert_int_equal(dds_last_error_rank(), bad);
        random_rows(&shards, &random, kMost, rows);
        ok(dds_get_batch_all(store, "x", kMost, rows, out, sizeof out)); /* it goes on */
        check_batch(&shards, kMost, rows, out);
    }
    drop_shards(store, &shards);
}

static void a_bad_argument_on_one_rank_fails_on_every_rank(void **state)
{
    (void)state;
    shards_t shards;
    int64_t rows[2] = {0};
    char out[2 * kRow];
    add_shards(store, &shards, "x", kRow, 300, 43);
    fails_plainly(
        dds_get_batch_all(store, "x", 2, rows, my_rank == ranks - 1 ? NULL : out, sizeof out),
        DDS_ERR_ARG);
    fails_plainly(dds_get_batch_all(store, "x", my_rank == 0 ? -1 : 2, rows, out, sizeof out),
                  DDS_ERR_ARG);
    fails(dds_get_batch_all(store, my_rank == 0 ? "y" : "x", 2, rows, out, sizeof out),
          DDS_ERR_NOTFOUND, "rank 0", "y");
    ok(dds_get_batch_all(store, "x", 2, rows, out, sizeof out));
    drop_shards(store, &shards);
}

static void a_variable_that_no_rank_has_is_not_found_on_every_rank(void **state)
{
    (void)state;
    int64_t row = 0;
    char out[kRow];
    fails(dds_get_batch_all(store, "none", 1, &row, out, sizeof out), DDS_ERR_NOTFOUND, "none");
}

static void another_variable_on_one_rank_is_a_mismatch_with_both_names(void **state)
{
    (void)state;
    shards_t apples, pears;
    int64_t row = 0;
    char out[kRow];
    if (ranks == 1)
        skip();
    add_shards(store, &apples, "apples", kRow, 30, 44);
    add_shards(store, &pears, "pears", kRow, 30, 45);
    const char *mine = my_rank == 1 ? "pears" : "apples";
    fails_plainly(dds_get_batch_all(store, mine, 1, &row, out, sizeof out), DDS_ERR_MISMATCH);
    ok(dds_get_batch_all(store, "pears", 1, &row, out, sizeof out));
    check_batch(&pears, 1, &row, out);
    drop_shards(store, &apples);
    drop_shards(store, &pears);
}

static void another_call_on_one_rank_is_a_mismatch_and_no_hang(void **state)
{
    (void)state;
    shards_t shards;
    int64_t row = 0;
    char out[kRow];
    if (ranks == 1)
        skip();
    add_shards(store, &shards, "x", kRow, 30, 46);
    if (my_rank == ranks - 1)
        fails_plainly(dds_drop(store, "x"), DDS_ERR_MISMATCH);
    else
        fails_plainly(dds_get_batch_all(store, "x", 1, &row, out, sizeof out), DDS_ERR_MISMATCH);
    ok(dds_get_batch_all(store, "x", 1, &row, out, sizeof out));
    check_batch(&shards, 1, &row, out);
    drop_shards(store, &shards);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_rank_asks_for_its_own_number_of_rows),
        cmocka_unit_test(a_bad_row_on_one_rank_fails_on_every_rank),
        cmocka_unit_test(a_bad_argument_on_one_rank_fails_on_every_rank),
        cmocka_unit_test(a_variable_that_no_rank_has_is_not_found_on_every_rank),
        cmocka_unit_test(another_variable_on_one_rank_is_a_mismatch_with_both_names),
        cmocka_unit_test(another_call_on_one_rank_is_a_mismatch_and_no_hang),
    };
    return run_group_with_store(tests);
}
