/* The caller's own allgather: four threads of this process as four ranks. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

enum { kThreads = 4, kMost = 1 << 16 };

typedef struct team_s {
    pthread_barrier_t all;
    pthread_mutex_t lock;
    int freed, calls;
    int fail_with; /* what the next allgather returns */
    unsigned char slot[kThreads][kMost];
} team_t;

typedef struct member_s {
    team_t *team;
    int rank;
    pthread_t thread;
} member_t;

static int share(void *ctx, const void *in, size_t bytes, void *out, int timeout_ms)
{
    member_t *me = ctx;
    team_t *team = me->team;
    if (timeout_ms <= 0)
        return DDS_ERR_ARG;
    if (bytes > kMost)
        return DDS_ERR_LIMIT;
    pthread_mutex_lock(&team->lock);
    team->calls++;
    const int fails_now = team->fail_with;
    pthread_mutex_unlock(&team->lock);
    if (fails_now)
        return fails_now;
    memcpy(team->slot[me->rank], in, bytes);
    pthread_barrier_wait(&team->all);
    for (int rank = 0; rank < kThreads; rank++)
        memcpy((char *)out + (size_t)rank * bytes, team->slot[rank], bytes);
    pthread_barrier_wait(&team->all);
    return 0;
}

static void count_free(void *ctx)
{
    team_t *team = ((member_t *)ctx)->team;
    pthread_mutex_lock(&team->lock);
    team->freed++;
    pthread_mutex_unlock(&team->lock);
}

static dds_comm_t open_comm(member_t *me)
{
    dds_comm_ops_t ops = DDS_COMM_OPS_INIT;
    dds_comm_t comm = NULL;
    ops.rank = me->rank;
    ops.size = kThreads;
    ops.allgather = share;
    ops.free = count_free;
    ok(dds_comm_custom(&ops, me, &comm));
    return comm;
}

/* What each rank does in main job: uneven shards, reads of all rows, an update, a drop. */
static void *use_a_store(void *arg)
{
    member_t *me = arg;
    dds_comm_t comm = open_comm(me);
    dds_store_t store = NULL;
    ok(dds_init(comm, NULL, &store));
    ok(dds_comm_free(&comm)); /* the store keeps its own */

    const int64_t mine = 10 * me->rank, total = 60; /* rank 0 has none */
    const int64_t first = 5 * me->rank * (me->rank - 1);
    enum { kRow = 40 };
    char shard[30 * kRow], out[60 * kRow];
    int64_t rows[60];
    fill_rows(shard, 3, 0, first, mine, kRow);
    ok(dds_add(store, "x", mine, kRow, DDS_INT8, shard, NULL));
    for (int64_t i = 0; i < total; i++)
        rows[i] = (i * 37 + me->rank) % total;
    ok(dds_get_batch(store, "x", total, rows, out, sizeof out));
    for (int64_t i = 0; i < total; i++)
        check_row(out + i * kRow, 3, 0, rows[i], kRow);

    ok(dds_epoch_end(store));
    fill_rows(shard, 3, 1, first, mine, kRow);
    ok(dds_update(store, "x", 0, mine, shard));
    ok(dds_epoch_begin(store));
    ok(dds_get_batch_all(store, "x", total, rows, out, sizeof out));
    for (int64_t i = 0; i < total; i++)
        check_row(out + i * kRow, 3, 1, rows[i], kRow);
    ok(dds_drop(store, "x"));
    ok(dds_free(&store));
    return NULL;
}

static void *use_the_collectives(void *arg)
{
    member_t *me = arg;
    dds_comm_t comm = open_comm(me);
    int all[kThreads];
    size_t sizes[kThreads];
    char text[64];
    ok(dds_comm_allgather(comm, &me->rank, sizeof me->rank, all));
    for (int rank = 0; rank < kThreads; rank++)
        assert_int_equal(all[rank], rank);
    ok(dds_comm_allgatherv(comm, "abcd", (size_t)me->rank, text, sizeof text, sizes));
    assert_memory_equal(text, "aababc", 6);
    ok(dds_comm_barrier(comm));
    ok(dds_comm_free(&comm));
    return NULL;
}

static void *see_the_failure(void *arg)
{
    member_t *me = arg;
    dds_comm_t comm = open_comm(me);
    dds_store_t store = NULL;
    fails_plainly(dds_comm_barrier(comm), DDS_ERR_PERM);        /* the callback's own code */
    fails_plainly(dds_init(comm, NULL, &store), DDS_ERR_STATE); /* it is of no use any more */
    assert_null(store);
    ok(dds_comm_free(&comm));
    return NULL;
}

static void run_team(void *(*body)(void *), int fail_with)
{
    team_t *team = calloc(1, sizeof *team);
    member_t members[kThreads];
    pthread_barrier_init(&team->all, NULL, kThreads);
    pthread_mutex_init(&team->lock, NULL);
    team->fail_with = fail_with;
    for (int rank = 0; rank < kThreads; rank++) {
        members[rank] = (member_t){.team = team, .rank = rank};
        assert_int_equal(pthread_create(&members[rank].thread, NULL, body, &members[rank]), 0);
    }
    for (int rank = 0; rank < kThreads; rank++)
        pthread_join(members[rank].thread, NULL);
    assert_true(team->calls > 0);
    assert_int_equal(team->freed, kThreads); /* once each */
    pthread_barrier_destroy(&team->all);
    pthread_mutex_destroy(&team->lock);
    free(team);
}

static void four_threads_are_four_ranks_of_the_collectives(void **state)
{
    (void)state;
    run_team(use_the_collectives, 0);
}

static void four_threads_are_four_ranks_of_a_store(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++)
        run_team(use_a_store, 0);
}

static void the_code_of_a_callback_that_fails_is_passed_on(void **state)
{
    (void)state;
    run_team(see_the_failure, DDS_ERR_PERM);
}

static void wrong_options_are_refused(void **state)
{
    (void)state;
    dds_comm_t comm = NULL;
    dds_comm_ops_t good = DDS_COMM_OPS_INIT;
    good.allgather = share;
    dds_comm_ops_t bad = good;
    fails_plainly(dds_comm_custom(NULL, NULL, &comm), DDS_ERR_ARG);
    fails_plainly(dds_comm_custom(&good, NULL, NULL), DDS_ERR_ARG);
    bad.allgather = NULL;
    fails_plainly(dds_comm_custom(&bad, NULL, &comm), DDS_ERR_ARG);
    bad = good, bad.flags = 1;
    fails_plainly(dds_comm_custom(&bad, NULL, &comm), DDS_ERR_ARG);
    bad = good, bad.struct_size = 0;
    fails_plainly(dds_comm_custom(&bad, NULL, &comm), DDS_ERR_ARG);
    bad = good, bad.struct_size--;
    fails_plainly(dds_comm_custom(&bad, NULL, &comm), DDS_ERR_ARG);
    bad = good, bad.rank = 1;
    fails_plainly(dds_comm_custom(&bad, NULL, &comm), DDS_ERR_ARG);
    bad = good, bad.rank = -1;
    fails_plainly(dds_comm_custom(&bad, NULL, &comm), DDS_ERR_ARG);
    bad = good, bad.size = 0;
    fails_plainly(dds_comm_custom(&bad, NULL, &comm), DDS_ERR_ARG);
    assert_null(comm);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_options_are_refused),
        cmocka_unit_test(the_code_of_a_callback_that_fails_is_passed_on),
        cmocka_unit_test(four_threads_are_four_ranks_of_the_collectives),
        cmocka_unit_test(four_threads_are_four_ranks_of_a_store),
    };
    return run_alone(tests);
}
