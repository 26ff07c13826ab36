/* dds_fork_reader: a forked child and other threads read what the store has, and disturb nobody. */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "forks.h"

enum { kRow = 72, kBatch = 50 };

static shards_t shards;

static void read_all_rows(dds_store_t from, const shards_t *of)
{
    uint64_t state = 9;
    int64_t rows[kBatch];
    char *out = guarded_new(kBatch * kRow, 0);
    dds_request_t request = NULL;
    for (int i = 0; i < 20; i++) {
        random_rows(of, &state, kBatch, rows);
        ok(dds_get_batch(from, of->name, kBatch, rows, out, kBatch * kRow));
        check_batch(of, kBatch, rows, out);
    }
    const int64_t step = path_under_test() == DDS_PATH_FABRIC ? 11 : 1;
    for (int64_t row = 0; row < total_rows(of); row += step) {
        ok(dds_get(from, of->name, row, 1, out, kRow));
        check_batch(of, 1, &row, out);
    }
    ok(dds_iget_batch(from, of->name, kBatch, rows, out, kBatch * kRow, NULL, &request));
    ok(dds_wait(&request, 0));
    check_batch(of, kBatch, rows, out);
    guarded_free(out);
}

/* What a reader refuses, it refuses at once and goes on. */
static void only_reads(dds_store_t reader)
{
    int64_t row = 0, n;
    char out[kRow] = {0};
    void *data;
    fails(dds_add(reader, "y", 1, kRow, DDS_UINT8, out, NULL), DDS_ERR_STATE, "only reads");
    fails(dds_create(reader, "y", 1, 1, DDS_INT8, NULL), DDS_ERR_STATE, "only reads");
    fails(dds_drop(reader, "x"), DDS_ERR_STATE, "only reads");
    fails(dds_update(reader, "x", 0, 1, out), DDS_ERR_STATE, "only reads");
    fails(dds_local(reader, "x", &n, &data), DDS_ERR_STATE, "only reads");
    fails(dds_get_batch_all(reader, "x", 1, &row, out, kRow), DDS_ERR_STATE, "only reads");
    if (path_under_test() == DDS_PATH_FABRIC)
        ok(dds_epoch_begin(reader)); /* nothing, as on the store itself */
    else
        fails(dds_epoch_begin(reader), DDS_ERR_STATE, "only reads");
    fails(dds_get(reader, "nothing", 0, 1, out, kRow), DDS_ERR_NOTFOUND, "nothing");
    fails(dds_get(reader, "x", total_rows(&shards), 1, out, kRow), DDS_ERR_RANGE, "x");
}

static void describes_itself(dds_store_t reader)
{
    int number;
    dds_info_t info = DDS_INFO_INIT;
    char names[64];
    size_t bytes;
    ok(dds_rank(reader, &number));
    assert_int_equal(number, my_rank);
    ok(dds_size(reader, &number));
    assert_int_equal(number, ranks);
    ok(dds_info(reader, "x", &info));
    assert_int_equal(info.rows, total_rows(&shards));
    assert_int_equal(info.first, shards.first[my_rank]);
    assert_int_equal(info.disp * (int64_t)info.itemsize, kRow);
    ok(dds_list(reader, names, sizeof names, &bytes));
    assert_int_equal(bytes, 2);
    assert_string_equal(names, "x");
}

static void read_in_a_child(void)
{
    dds_store_t reader = NULL;
    ok(dds_fork_reader(store, &reader));
    describes_itself(reader);
    dds_stats_t before;
    stats_of(reader, &before);
    read_all_rows(reader, &shards);
    only_reads(reader);
    dds_stats_t stats;
    stats_of(reader, &stats);
    assert_true(stats.rows[DDS_PATH_SELF] + stats.rows[DDS_PATH_SHM] > 0);
    ok(dds_free(&reader));
    char out[kRow];
    fails_plainly(dds_get(store, "x", 0, 1, out, kRow), DDS_ERR_FORKED);
    ok(dds_fork_reader(store, &reader)); /* again, and left open */
    read_all_rows(reader, &shards);
}

static void the_parent_works_on(void)
{
    read_all_rows(store, &shards);
    ok(dds_epoch_begin(store));
    ok(dds_epoch_end(store));
    dds_stats_t stats;
    stats_of(store, &stats);
    assert_int_equal(stats.dead_peers, 0);
}

static void a_child_reads_all_ranks_rows(void **state)
{
    (void)state;
    in_child(read_in_a_child);
    the_parent_works_on();
}

static dds_store_t grandparents;

static void read_in_a_grandchild(void)
{
    dds_store_t reader = NULL;
    ok(dds_fork_reader(grandparents, &reader));
    read_all_rows(reader, &shards);
}

static void fork_once_more(void)
{
    ok(dds_fork_reader(store, &grandparents));
    in_child(read_in_a_grandchild);
    read_all_rows(grandparents, &shards);
}

static void a_childs_child_reads_through_the_childs_reader(void **state)
{
    (void)state;
    in_child(fork_once_more);
    the_parent_works_on();
}

