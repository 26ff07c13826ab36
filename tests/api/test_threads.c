/* Many threads in one store: reads at once, and drops and frees while they read. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

enum { kThreads = 3, kRow = 72, kBatch = 40, kRounds = 8 };

static shards_t shards;
static atomic_bool stop;

typedef struct reader_s {
    pthread_t thread;
    dds_store_t store;
    const char *name;
    uint64_t random;
    const int *allowed; /* codes that a read may end with, besides success; ended by 0 */
    atomic_long read;
} reader_t;

static const int none[] = {0};

static void *read_batches(void *arg)
{
    reader_t *me = arg;
    int64_t rows[kBatch];
    char out[kBatch * kRow];
    while (!stop) {
        const int64_t n = 1 + random_below(&me->random, kBatch);
        random_rows(&shards, &me->random, n, rows);
        int code;
        if (me->random % 3 == 0) {
            dds_request_t request = NULL;
            code = dds_iget_batch(me->store, me->name, n, rows, out, sizeof out, NULL, &request);
            if (code == DDS_SUCCESS)
                code = dds_wait(&request, 0);
        } else {
            code = dds_get_batch(me->store, me->name, n, rows, out, sizeof out);
        }
        if (code == DDS_SUCCESS) {
            check_batch(&shards, n, rows, out);
            me->read++;
        } else {
            const int *expected = me->allowed;
            while (*expected && *expected != code)
                expected++;
            if (*expected != code)
                ok(code);
        }
    }
    return NULL;
}

static void start(reader_t readers[kThreads], dds_store_t from, const int *allowed)
{
    stop = false;
    for (int i = 0; i < kThreads; i++) {
        readers[i].store = from;
        readers[i].name = "x";
        readers[i].allowed = allowed;
        readers[i].random = (uint64_t)(my_rank * 100 + i);
        readers[i].read = 0;
        assert_int_equal(pthread_create(&readers[i].thread, NULL, read_batches, &readers[i]), 0);
    }
}

static void join(reader_t readers[kThreads])
{
    stop = true;
    for (int i = 0; i < kThreads; i++)
        pthread_join(readers[i].thread, NULL);
}

static long reads_of(reader_t readers[kThreads])
{
    long reads = 0;
    for (int i = 0; i < kThreads; i++)
        reads += readers[i].read;
    return reads;
}

static void all_threads_read_right_rows_at_once(void **state)
{
    (void)state;
    reader_t readers[kThreads];
    add_shards(store, &shards, "x", kRow, 500, 81);
    dds_stats_t before, after;
    stats_of(store, &before);
    start(readers, store, none);
    sleep_ms(300);
    for (int i = 0; i < 200 && reads_of(readers) <= kThreads; i++)
        sleep_ms(100); /* a wire connects first */
    join(readers);
    meet(); /* nobody leaves while others read */
    stats_of(store, &after);
    const long reads = reads_of(readers);
    uint64_t rows = 0;
    for (int path = 0; path < 8; path++)
        rows += after.rows[path] - before.rows[path];
    assert_true(reads > kThreads);
    assert_true(rows >= (uint64_t)reads && rows <= (uint64_t)reads * kBatch);
    meet();
    drop_shards(store, &shards);
}

static void other_variables_come_and_go_while_threads_read(void **state)
{
    (void)state;
    reader_t readers[kThreads];
    add_shards(store, &shards, "x", kRow, 500, 82);
    start(readers, store, none);
    char data[4096];
    memset(data, my_rank, sizeof data);
    /* Over an MPI each makes and frees windows, while all threads poll it. */
    const int rounds = path_under_test() == DDS_PATH_MPI ? 5 : 20;
    for (int i = 0; i < rounds; i++) {
        char out = 0;
        ok(dds_add(store, "other", 1, sizeof data, DDS_UINT8, data, NULL));
        ok(dds_create(store, "third", 10, 1, DDS_FLOAT64, NULL));
        ok(dds_get(store, "third", 0, 0, NULL, 0));
        ok(dds_drop(store, "other"));
        fails_plainly(dds_get(store, "other", 0, 1, &out, 1), DDS_ERR_NOTFOUND);
        ok(dds_drop(store, "third"));
    }
    join(readers);
    meet();
    drop_shards(store, &shards);
}

static void a_drop_while_threads_read_ends_their_reads_cleanly(void **state)
{
    (void)state;
    /* STATE: of a request that was open */
    static const int ends[] = {DDS_ERR_NOTFOUND, DDS_ERR_STATE, 0};
    for (int i = 0; i < kRounds; i++) {
        reader_t readers[kThreads];
        add_shards(store, &shards, "x", kRow, 500, 83);
        meet();
        start(readers, store, ends);
        sleep_ms(i % 4);
        ok(dds_drop(store, "x"));
        sleep_ms(1);
        join(readers);
        meet();
        free(shards.memory);
    }
}

