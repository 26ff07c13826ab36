/* Handles and pointers that are not what they should be, for every function that takes them. */
#include <stdlib.h>
#include <string.h>

#include "support.h"

static int64_t rows[4], number;
static char bytes[256];
static size_t size;
static int word;
static void *pointer;

typedef int (*call_t)(dds_store_t store, const char *name);

static int add(dds_store_t s, const char *name)
{
    return dds_add(s, name, 1, 1, DDS_INT8, bytes, NULL);
}
static int create(dds_store_t s, const char *name)
{
    return dds_create(s, name, 1, 1, DDS_INT8, NULL);
}
static int update(dds_store_t s, const char *name) { return dds_update(s, name, 0, 0, bytes); }
static int local(dds_store_t s, const char *name) { return dds_local(s, name, &number, &pointer); }
static int drop(dds_store_t s, const char *name) { return dds_drop(s, name); }
static int info(dds_store_t s, const char *name)
{
    dds_info_t out = DDS_INFO_INIT;
    return dds_info(s, name, &out);
}
static int meta(dds_store_t s, const char *name) { return dds_meta(s, name, bytes, 1, &size); }
static int owner(dds_store_t s, const char *name) { return dds_owner(s, name, 0, &word, &number); }
static int partition(dds_store_t s, const char *name)
{
    int64_t first[65];
    return dds_partition(s, name, first);
}
static int get(dds_store_t s, const char *name) { return dds_get(s, name, 0, 1, bytes, 256); }
static int get_batch(dds_store_t s, const char *name)
{
    return dds_get_batch(s, name, 1, rows, bytes, 256);
}
static int get_batch_all(dds_store_t s, const char *name)
{
    return dds_get_batch_all(s, name, 1, rows, bytes, 256);
}
static int iget_batch(dds_store_t s, const char *name)
{
    dds_request_t request = NULL;
    const int code = dds_iget_batch(s, name, 1, rows, bytes, 256, NULL, &request);
    return code ? code : dds_wait(&request, 0);
}
static int profile(dds_store_t s, const char *name)
{
    dds_profile_t out = DDS_PROFILE_INIT;
    return dds_profile(s, name, &out);
}
static const struct named_s {
    call_t call;
    bool looks_up;
} with_name[] = {{add, false},       {create, false}, {update, true},    {local, true},
                 {drop, true},       {info, true},    {meta, true},      {owner, true},
                 {partition, true},  {get, true},     {get_batch, true}, {get_batch_all, true},
                 {iget_batch, true}, {profile, true}};
enum { kNamed = sizeof with_name / sizeof *with_name };

static int path(dds_store_t s, const char *name)
{
    (void)name;
    return dds_path(s, 0, bytes, 256);
}
static int list(dds_store_t s, const char *name)
{
    (void)name;
    return dds_list(s, bytes, 256, &size);
}
static int stats(dds_store_t s, const char *name)
{
    (void)name;
    dds_stats_t out = DDS_STATS_INIT;
    return dds_stats(s, &out);
}
static int rank(dds_store_t s, const char *name) { return (void)name, dds_rank(s, &word); }
static int size_(dds_store_t s, const char *name) { return (void)name, dds_size(s, &word); }
static int timeout(dds_store_t s, const char *name) { return (void)name, dds_set_timeout(s, 0, 0); }
static int begin(dds_store_t s, const char *name) { return (void)name, dds_epoch_begin(s); }
static int end(dds_store_t s, const char *name) { return (void)name, dds_epoch_end(s); }
static int recv(dds_store_t s, const char *name)
{
    return (void)name, dds_register_recv(s, bytes, sizeof bytes);
}
static int unrecv(dds_store_t s, const char *name)
{
    return (void)name, dds_unregister_recv(s, bytes);
}
static int init(dds_store_t s, const char *name)
{
    dds_store_t out = NULL;
    return (void)name, dds_init((dds_comm_t)s, NULL, &out);
}
static int barrier(dds_store_t s, const char *name)
{
    return (void)name, dds_comm_barrier((dds_comm_t)s);
}
static int free_(dds_store_t s, const char *name)
{
    dds_store_t copy = s;
    return (void)name, s ? dds_free(&copy) : DDS_ERR_STATE;
}
static int cancel(dds_store_t s, const char *name)
{
    dds_request_t copy = (dds_request_t)s;
    return (void)name, s ? dds_cancel(&copy) : DDS_ERR_STATE;
}
static int wait(dds_store_t s, const char *name)
{
    dds_request_t copy = (dds_request_t)s;
    return (void)name, s ? dds_wait(&copy, 0) : DDS_ERR_STATE;
}
static int test(dds_store_t s, const char *name)
{
    dds_request_t copy = (dds_request_t)s;
    return (void)name, s ? dds_test(&copy, &word) : DDS_ERR_STATE;
}
static const call_t without_name[] = {path, list,   stats, rank,    size_, timeout, begin, end,
                                      recv, unrecv, init,  barrier, free_, cancel,  wait,  test};
