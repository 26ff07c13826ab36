/* Two nodes of two ranks each: rows of the node come by shared memory, or out of the owner's memory
 * where the shards stayed there, and the others by MPI, in one batch. */
#include <stdlib.h>
#include <string.h>

#include "mpi_world.h"
#include "support.h"

enum { kRow = 300, kRows = 20, kBatch = 64 };

static char *memory; /* the shard that is not copied */

static bool of_my_node(int rank) { return rank / 2 == my_rank / 2; }

static void add(uint32_t flags)
{
    dds_var_options_t options = DDS_VAR_OPTIONS_INIT;
    options.flags = flags;
    memory = must_alloc(kRows * kRow);
    fill_rows(memory, 1, 0, my_rank * kRows, kRows, kRow);
    ok(dds_add(store, "x", kRows, kRow, DDS_UINT8, memory, &options));
}

static void drop(void)
{
    ok(dds_drop(store, "x"));
    free(memory); /* nobody reads it any more */
}

typedef struct counted_s {
    int64_t own, near, far;
} counted_t;

static counted_t some_rows(uint64_t *random, int64_t *rows)
{
    counted_t count = {0};
    for (int i = 0; i < kBatch; i++) {
        rows[i] = random_below(random, kRows * ranks);
        const int owner = (int)(rows[i] / kRows);
        (owner == my_rank ? &count.own : of_my_node(owner) ? &count.near : &count.far)[0]++;
    }
    return count;
}

static void check_ways(const dds_stats_t *before, counted_t count, int near)
{
    dds_stats_t now;
    stats_of(store, &now);
    assert_int_equal(now.rows[DDS_PATH_SELF] - before->rows[DDS_PATH_SELF], count.own);
    assert_int_equal(now.rows[near] - before->rows[near], count.near);
    assert_int_equal(now.rows[DDS_PATH_MPI] - before->rows[DDS_PATH_MPI], count.far);
    assert_int_equal(now.bytes[DDS_PATH_MPI] - before->bytes[DDS_PATH_MPI], count.far * kRow);
}

static void check_out(const int64_t *rows, const char *out, uint32_t generation)
{
    for (int i = 0; i < kBatch; i++)
        check_row(out + i * kRow, 1, generation, rows[i], kRow);
}

enum { kGet, kGetBatch, kGetBatchAll, kIget, kWays };

static void read_by(int way, const int64_t *rows, char *out)
{
    dds_request_t request = NULL;
    switch (way) {
    case kGet:
        for (int i = 0; i < kBatch; i++)
            ok(dds_get(store, "x", rows[i], 1, out + i * kRow, kRow));
        break;
    case kGetBatch: ok(dds_get_batch(store, "x", kBatch, rows, out, kBatch * kRow)); break;
    case kGetBatchAll: ok(dds_get_batch_all(store, "x", kBatch, rows, out, kBatch * kRow)); break;
    case kIget:
        ok(dds_iget_batch(store, "x", kBatch, rows, out, kBatch * kRow, NULL, &request));
        ok(dds_wait(&request, 0));
        break;
    }
}

static void read_in_all_ways(uint32_t flags, int near)
{
    static char out[kBatch * kRow];
    int64_t rows[kBatch];
    uint64_t random = (uint64_t)my_rank;
    dds_stats_t before;
    add(flags);
    for (int way = 0; way < kWays; way++)
        for (int i = 0; i < 20; i++) {
            counted_t count = some_rows(&random, rows);
            if (way == kGetBatchAll &&
                flags & DDS_NOCOPY) { /* the owners take part, so they send */
                count.far += count.near;
                count.near = 0;
            }
            memset(out, 0, sizeof out);
            stats_of(store, &before);
            read_by(way, rows, out);
            check_out(rows, out, 0);
            check_ways(&before, count, near);
        }
    drop();
}

static void copied_shards_are_mapped_on_the_node_and_sent_between_nodes(void **state)
{
    (void)state;
    read_in_all_ways(0, DDS_PATH_SHM);
}

static void updates_are_seen_on_both_nodes(uint32_t flags)
{
    static char out[kBatch * kRow], data[kRows * kRow];
    int64_t rows[kBatch];
    uint64_t random = (uint64_t)my_rank;
    add(flags);
    for (uint32_t generation = 1; generation <= 50; generation++) {
        if (flags & DDS_NOCOPY) {
            fill_rows(memory, 1, generation, my_rank * kRows, kRows, kRow);
        } else {
            fill_rows(data, 1, generation, my_rank * kRows, kRows, kRow);
            ok(dds_update(store, "x", 0, kRows, data));
        }
        ok(dds_epoch_begin(store));
        for (int way = 0; way < kWays; way++) {
            some_rows(&random, rows);
            read_by(way, rows, out);
            check_out(rows, out, generation);
        }
        ok(dds_epoch_end(store));
    }
    drop();
}

static void updates_of_copied_shards_are_seen_on_both_nodes(void **state)
{
    (void)state;
    updates_are_seen_on_both_nodes(0);
}

static void updates_of_shards_in_place_are_seen_on_both_nodes(void **state)
{
    (void)state;
    updates_are_seen_on_both_nodes(DDS_NOCOPY);
}

static void shards_in_place_are_read_where_they_lie(void **state)
{
    (void)state;
    read_in_all_ways(DDS_NOCOPY, DDS_PATH_CMA);
}

static void a_row_past_the_end_is_told_on_all(void **state)
{
    (void)state;
    char out[kRow];
    const int64_t past = my_rank == 1 ? kRows * ranks : 0;
    add(0);
    fails_plainly(dds_get_batch_all(store, "x", 1, &past, out, kRow), DDS_ERR_RANGE);
    const int64_t first = 0;
    ok(dds_get_batch_all(store, "x", 1, &first, out, kRow));
    check_row(out, 1, 0, 0, kRow);
    drop();
}

static void stores_may_be_freed_while_others_are_in_their_last_call(void **state)
{
    (void)state;
    for (int i = 0; i < 200; i++) {
        dds_store_t open = open_store();
        ok(dds_create(open, "x", 1, 8, DDS_UINT8, NULL));
        ok(dds_free(&open));
    }
}

static int open_on_two_nodes(void **state)
{
    open_world(state);
    assert_int_equal(ranks, 4);
    setenv("DDSTORE_NODE", my_rank < 2 ? "a" : "b", 1);
    store = open_store();
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copied_shards_are_mapped_on_the_node_and_sent_between_nodes),
        cmocka_unit_test(shards_in_place_are_read_where_they_lie),
        cmocka_unit_test(updates_of_copied_shards_are_seen_on_both_nodes),
        cmocka_unit_test(updates_of_shards_in_place_are_seen_on_both_nodes),
        cmocka_unit_test(a_row_past_the_end_is_told_on_all),
        cmocka_unit_test(stores_may_be_freed_while_others_are_in_their_last_call),
    };
    cmocka_set_test_filter(argc > 1 ? argv[1] : NULL);
    return cmocka_run_group_tests(tests, open_on_two_nodes, close_world_and_store);
}