static void a_free_while_threads_read_ends_their_reads_cleanly(void **state)
{
    (void)state;
    /* PEER: of rows in the memory of a rank that has left */
    const bool leaves = path_under_test() == DDS_PATH_CMA || path_under_test() == DDS_PATH_FABRIC;
    const int ends[] = {DDS_ERR_STATE, leaves ? DDS_ERR_PEER : 0, 0};
    for (int i = 0; i < kRounds; i++) {
        reader_t readers[kThreads];
        dds_store_t other = open_store();
        add_shards(other, &shards, "x", kRow, 500, 84);
        meet();
        start(readers, other, ends);
        sleep_ms(i % 4);
        ok(dds_free(&other));
        sleep_ms(1);
        join(readers);
        meet();
        free(shards.memory);
    }
}

static void *fail_in_turn(void *arg)
{
    const int64_t row = *(int64_t *)arg;
    char text[32], out[kRow];
    snprintf(text, sizeof text, "%ld", (long)row);
    for (int i = 0; i < 200; i++)
        fails(dds_get(store, "x", row, 1, out, sizeof out), DDS_ERR_RANGE, text);
    return NULL;
}

static void each_thread_has_its_own_last_error(void **state)
{
    (void)state;
    pthread_t threads[kThreads];
    int64_t rows[kThreads];
    add_shards(store, &shards, "x", kRow, 500, 85);
    for (int i = 0; i < kThreads; i++) {
        rows[i] = 1000001 * (i + 1);
        assert_int_equal(pthread_create(&threads[i], NULL, fail_in_turn, &rows[i]), 0);
    }
    for (int i = 0; i < kThreads; i++)
        pthread_join(threads[i], NULL);
    drop_shards(store, &shards);
}

static void *read_once(void *arg)
{
    int64_t row = 0;
    char out[kRow];
    ok(dds_get_batch(store, "x", 1, &row, out, sizeof out));
    check_batch(&shards, 1, &row, out);
    return arg;
}

static void threads_that_come_and_go_leave_nothing(void **state)
{
    (void)state;
    add_shards(store, &shards, "x", kRow, 500, 86);
    for (int i = 0; i < 50; i++) {
        pthread_t threads[3];
        for (int k = 0; k < 3; k++)
            assert_int_equal(pthread_create(&threads[k], NULL, read_once, NULL), 0);
        for (int k = 0; k < 3; k++)
            pthread_join(threads[k], NULL);
    }
    drop_shards(store, &shards);
}

static dds_store_t alone;
static atomic_int together;

static void *read_together(void *arg)
{
    char out = 0;
    while (together) {
        const int64_t row = 0;
        ok(dds_epoch_begin(alone));
        ok(dds_get_batch_all(alone, "stays", 1, &row, &out, 1));
        ok(dds_epoch_end(alone));
    }
    return arg;
}

/* A thread that waits for its turn in a collective call reads nothing yet: one that drops a variable
 * and waits for readers must not wait for it. */
static void collective_calls_of_several_threads_take_turns(void **state)
{
    (void)state;
    const char one = 1;
    pthread_t threads[kThreads];
    dds_comm_t self = NULL;
    ok(dds_comm_self(&self));
    ok(dds_init(self, NULL, &alone));
    ok(dds_comm_free(&self));
    ok(dds_set_timeout(alone, 5000, 5000));
    ok(dds_add(alone, "stays", 1, 1, DDS_UINT8, &one, NULL));
    together = 1;
    for (int i = 0; i < kThreads; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, read_together, NULL), 0);
    for (int i = 0; i < 300; i++) {
        ok(dds_add(alone, "goes", 1, 1, DDS_UINT8, &one, NULL));
        ok(dds_drop(alone, "goes"));
    }
    together = 0;
    for (int i = 0; i < kThreads; i++)
        pthread_join(threads[i], NULL);
    ok(dds_free(&alone));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_threads_read_right_rows_at_once),
        cmocka_unit_test(other_variables_come_and_go_while_threads_read),
        cmocka_unit_test(a_drop_while_threads_read_ends_their_reads_cleanly),
        cmocka_unit_test(a_free_while_threads_read_ends_their_reads_cleanly),
        cmocka_unit_test(collective_calls_of_several_threads_take_turns),
        cmocka_unit_test(each_thread_has_its_own_last_error),
        cmocka_unit_test(threads_that_come_and_go_leave_nothing),
    };
    return run_group_with_store(tests);
}
