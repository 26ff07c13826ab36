/* A forked child: its parent's handles are refused, and the parent is not disturbed. */
#include <stdlib.h>
#include <unistd.h>

#include "forks.h"

enum { kRow = 40 };

static shards_t shards;

static void use_what_is_the_parents(void)
{
    int64_t row = 0, number;
    int any;
    char out[kRow];
    void *data;
    dds_info_t info = DDS_INFO_INIT;
    dds_stats_t stats = DDS_STATS_INIT;
    dds_request_t request = NULL;
    dds_store_t opened = NULL;
    fails_plainly(dds_get(store, "x", 0, 1, out, kRow), DDS_ERR_FORKED);
    fails_plainly(dds_get_batch(store, "x", 1, &row, out, kRow), DDS_ERR_FORKED);
    fails_plainly(dds_get_batch_all(store, "x", 1, &row, out, kRow), DDS_ERR_FORKED);
    fails_plainly(dds_iget_batch(store, "x", 1, &row, out, kRow, NULL, &request), DDS_ERR_FORKED);
    fails_plainly(dds_add(store, "y", 1, 1, DDS_INT8, out, NULL), DDS_ERR_FORKED);
    fails_plainly(dds_create(store, "y", 1, 1, DDS_INT8, NULL), DDS_ERR_FORKED);
    fails_plainly(dds_drop(store, "x"), DDS_ERR_FORKED);
    fails_plainly(dds_update(store, "x", 0, 0, NULL), DDS_ERR_FORKED);
    fails_plainly(dds_local(store, "x", &number, &data), DDS_ERR_FORKED);
    fails_plainly(dds_info(store, "x", &info), DDS_ERR_FORKED);
    fails_plainly(dds_owner(store, "x", 0, &any, &number), DDS_ERR_FORKED);
    fails_plainly(dds_stats(store, &stats), DDS_ERR_FORKED);
    fails_plainly(dds_epoch_begin(store), DDS_ERR_FORKED);
    fails_plainly(dds_rank(store, &any), DDS_ERR_FORKED);
    fails_plainly(dds_comm_barrier(world), DDS_ERR_FORKED);
    fails_plainly(dds_comm_rank(world, &any), DDS_ERR_FORKED);
    fails_plainly(dds_init(world, NULL, &opened), DDS_ERR_FORKED);
}

static void give_back_what_is_the_parents(void)
{
    dds_store_t mine = store;
    dds_comm_t its = world;
    const double begin = seconds();
    const int code = dds_free(&mine), also = dds_comm_free(&its);
    assert_true(code == DDS_SUCCESS || code == DDS_ERR_FORKED);
    assert_true(also == DDS_SUCCESS || also == DDS_ERR_FORKED);
    assert_true(seconds() - begin < 1.0);
}

/* Exit handlers run in the child, too. */
static void give_back_and_exit(void)
{
    give_back_what_is_the_parents();
    exit(0);
}

static void use_and_exit(void)
{
    use_what_is_the_parents();
    exit(0);
}

static void open_a_store_of_its_own(void)
{
    dds_comm_t self = NULL;
    dds_store_t own = NULL;
    int64_t value = 42, out = 0;
    ok(dds_comm_self(&self));
    ok(dds_init(self, NULL, &own));
    ok(dds_add(own, "x", 1, 1, DDS_INT64, &value, NULL));
    ok(dds_get(own, "x", 0, 1, &out, sizeof out));
    assert_int_equal(out, 42);
    ok(dds_free(&own));
    ok(dds_comm_free(&self));
}

static void open_a_store_and_exit(void)
{
    open_a_store_of_its_own();
    exit(0);
}

static void the_parent_works_on(void)
{
    char out[kRow];
    for (int64_t row = 0; row < total_rows(&shards); row++) {
        ok(dds_get(store, "x", row, 1, out, kRow));
        check_batch(&shards, 1, &row, out);
    }
    ok(dds_epoch_begin(store));
    ok(dds_epoch_end(store));
    dds_stats_t stats;
    stats_of(store, &stats);
    assert_int_equal(stats.dead_peers, 0);
}

static void the_parents_handles_are_refused_in_the_child(void **state)
{
    (void)state;
    in_child(use_what_is_the_parents);
    the_parent_works_on();
}

static void freeing_in_the_child_leaves_the_parent_alone(void **state)
{
    (void)state;
    in_child(give_back_what_is_the_parents);
    in_child(give_back_and_exit);
    the_parent_works_on();
}

static void a_child_that_ends_is_no_rank_that_died(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++)
        in_child(i % 2 ? use_and_exit : use_what_is_the_parents);
    meet();
    the_parent_works_on();
}

static void a_child_opens_a_store_of_its_own(void **state)
{
    (void)state;
    in_child(open_a_store_and_exit);
    the_parent_works_on();
}

static void a_fork_while_other_threads_read_inherits_no_lock(void **state)
{
    (void)state;
    needs_an_allocator_that_may_be_forked();
    reading_t *reading = start_reading(&shards);
    for (int i = 0; i < 20; i++)
        in_child(i % 2 ? open_a_store_of_its_own : use_what_is_the_parents);
    stop_reading(reading);
    meet();
    the_parent_works_on();
}

static void no_descriptor_passes_an_exec(void **state)
{
    (void)state;
    const pid_t child = fork();
    if (child == 0) {
        /* Lists the descriptors from 3 on; ls itself opens one. */
        execl("/bin/sh", "sh", "-c",
              "set -- /proc/self/fd/*; n=0; for f; do "
              "l=$(readlink $f); case $l in *memfd*|*socket*|*event*|*/world*) n=1;; esac; done; "
              "exit $n",
              (char *)NULL);
        _exit(9);
    }
    ended(child);
}

static int open_all(void **state)
{
    open_world_and_store(state);
    add_shards(store, &shards, "x", kRow, 100, 91);
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
        cmocka_unit_test(the_parents_handles_are_refused_in_the_child),
        cmocka_unit_test(freeing_in_the_child_leaves_the_parent_alone),
        cmocka_unit_test(a_child_that_ends_is_no_rank_that_died),
        cmocka_unit_test(a_child_opens_a_store_of_its_own),
        cmocka_unit_test(a_fork_while_other_threads_read_inherits_no_lock),
        cmocka_unit_test(no_descriptor_passes_an_exec),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
