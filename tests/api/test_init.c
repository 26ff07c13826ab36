/* Opening and closing stores: options, deadlines, who may be reached. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

/* Every rank gives the same wrong options, or the last rank alone. */
static void init_fails(const dds_options_t *options, int code, const char *text)
{
    dds_store_t store = NULL;
    fails(dds_init(world, options, &store), code, text);
    if (ranks > 1)
        fails(dds_init(world, my_rank == ranks - 1 ? options : NULL, &store), code, text);
    assert_null(store);
}

static void wrong_options_are_refused_on_every_rank(void **state)
{
    (void)state;
    const dds_options_t good = DDS_OPTIONS_INIT;
    dds_options_t bad = good;
    bad.struct_size = 0;
    init_fails(&bad, DDS_ERR_ARG, "");
    bad.struct_size = sizeof bad - 1;
    init_fails(&bad, DDS_ERR_ARG, "");
    bad = good, bad.flags = 4;
    init_fails(&bad, DDS_ERR_ARG, "flag");
    bad = good, bad.method = 3;
    init_fails(&bad, DDS_ERR_ARG, "3");
    bad = good, bad.method = -1;
    init_fails(&bad, DDS_ERR_ARG, "-1");
    bad = good, bad.timeout_ms = -7;
    init_fails(&bad, DDS_ERR_ARG, "-7");
    bad = good, bad.collective_timeout_ms = -7;
    init_fails(&bad, DDS_ERR_ARG, "-7");
    bad = good, bad.reserved = 1;
    init_fails(&bad, DDS_ERR_ARG, "reserved");
}

static void an_unknown_hint_is_refused_by_its_name(void **state)
{
    (void)state;
    dds_options_t options = DDS_OPTIONS_INIT;
    options.hints = (const char *const[]){"no.such=1", NULL};
    init_fails(&options, DDS_ERR_ARG, "no.such");
    options.hints = (const char *const[]){"nonsense", NULL};
    init_fails(&options, DDS_ERR_ARG, "nonsense");
}

typedef struct longer_s {
    dds_options_t known;
    uint64_t later;
} longer_t;

static void a_longer_struct_must_have_zeros_in_what_is_not_known(void **state)
{
    (void)state;
    longer_t longer = {DDS_OPTIONS_INIT, 0};
    longer.known.struct_size = sizeof longer;
    dds_store_t store = NULL;
    ok(dds_init(world, &longer.known, &store));
    close_store(&store);
    longer.later = 1;
    init_fails(&longer.known, DDS_ERR_UNSUPPORTED, "");
}

static void junk_in_the_environment_of_one_rank_is_named_on_all(void **state)
{
    (void)state;
    static const char *const names[] = {"DDSTORE_TIMEOUT_S", "DDSTORE_COLLECTIVE_TIMEOUT_S",
                                        "DDSTORE_PROFILE"};
    static const char *const junk[] = {"junk", "-1", "99999999999999999999", "nan", "1 ", "0x10"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        for (size_t j = 0; j < sizeof junk / sizeof *junk; j++) {
            dds_store_t store = NULL;
            if (my_rank == ranks - 1)
                setenv(names[i], junk[j], 1);
            fails(dds_init(world, NULL, &store), DDS_ERR_ARG, names[i], junk[j]);
            unsetenv(names[i]);
            assert_null(store);
        }
    }
}

static void without_a_wire_ranks_on_other_nodes_are_named(void **state)
{
    (void)state;
    char node[32];
    dds_comm_t files = NULL;
    dds_store_t store = NULL;
    ok(dds_comm_file(test_dir(), "nodes", my_rank, ranks, 20000, &files));
    snprintf(node, sizeof node, "node%d", my_rank);
    setenv("DDSTORE_NODE", node, 1);
    if (ranks == 1) {
        ok(dds_init(files, NULL, &store));
        close_store(&store);
    } else {
        fails(dds_init(files, NULL, &store), DDS_ERR_UNSUPPORTED, "rank");
    }
    unsetenv("DDSTORE_NODE");
    ok(dds_comm_free(&files));
}

static void methods_that_differ_are_a_mismatch_with_both(void **state)
{
    (void)state;
    if (ranks == 1)
        skip();
    dds_options_t options = DDS_OPTIONS_INIT;
    dds_store_t store = NULL;
    options.method = my_rank == 1 ? DDS_METHOD_FABRIC : DDS_METHOD_MPI;
    fails(dds_init(world, &options, &store), DDS_ERR_MISMATCH, "method", "1", "0");
    assert_int_equal(dds_last_error_rank() >= 0, 1);
    assert_null(store);
}

