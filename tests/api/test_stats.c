/* What a store tells about itself: stats, profile and path. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

static void the_path_to_each_rank_is_told_in_words(void **state)
{
    (void)state;
    const char *path = path_under_test() == DDS_PATH_MPI      ? "mpi"
                       : path_under_test() == DDS_PATH_FABRIC ? "fabric"
                                                              : "shm";
    char text[64];
    for (int rank = 0; rank < ranks; rank++) {
        memset(text, 'z', sizeof text);
        ok(dds_path(store, rank, text, sizeof text));
        assert_non_null(memchr(text, '\0', sizeof text));
        assert_ptr_equal(strstr(text, rank == my_rank ? "self" : path), text);
    }
    memset(text, 'z', sizeof text);
    ok(dds_path(store, (my_rank + 1) % ranks, text, 3)); /* cut to fit */
    assert_memory_equal(text, ranks == 1 ? "se" : path, 2);
    assert_int_equal(text[2], '\0');
    assert_int_equal(text[3], 'z');
    fails_plainly(dds_path(store, ranks, text, sizeof text), DDS_ERR_RANGE);
    fails_plainly(dds_path(store, -1, text, sizeof text), DDS_ERR_RANGE);
}

static void a_new_store_has_read_nothing(void **state)
{
    (void)state;
    dds_store_t fresh = open_store();
    dds_stats_t stats;
    stats_of(fresh, &stats);
    for (int i = 0; i < 8; i++) {
        assert_int_equal(stats.rows[i], 0);
        assert_int_equal(stats.bytes[i], 0);
    }
    assert_int_equal(stats.used_bytes, 0);
    assert_int_equal(stats.dead_peers, 0);
    assert_int_equal(stats.timeouts, 0);
    assert_int_equal(stats.windows, 0);
    close_store(&fresh);
}

static void memory_is_counted_while_it_is_used(void **state)
{
    (void)state;
    enum { kBytes = 3 << 20 };
    dds_stats_t before, with, after;
    stats_of(store, &before);
    ok(dds_create(store, "x", my_rank == 0 ? kBytes : 0, 1, DDS_UINT8, NULL));
    stats_of(store, &with);
    const uint64_t more = with.used_bytes - before.used_bytes;
    assert_true(my_rank == 0 ? more >= kBytes && more < kBytes + 4096 : more == 0);
    if (my_rank == 0)
        assert_true(with.arenas >= 1 && with.arena_bytes >= with.used_bytes);
    assert_true(with.table_bytes > before.table_bytes);
    ok(dds_drop(store, "x"));
    stats_of(store, &after);
    assert_int_equal(after.used_bytes, before.used_bytes);
}

static void tables_grow_with_ranks_and_not_with_their_square(void **state)
{
    (void)state;
    dds_stats_t before, after;
    char name[] = "t00";
    stats_of(store, &before);
    for (int i = 0; i < 100; i++) {
        name[1] = (char)('0' + i / 10);
        name[2] = (char)('0' + i % 10);
        ok(dds_create(store, name, 10 + my_rank, 1, DDS_INT8, NULL));
    }
    stats_of(store, &after);
    /* At most 64 bytes a peer and variable, besides the variable itself. */
    assert_true((after.table_bytes - before.table_bytes) / 100 <= 64u * (unsigned)ranks + 1024);
    for (int i = 0; i < 100; i++) {
        name[1] = (char)('0' + i / 10);
        name[2] = (char)('0' + i % 10);
        ok(dds_drop(store, name));
    }
}

static void read_twice(dds_store_t from)
{
    const int64_t rows[] = {0, 0, 0};
    char out[12], byte[4] = {0};
    dds_request_t request = NULL;
    ok(dds_add(from, "x", 1, 4, DDS_INT8, byte, NULL));
    ok(dds_get(from, "x", 0, 1, out, sizeof out));
    ok(dds_get_batch(from, "x", 3, rows, out, sizeof out));
    ok(dds_get_batch_all(from, "x", 3, rows, out, sizeof out));
    ok(dds_iget_batch(from, "x", 2, rows, out, sizeof out, NULL, &request));
    ok(dds_wait(&request, 0));
}

static void a_profile_counts_only_when_asked_to(void **state)
{
    (void)state;
    dds_profile_t profile = DDS_PROFILE_INIT;
    dds_store_t fresh = open_store();
    read_twice(fresh);
    ok(dds_profile(fresh, "x", &profile));
    assert_int_equal(profile.calls, 0);
    assert_int_equal(profile.rows, 0);
    close_store(&fresh);

    setenv("DDSTORE_PROFILE", "1", 1);
    fresh = open_store();
    unsetenv("DDSTORE_PROFILE");
    read_twice(fresh);
    ok(dds_profile(fresh, "x", &profile));
    assert_int_equal(profile.calls, 4);
    assert_int_equal(profile.rows, 9);
    assert_int_equal(profile.mr_miss, 0); /* of wires only */
    assert_int_equal(profile.mr_ns, 0);
    close_store(&fresh);
}

static void *read_from_others(void *from)
{
    enum { kBatch = 64 };
    int64_t rows[kBatch], out[kBatch];
    for (int i = 0; i < kBatch; i++)
        rows[i] = (my_rank + 1) % ranks;
    for (int i = 0; i < 50; i++)
        ok(dds_get_batch(from, "x", kBatch, rows, out, sizeof out));
    return NULL;
}

static void a_profile_takes_the_time_of_wires(void **state)
{
    (void)state;
    if ((path_under_test() != DDS_PATH_FABRIC && path_under_test() != DDS_PATH_MPI) || ranks == 1)
        skip();
    enum { kThreads = 6 }; /* more than there are endpoints to read through */
    dds_profile_t profile = DDS_PROFILE_INIT;
    pthread_t threads[kThreads];
    const int64_t value = my_rank;
    setenv("DDSTORE_PROFILE", "1", 1);
    dds_store_t fresh = open_store();
    unsetenv("DDSTORE_PROFILE");
    ok(dds_add(fresh, "x", 1, 1, DDS_INT64, &value, NULL));
    for (int i = 0; i < kThreads; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, read_from_others, fresh), 0);
    const double begin = seconds();
    for (int i = 0; i < kThreads; i++)
        pthread_join(threads[i], NULL);
    const double most = (seconds() - begin) * kThreads * 1e9;
    ok(dds_profile(fresh, "x", &profile));
    assert_int_equal(profile.calls, 50 * kThreads);
    assert_int_equal(profile.rows, 64 * 50 * kThreads);
    assert_true(profile.read_ns > 0 && profile.cq_ns > 0);
    assert_true((double)(profile.read_ns + profile.cq_ns) < most + 1e9);
    assert_true(profile.lock_wait_ns <= profile.read_ns + profile.cq_ns);
    close_store(&fresh);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_path_to_each_rank_is_told_in_words),
        cmocka_unit_test(a_new_store_has_read_nothing),
        cmocka_unit_test(memory_is_counted_while_it_is_used),
        cmocka_unit_test(tables_grow_with_ranks_and_not_with_their_square),
        cmocka_unit_test(a_profile_counts_only_when_asked_to),
        cmocka_unit_test(a_profile_takes_the_time_of_wires),
    };
    return run_group_with_store(tests);
}