enum { kUnnamed = sizeof without_name / sizeof *without_name };

static void every_call_tells(dds_store_t handle)
{
    for (size_t i = 0; i < kNamed; i++)
        fails_plainly(with_name[i].call(handle, "x"), DDS_ERR_STATE);
    for (size_t i = 0; i < kUnnamed; i++)
        fails_plainly(without_name[i](handle, NULL), DDS_ERR_STATE);
}

static void a_null_handle_is_told_by_every_function(void **state)
{
    (void)state;
    every_call_tells(NULL);
}

static void a_handle_that_was_never_given_out_is_told_by_every_function(void **state)
{
    (void)state;
    uint64_t seed = 1;
    char here[64] = {0};
    every_call_tells((dds_store_t)here);
    every_call_tells((dds_store_t)(uintptr_t)1);
    every_call_tells((dds_store_t)UINTPTR_MAX);
    for (int i = 0; i < 200; i++) {
        const uint64_t any = random_next(&seed);
        every_call_tells((dds_store_t)(uintptr_t)(any >> any % 60));
    }
}

static void a_freed_handle_is_told_by_every_function(void **state)
{
    (void)state;
    dds_store_t store = open_store();
    const dds_store_t stale = store;
    close_store(&store);
    every_call_tells(stale);
    store = open_store(); /* which may take its place */
    every_call_tells(stale);
    close_store(&store);
}

static void a_handle_of_another_kind_is_told(void **state)
{
    (void)state;
    dds_store_t store = open_store();
    int any;
    for (size_t i = 0; i < kNamed; i++)
        fails_plainly(with_name[i].call((dds_store_t)world, "x"), DDS_ERR_STATE);
    dds_store_t as_store = (dds_store_t)world;
    dds_comm_t as_comm = (dds_comm_t)store;
    dds_request_t as_request = (dds_request_t)store;
    fails_plainly(dds_free(&as_store), DDS_ERR_STATE);
    fails_plainly(dds_comm_free(&as_comm), DDS_ERR_STATE);
    fails_plainly(dds_comm_rank(as_comm, &any), DDS_ERR_STATE);
    fails_plainly(dds_cancel(&as_request), DDS_ERR_STATE);
    fails_plainly(dds_wait(&as_request, 0), DDS_ERR_STATE);
    ok(dds_rank(store, &any)); /* it is whole */
    close_store(&store);
}