static void many_children_at_once_and_one_is_killed(void **state)
{
    (void)state;
    pid_t children[8];
    for (int i = 0; i < 8; i++)
        children[i] = start_child(read_in_a_child);
    kill(children[3], SIGKILL);
    for (int i = 0; i < 8; i++) {
        int status = -1;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_true(status == 0 || i == 3);
    }
    meet();
    the_parent_works_on();
}

static void *change_on(void *arg)
{
    int64_t value = 3;
    for (int i = 0; i < 60; i++) {
        ok(dds_add(store, "other", 1, 1, DDS_INT64, &value, NULL));
        ok(dds_drop(store, "other"));
    }
    return arg;
}

static void read_x_in_a_child(void)
{
    dds_store_t reader = NULL;
    ok(dds_fork_reader(store, &reader));
    read_all_rows(reader, &shards);
}

static void forks_while_other_threads_read_and_add_inherit_no_lock(void **state)
{
    (void)state;
    needs_an_allocator_that_may_be_forked();
    reading_t *reading = start_reading(&shards);
    pthread_t changer;
    assert_int_equal(pthread_create(&changer, NULL, change_on, NULL), 0);
    const int children = path_under_test() == DDS_PATH_FABRIC ? 3 : 15; /* each connects anew */
    for (int i = 0; i < children; i++)
        in_child(read_x_in_a_child);
    pthread_join(changer, NULL);
    stop_reading(reading);
    meet();
    the_parent_works_on();
}

static void *read_by_a_reader(void *reader)
{
    read_all_rows(reader, &shards);
    return NULL;
}

static void threads_read_through_readers_of_their_own(void **state)
{
    (void)state;
    pthread_t threads[4];
    dds_store_t readers[4];
    for (int i = 0; i < 4; i++) {
        ok(dds_fork_reader(store, &readers[i]));
        describes_itself(readers[i]);
        only_reads(readers[i]);
        assert_int_equal(pthread_create(&threads[i], NULL, read_by_a_reader, readers[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        ok(dds_free(&readers[i]));
    }
    the_parent_works_on();
}

/* The rows stay where they are for a reader, whatever its origin does. */
static void a_reader_outlives_a_drop_and_its_store(void **state)
{
    (void)state;
    dds_store_t origin = open_store(), reader = NULL;
    shards_t big;
    add_shards(origin, &big, "big", kRow, 2000, 5);
    ok(dds_fork_reader(origin, &reader));
    drop_shards(origin, &big);
    read_all_rows(reader, &big);
    ok(dds_free(&origin));
    read_all_rows(reader, &big);
    meet();
    ok(dds_free(&reader));
}

static void wrong_handles_are_told(void **state)
{
    (void)state;
    dds_store_t reader = NULL, closed = open_store();
    fails(dds_fork_reader(store, NULL), DDS_ERR_ARG, "reader");
    fails_plainly(dds_fork_reader(NULL, &reader), DDS_ERR_STATE);
    dds_store_t was = closed;
    close_store(&closed);
    fails_plainly(dds_fork_reader(was, &reader), DDS_ERR_STATE);
    assert_null(reader);
}

static char own_memory[64];

static void read_of_own_memory(void)
{
    dds_store_t reader = NULL;
    char out[sizeof own_memory];
    ok(dds_fork_reader(store, &reader));
    for (int64_t row = 0; row < ranks; row++)
        if (path_under_test() == DDS_PATH_FABRIC && row != my_rank)
            ok(dds_get(reader, "in place", row, 1, out, sizeof out)); /* of its owner */
        else
            fails(dds_get(reader, "in place", row, 1, out, sizeof out), DDS_ERR_UNSUPPORTED,
                  "DDS_NOCOPY");
}

static void rows_in_callers_memory_are_not_read_from_a_copy(void **state)
{
    (void)state;
    dds_var_options_t options = DDS_VAR_OPTIONS_INIT;
    dds_info_t info = DDS_INFO_INIT;
    options.flags = DDS_NOCOPY;
    memset(own_memory, 'a' + my_rank, sizeof own_memory);
    ok(dds_add(store, "in place", 1, sizeof own_memory, DDS_UINT8, own_memory, &options));
    ok(dds_info(store, "in place", &info));
    in_child(read_of_own_memory);
    meet();
    ok(dds_drop(store, "in place"));
}

static int open_shards(void **state)
{
    open_world_and_store(state);
    add_shards(store, &shards, "x", kRow, 500, 3);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_child_reads_all_ranks_rows),
        cmocka_unit_test(a_childs_child_reads_through_the_childs_reader),
        cmocka_unit_test(many_children_at_once_and_one_is_killed),
        cmocka_unit_test(forks_while_other_threads_read_and_add_inherit_no_lock),
        cmocka_unit_test(threads_read_through_readers_of_their_own),
        cmocka_unit_test(a_reader_outlives_a_drop_and_its_store),
        cmocka_unit_test(wrong_handles_are_told),
        cmocka_unit_test(rows_in_callers_memory_are_not_read_from_a_copy),
    };
    return cmocka_run_group_tests(tests, open_shards, close_world_and_store);
}
