/* Several stores in one process: none sees the other. */
#include <stdlib.h>
#include <string.h>

#include "support.h"

enum { kStores = 5, kRow = 56 };

static void the_same_name_in_five_stores_is_five_variables(void **state)
{
    (void)state;
    dds_store_t stores[kStores];
    shards_t shards[kStores];
    char out[kRow];
    for (int i = 0; i < kStores; i++) {
        stores[i] = open_store();
        add_shards(stores[i], &shards[i], "x", kRow, 20 + 10 * i, 70 + (uint64_t)i);
    }
    for (int round = 0; round < 200; round++) {
        const int i = round % kStores;
        const int64_t row = round % total_rows(&shards[i]);
        ok(dds_get(stores[i], "x", row, 1, out, kRow));
        check_batch(&shards[i], 1, &row, out);
    }
    for (int i = 0; i < kStores; i += 2) /* some go, the others stay */
        close_store(&stores[i]);
    for (int i = 1; i < kStores; i += 2) {
        const int64_t row = total_rows(&shards[i]) - 1;
        ok(dds_get(stores[i], "x", row, 1, out, kRow));
        check_batch(&shards[i], 1, &row, out);
        dds_stats_t stats;
        stats_of(stores[i], &stats);
        assert_int_equal(stats.dead_peers, 0);
        drop_shards(stores[i], &shards[i]);
        close_store(&stores[i]);
    }
}

static void stores_over_different_ranks_live_side_by_side(void **state)
{
    (void)state;
    dds_comm_t self = NULL, pair = NULL;
    dds_store_t all = open_store(), alone = NULL, two = NULL;
    int32_t mine = 100 + my_rank, out[64];
    ok(dds_comm_self(&self));
    ok(dds_init(self, NULL, &alone));
    ok(dds_add(all, "x", 1, 1, DDS_INT32, &mine, NULL));
    if (my_rank < 2) { /* the first two ranks, or one */
        const int size = ranks < 2 ? 1 : 2;
        ok(dds_comm_file(test_dir(), "pair", my_rank, size, 20000, &pair));
        ok(dds_init(pair, NULL, &two));
        mine += 1000;
        ok(dds_add(two, "x", 1, 1, DDS_INT32, &mine, NULL));
        ok(dds_get(two, "x", 0, size, out, sizeof out));
        for (int rank = 0; rank < size; rank++)
            assert_int_equal(out[rank], 1100 + rank);
        ok(dds_comm_barrier(pair));
    }
    mine = -7;
    ok(dds_add(alone, "x", 1, 1, DDS_INT32, &mine, NULL));
    ok(dds_get(alone, "x", 0, 1, out, sizeof out));
    assert_int_equal(out[0], -7);
    ok(dds_get(all, "x", 0, ranks, out, sizeof out));
    for (int rank = 0; rank < ranks; rank++)
        assert_int_equal(out[rank], 100 + rank);
    ok(dds_free(&alone));
    ok(dds_free(&two));
    ok(dds_comm_free(&pair));
    ok(dds_comm_free(&self));
    close_store(&all);
}

static void a_failure_in_one_store_is_none_in_another(void **state)
{
    (void)state;
    dds_store_t one = open_store(), other = open_store();
    char byte = 5, out;
    fails_plainly(dds_drop(one, "x"), DDS_ERR_NOTFOUND);
    ok(dds_add(other, "x", 1, 1, DDS_INT8, &byte, NULL));
    fails_plainly(dds_get(one, "x", 0, 1, &out, 1), DDS_ERR_NOTFOUND);
    ok(dds_get(other, "x", ranks - 1, 1, &out, 1));
    assert_int_equal(out, 5);
    close_store(&one);
    close_store(&other);
}

static void many_small_stores_share_few_descriptors(void **state)
{
    (void)state;
    dds_store_t stores[20];
    const int before = open_descriptors();
    for (int i = 0; i < 20; i++) {
        stores[i] = open_store();
        ok(dds_add(stores[i], "x", 1, 1, DDS_INT32, &i, NULL));
    }
    assert_true(open_descriptors() - before <= 20 * (4 + 4 * ranks));
    for (int i = 0; i < 20; i++) {
        int out = -1;
        ok(dds_get(stores[i], "x", ranks - 1, 1, &out, sizeof out));
        assert_int_equal(out, i);
    }
    for (int i = 0; i < 20; i++)
        close_store(&stores[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_name_in_five_stores_is_five_variables),
        cmocka_unit_test(stores_over_different_ranks_live_side_by_side),
        cmocka_unit_test(a_failure_in_one_store_is_none_in_another),
        cmocka_unit_test(many_small_stores_share_few_descriptors),
    };
    return run_group(tests);
}