static void a_name_is_1_to_255_bytes_of_utf8(void **state)
{
    (void)state;
    dds_store_t store = open_store();
    char longest[257], *long_name = must_alloc(1 << 20);
    memset(longest, 'n', sizeof longest);
    longest[256] = '\0';
    memset(long_name, 'n', 1 << 20);
    long_name[(1 << 20) - 1] = '\0';
    const char *const bad[] = {NULL,      "",         longest,        long_name,          "\xff",
                               "a\xc3",   "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\x80",
                               "\xe2\x82"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        for (size_t j = 0; j < kNamed; j++)
            fails_plainly(with_name[j].call(store, bad[i]), DDS_ERR_ARG);

    longest[255] = '\0';
    const char *const good[] = {longest, "../x",     "/",         "\n",
                                " ",     "\xc3\xa9", "e\xcc\x81", "\xf0\x9f\xa6\x86",
                                "a b",   "%",        "\x01"};
    enum { kGood = sizeof good / sizeof *good };
    for (size_t i = 0; i < kGood; i++) {
        bytes[0] = (char)i;
        ok(add(store, good[i]));
    }
    for (size_t i = 0; i < kGood; i++) { /* e with acute accent: two names in two forms */
        ok(get(store, good[i]));
        assert_int_equal(bytes[0], i);
    }
    for (size_t i = 0; i < kGood; i++)
        ok(dds_drop(store, good[i]));
    free(long_name);
    close_store(&store);
}

static void a_name_that_is_not_there_is_told_with_the_name(void **state)
{
    (void)state;
    dds_store_t store = open_store();
    for (size_t i = 0; i < kNamed; i++)
        if (with_name[i].looks_up)
            fails(with_name[i].call(store, "not there"), DDS_ERR_NOTFOUND, "not there");
    close_store(&store);
}

static void null_pointers_are_refused_one_by_one(void **state)
{
    (void)state;
    dds_store_t store = open_store();
    dds_request_t request = NULL, *requests = NULL;
    ok(add(store, "x"));
    fails_plainly(dds_init(world, NULL, NULL), DDS_ERR_ARG);
    fails_plainly(dds_add(store, "y", 1, 1, DDS_INT8, NULL, NULL), DDS_ERR_ARG);
    fails_plainly(dds_update(store, "x", 0, 1, NULL), DDS_ERR_ARG);
    fails_plainly(dds_local(store, "x", &number, NULL), DDS_ERR_ARG);
    fails_plainly(dds_info(store, "x", NULL), DDS_ERR_ARG);
    fails_plainly(dds_meta(store, "x", NULL, 0, NULL), DDS_ERR_ARG);
    fails_plainly(dds_meta(store, "x", NULL, 1, &size), DDS_ERR_ARG);
    fails_plainly(dds_partition(store, "x", NULL), DDS_ERR_ARG);
    fails_plainly(dds_list(store, NULL, 0, NULL), DDS_ERR_ARG);
    fails_plainly(dds_list(store, NULL, 1, &size), DDS_ERR_ARG);
    fails_plainly(dds_get(store, "x", 0, 1, NULL, 1), DDS_ERR_ARG);
    fails_plainly(dds_get_batch(store, "x", 1, NULL, bytes, 1), DDS_ERR_ARG);
    fails_plainly(dds_get_batch(store, "x", 1, rows, NULL, 1), DDS_ERR_ARG);
    fails_plainly(dds_get_batch_all(store, "x", 1, NULL, bytes, 1), DDS_ERR_ARG);
    fails_plainly(dds_get_batch_all(store, "x", 1, rows, NULL, 1), DDS_ERR_ARG);
    fails_plainly(dds_iget_batch(store, "x", 1, NULL, bytes, 1, NULL, &request), DDS_ERR_ARG);
    fails_plainly(dds_iget_batch(store, "x", 1, rows, NULL, 1, NULL, &request), DDS_ERR_ARG);
    fails_plainly(dds_iget_batch(store, "x", 1, rows, bytes, 1, NULL, NULL), DDS_ERR_ARG);
    fails_plainly(dds_wait(NULL, 0), DDS_ERR_ARG);
    fails_plainly(dds_test(NULL, &word), DDS_ERR_ARG);
    fails_plainly(dds_test(&request, NULL), DDS_ERR_ARG);
    fails_plainly(dds_waitall(1, requests, 0), DDS_ERR_ARG);
    fails_plainly(dds_waitall(-1, &request, 0), DDS_ERR_ARG);
    fails_plainly(dds_waitany(1, requests, 0, &word), DDS_ERR_ARG);
    fails_plainly(dds_waitany(1, &request, 0, NULL), DDS_ERR_ARG);
    fails_plainly(dds_cancel(NULL), DDS_ERR_ARG);
    fails_plainly(dds_register_recv(store, NULL, 1), DDS_ERR_ARG);
    fails_plainly(dds_unregister_recv(store, NULL), DDS_ERR_ARG);
    fails_plainly(dds_profile(store, "x", NULL), DDS_ERR_ARG);
    fails_plainly(dds_stats(store, NULL), DDS_ERR_ARG);
    fails_plainly(dds_path(store, 0, NULL, 1), DDS_ERR_ARG);
    assert_null(request);
    ok(get(store, "x"));
    ok(drop(store, "x"));
    close_store(&store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_null_handle_is_told_by_every_function),
        cmocka_unit_test(a_handle_that_was_never_given_out_is_told_by_every_function),
        cmocka_unit_test(a_freed_handle_is_told_by_every_function),
        cmocka_unit_test(a_handle_of_another_kind_is_told),
        cmocka_unit_test(a_name_is_1_to_255_bytes_of_utf8),
        cmocka_unit_test(a_name_that_is_not_there_is_told_with_the_name),
        cmocka_unit_test(null_pointers_are_refused_one_by_one),
    };
    return run_group(tests);
}
