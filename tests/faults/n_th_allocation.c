/* The n-th allocation of a call fails, for every n until the call passes: DDS_ERR_NOMEM, on every
 * rank where the call is collective; the store is as before, and nothing leaks. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support.h"

void fail_allocation(long nth);
long allocation_failures(void);

enum { kRow = 64, kMost = 5000 };

static int64_t rows[] = {0, 1, 0};
static char data[4 * kRow], out[4 * kRow];

/* What must not change when a call fails. */
typedef struct facts_s {
    uint64_t used;
    size_t list;
    int descriptors;
} facts_t;

static facts_t facts(void)
{
    dds_stats_t stats;
    facts_t now = {.descriptors = open_descriptors()};
    stats_of(store, &stats);
    ok(dds_list(store, NULL, 0, &now.list));
    now.used = stats.used_bytes;
    return now;
}

/* Rank 0 alone has no memory. */
#define each_allocation_fails(call, undo, collective) \
    each_allocation_fails_(call, undo, collective, #call)
static long each_allocation_fails_(int (*call)(void), int (*undo)(void), bool collective,
                                   const char *name)
{
    const facts_t before = facts();
    for (long n = 1; n < kMost; n++) {
        if (my_rank == 0)
            fail_allocation(n);
        const int code = call();
        struct {
            int code;
            long failures;
        } mine = {code, allocation_failures()}, all[64];
        ok(dds_comm_allgather(world, &mine, sizeof mine, all));
        if (collective)
            for (int rank = 0; rank < ranks; rank++)
                assert_int_equal(all[rank].code, all[0].code);
        else if (my_rank != 0)
            ok(code);
        if (code == DDS_SUCCESS && undo)
            ok(undo());
        else if (code != DDS_SUCCESS)
            fails_plainly(code, DDS_ERR_NOMEM);
        const facts_t after = facts();
        if (after.descriptors != before.descriptors || after.used != before.used)
            print_error("rank %d: %s, allocation %ld: %s\n", my_rank, name, n,
                        dds_error_name(code));
        assert_int_equal(after.used, before.used);
        assert_int_equal(after.list, before.list);
        assert_int_equal(after.descriptors, before.descriptors);
        if (all[0].failures == 0) {
            assert_int_equal(all[0].code, DDS_SUCCESS);
            return n - 1;
        }
    }
    fail_msg("it never passes");
    return -1;
}

static int call_add(void) { return dds_add(store, "new", 2, kRow, DDS_INT8, data, NULL); }
static int call_own_add(void)
{
    dds_var_options_t options = DDS_VAR_OPTIONS_INIT;
    options.flags = DDS_NOCOPY;
    options.meta = "schema";
    options.meta_bytes = 6;
    return dds_add(store, "new", 2, kRow, DDS_INT8, data, &options);
}
static int call_large_create(void) { return dds_create(store, "new", 65, 1 << 20, DDS_INT8, NULL); }
static int undo_add(void) { return dds_drop(store, "new"); }
static int call_get(void) { return dds_get(store, "x", 0, 2, out, sizeof out); }
static int call_get_batch(void) { return dds_get_batch(store, "x", 3, rows, out, sizeof out); }
static int call_get_batch_all(void)
{
    return dds_get_batch_all(store, "x", 3, rows, out, sizeof out);
}
static int call_iget_batch(void)
{
    dds_request_t request = NULL;
    const int code = dds_iget_batch(store, "x", 3, rows, out, sizeof out, NULL, &request);
    return code ? code : dds_wait(&request, 0);
}
static int call_local(void)
{
    int64_t nrows;
    void *place = NULL;
    const int code = dds_local(store, "x", &nrows, &place);
    return code ? code : dds_release_local(place);
}
static int call_register(void) { return dds_register_recv(store, out, sizeof out); }
static int undo_register(void) { return dds_unregister_recv(store, out); }
static int call_epoch(void) { return dds_epoch_begin(store); }
static int call_refused(void)
{
    const int code = dds_get(store, "x", 100, 1, out, sizeof out);
    return code == DDS_ERR_RANGE ? DDS_SUCCESS : code;
}

static void no_memory_for_a_variable_is_told_on_all_ranks(void **state)
{
    (void)state;
    assert_true(each_allocation_fails(call_add, undo_add, true) > 0);
    assert_true(each_allocation_fails(call_own_add, undo_add, true) > 0);
    assert_true(each_allocation_fails(call_large_create, undo_add, true) > 0);
}

/* A rank may lack the memory to tell the others: they end when it leaves, and not well. */
static void no_memory_for_a_store_leaves_no_rank_waiting(void **state)
{
    (void)state;
    char dir[4096];
    const int before = open_descriptors();
    struct {
        int code;
        long failures;
    } mine = {0, 1}, all[64] = {{0, 1}};
    snprintf(dir, sizeof dir, "%s/init", test_dir());
    for (long n = 1; all[0].failures > 0; n++) {
        dds_comm_t comm = NULL;
        dds_store_t fresh = NULL;
        assert_true(n < kMost);
        ok(dds_comm_file(dir, NULL, my_rank, ranks, 20000, &comm));
        if (my_rank == 0)
            fail_allocation(n);
        mine.code = dds_init(comm, NULL, &fresh);
        mine.failures = allocation_failures();
        if (my_rank == 0 && mine.code != DDS_SUCCESS && mine.code != DDS_ERR_LIMIT)
            fails_plainly(mine.code, DDS_ERR_NOMEM); /* LIMIT: of a thread */
        if (mine.code != DDS_SUCCESS)
            ok(dds_comm_free(&comm));
        ok(dds_comm_allgather(world, &mine, sizeof mine, all));
        if (all[0].code == DDS_SUCCESS)
            ok(mine.code);
        else if (mine.code == DDS_SUCCESS) /* it failed when all had agreed: it is gone */
            fails(dds_epoch_begin(fresh), DDS_ERR_PEER, "rank 0");
        ok(dds_free(&fresh));
        ok(dds_comm_free(&comm));
        /* A thread that was writing a file for the communicator may still be closing it. */
        for (int i = 0; i < 200 && open_descriptors() != before; i++)
            usleep(10000);
        assert_int_equal(open_descriptors(), before);
    }
    assert_int_equal(mine.code, DDS_SUCCESS);
    remove_meeting(dir);
}

static void reads_and_epochs_need_no_memory_once_they_ran(void **state)
{
    (void)state;
    ok(call_get());
    ok(call_get_batch());
    ok(call_get_batch_all());
    assert_int_equal(each_allocation_fails(call_get, NULL, false), 0);
    assert_int_equal(each_allocation_fails(call_get_batch, NULL, false), 0);
    assert_int_equal(each_allocation_fails(call_get_batch_all, NULL, true), 0);
    assert_int_equal(each_allocation_fails(call_epoch, NULL, true), 0);
}

static void other_calls_tell_it_and_change_nothing(void **state)
{
    (void)state;
    each_allocation_fails(call_iget_batch, NULL, false);
    each_allocation_fails(call_local, NULL, false);
    each_allocation_fails(call_register, undo_register, false);
}

/* Without memory for its text an error is still the right error. */
static void an_error_keeps_its_code_without_memory(void **state)
{
    (void)state;
    for (long n = 1; n < 20; n++) {
        fail_allocation(n);
        const int code = call_refused();
        allocation_failures();
        assert_true(code == DDS_SUCCESS || code == DDS_ERR_NOMEM);
    }
    ok(call_refused());
}

static void drops_need_no_memory(void **state)
{
    (void)state;
    ok(call_add());
    if (my_rank == 0)
        fail_allocation(1);
    const int code = dds_drop(store, "new");
    allocation_failures();
    ok(code);
}

static int open_all(void **state)
{
    open_world_and_store(state);
    ok(dds_add(store, "x", 4, kRow, DDS_INT8, data, NULL));
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_and_epochs_need_no_memory_once_they_ran),
        cmocka_unit_test(drops_need_no_memory),
        cmocka_unit_test(an_error_keeps_its_code_without_memory),
        cmocka_unit_test(other_calls_tell_it_and_change_nothing),
        cmocka_unit_test(no_memory_for_a_variable_is_told_on_all_ranks),
        cmocka_unit_test(no_memory_for_a_store_leaves_no_rank_waiting),
    };
    return cmocka_run_group_tests(tests, open_all, close_world_and_store);
}
