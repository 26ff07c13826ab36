/* dds_get: ranges of rows, by the path under test. */
#include <stdlib.h>
#include <string.h>

#include "support.h"

static void a_range_past_the_end_is_refused_and_nothing_read(void **state)
{
    (void)state;
    shards_t shards;
    add_shards(store, &shards, "x", 16, 40, 3);
    const int64_t total = total_rows(&shards);
    const int64_t bad[][2] = {{total, 1},
                              {0, total + 1},
                              {-1, 1},
                              {total - 1, 2},
                              {total + 1, 0},
                              {INT64_MIN, 1},
                              {INT64_MAX, 1},
                              {1, INT64_MAX},
                              {INT64_MAX, INT64_MAX},
                              {INT64_MIN, INT64_MAX}};
    char out[16];
    memset(out, 7, sizeof out);
    dds_stats_t before;
    stats_of(store, &before);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        fails(dds_get(store, "x", bad[i][0], bad[i][1], out, SIZE_MAX), DDS_ERR_RANGE, "");
    fails(dds_get(store, "x", 0, -1, out, sizeof out), DDS_ERR_ARG, "-1");
    for (size_t i = 0; i < sizeof out; i++)
        assert_int_equal(out[i], 7);
    check_traffic(store, &before, 0, 0, 16);
    drop_shards(store, &shards);
}

static void the_text_tells_the_row_and_the_end(void **state)
{
    (void)state;
    char byte = 0;
    ok(dds_add(store, "ten", my_rank == 0 ? 10 : 0, 1, DDS_INT8, "0123456789", NULL));
    fails(dds_get(store, "ten", 812, 1, &byte, 1), DDS_ERR_RANGE, "812", "10");
    ok(dds_drop(store, "ten"));
}

static void a_buffer_that_is_too_small_is_refused(void **state)
{
    (void)state;
    shards_t shards;
    add_shards(store, &shards, "x", 16, 40, 4);
    char *out = guarded_new(15, 1);
    memset(out, 7, 15);
    fails_plainly(dds_get(store, "x", 0, 1, out, 15), DDS_ERR_ARG);
    fails_plainly(dds_get(store, "x", 0, 1, out, 0), DDS_ERR_ARG);
    for (size_t i = 0; i < 15; i++)
        assert_int_equal(out[i], 7);
    guarded_free(out);
    drop_shards(store, &shards);
}

static void every_range_of_a_small_variable_is_right(void **state)
{
    (void)state;
    for (uint64_t seed = 10; seed < 13; seed++) {
        shards_t shards;
        const size_t row = seed == 10 ? 1 : seed == 11 ? 24 : 100;
        add_shards(store, &shards, "x", row, 24, seed);
        const int64_t total = total_rows(&shards);
        for (int64_t first = 0; first <= total; first++) {
            for (int64_t n = 0; first + n <= total; n++) {
                char *out = guarded_new((size_t)n * row, (size_t)(first % 3));
                int64_t own = 0;
                dds_stats_t before;
                stats_of(store, &before);
                ok(dds_get(store, "x", first, n, out, (size_t)n * row));
                for (int64_t i = 0; i < n; i++) {
                    check_row(out + (size_t)i * row, shards.variable, 0, first + i, row);
                    own += owner_of(&shards, first + i) == my_rank;
                }
                check_traffic(store, &before, own, n - own, row);
                guarded_free(out);
            }
        }
        drop_shards(store, &shards);
    }
}

static void no_rows_need_no_buffer(void **state)
{
    (void)state;
    shards_t shards;
    add_shards(store, &shards, "x", 16, 40, 5);
    ok(dds_get(store, "x", 0, 0, NULL, 0));
    ok(dds_get(store, "x", total_rows(&shards), 0, NULL, 0));
    drop_shards(store, &shards);
}

static void large_ranges_cross_shards_whole(void **state)
{
    (void)state;
    shards_t shards;
    const size_t row = 70001;
    uint64_t random = 1;
    add_shards(store, &shards, "x", row, 200, 6);
    for (int i = 0; i < 10; i++) {
        const int64_t first = random_below(&random, total_rows(&shards));
        const int64_t n = 1 + random_below(&random, total_rows(&shards) - first);
        const size_t shift = (size_t)random_below(&random, 64);
        int64_t own = 0;
        char *out = guarded_new((size_t)n * row, shift);
        dds_stats_t before;
        stats_of(store, &before);
        ok(dds_get(store, "x", first, n, out, (size_t)n * row + 5)); /* more room is fine */
        for (int64_t k = 0; k < n; k++) {
            check_row(out + (size_t)k * row, shards.variable, 0, first + k, row);
            own += owner_of(&shards, first + k) == my_rank;
        }
        check_traffic(store, &before, own, n - own, row);
        guarded_free(out);
    }
    drop_shards(store, &shards);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_range_past_the_end_is_refused_and_nothing_read),
        cmocka_unit_test(the_text_tells_the_row_and_the_end),
        cmocka_unit_test(a_buffer_that_is_too_small_is_refused),
        cmocka_unit_test(no_rows_need_no_buffer),
        cmocka_unit_test(every_range_of_a_small_variable_is_right),
        cmocka_unit_test(large_ranges_cross_shards_whole),
    };
    return run_group_with_store(tests);
}