static void options_that_do_not_fit_are_told(void **state)
{
    (void)state;
    dds_options_t options = DDS_OPTIONS_INIT;
    options.method = DDS_METHOD_FILE;
    init_fails(&options, DDS_ERR_ARG, "DDSTORE_HANDSHAKE_DIR");
    options.method = DDS_METHOD_MPI;
    options.handshake_dir = test_dir();
    init_fails(&options, DDS_ERR_ARG, "handshake_dir");
    options.handshake_dir = NULL;
    options.nic_map = "0:mlx5_0";
    init_fails(&options, DDS_ERR_ARG, "nic_map");
}

static void either_method_serves_the_ranks_of_one_node(void **state)
{
    (void)state;
    for (int method = DDS_METHOD_MPI; method <= DDS_METHOD_FABRIC; method++) {
        dds_options_t options = DDS_OPTIONS_INIT;
        options.method = method;
        dds_store_t store = NULL;
        int rank = -1, size = -1;
        ok(dds_init(world, &options, &store));
        ok(dds_rank(store, &rank));
        ok(dds_size(store, &size));
        assert_int_equal(rank, my_rank);
        assert_int_equal(size, ranks);
        close_store(&store);
    }
}

static void deadlines_are_set_and_taken_back(void **state)
{
    (void)state;
    dds_store_t store = open_store();
    fails_plainly(dds_set_timeout(store, -1, 0), DDS_ERR_ARG);
    fails_plainly(dds_set_timeout(store, 0, -1), DDS_ERR_ARG);
    ok(dds_set_timeout(store, INT32_MAX, INT32_MAX));
    meet();
    ok(dds_set_timeout(store, 0, 0));
    fails_plainly(dds_rank(store, NULL), DDS_ERR_ARG);
    fails_plainly(dds_size(store, NULL), DDS_ERR_ARG);
    close_store(&store);
}

static void freeing_is_local_and_harmless_when_repeated(void **state)
{
    (void)state;
    dds_store_t store = open_store(), none = NULL;
    const dds_store_t stale = store;
    int rank;
    meet();
    const double begin = seconds();
    ok(dds_free(&store));
    assert_true(seconds() - begin < 1.0);
    assert_null(store);
    ok(dds_free(&store));
    ok(dds_free(&none));
    fails_plainly(dds_free(NULL), DDS_ERR_ARG);
    dds_store_t again = stale;
    fails_plainly(dds_free(&again), DDS_ERR_STATE);
    fails_plainly(dds_rank(stale, &rank), DDS_ERR_STATE);
    meet();
}

static void a_store_outlives_its_communicator(void **state)
{
    (void)state;
    char byte = (char)my_rank, all[64];
    dds_comm_t comm = NULL;
    dds_store_t store = NULL;
    ok(dds_comm_file(test_dir(), "short", my_rank, ranks, 20000, &comm));
    ok(dds_init(comm, NULL, &store));
    const dds_comm_t stale = comm;
    ok(dds_comm_free(&comm));
    ok(dds_add(store, "x", 1, 1, DDS_INT8, &byte, NULL));
    ok(dds_get(store, "x", 0, ranks, all, sizeof all));
    for (int rank = 0; rank < ranks; rank++)
        assert_int_equal(all[rank], rank);
    close_store(&store);
    fails_plainly(dds_init(stale, NULL, &store), DDS_ERR_STATE);
    fails_plainly(dds_init(NULL, NULL, &store), DDS_ERR_STATE);
}

static void stores_in_a_loop_leave_nothing(void **state)
{
    (void)state;
    dds_store_t store = open_store();
    close_store(&store);
    const int before = open_descriptors();
    dds_stats_t stats;
    char block[4096] = {0};
    for (int i = 0; i < 30; i++) {
        store = open_store();
        ok(dds_add(store, "x", 1, sizeof block, DDS_INT8, block, NULL));
        ok(dds_get(store, "x", ranks - 1, 1, block, sizeof block));
        close_store(&store);
    }
    meet();
    assert_int_equal(open_descriptors(), before);
    store = open_store();
    stats_of(store, &stats);
    assert_int_equal(stats.parked_bytes, 0);
    assert_int_equal(stats.quarantined_bytes, 0);
    close_store(&store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_options_are_refused_on_every_rank),
        cmocka_unit_test(an_unknown_hint_is_refused_by_its_name),
        cmocka_unit_test(a_longer_struct_must_have_zeros_in_what_is_not_known),
        cmocka_unit_test(junk_in_the_environment_of_one_rank_is_named_on_all),
        cmocka_unit_test(without_a_wire_ranks_on_other_nodes_are_named),
        cmocka_unit_test(methods_that_differ_are_a_mismatch_with_both),
        cmocka_unit_test(options_that_do_not_fit_are_told),
        cmocka_unit_test(either_method_serves_the_ranks_of_one_node),
        cmocka_unit_test(deadlines_are_set_and_taken_back),
        cmocka_unit_test(freeing_is_local_and_harmless_when_repeated),
        cmocka_unit_test(a_store_outlives_its_communicator),
        cmocka_unit_test(stores_in_a_loop_leave_nothing),
    };
    return run_group(tests);
}
