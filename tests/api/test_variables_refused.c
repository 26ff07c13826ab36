/* What dds_add, dds_create and dds_update refuse; each time the store is as before. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

/* A wrong argument, given by all ranks and by the last alone: the same code on every rank. */
static void add_fails(int64_t nrows, int64_t disp, int type, const dds_var_options_t *options,
                      int code)
{
    char data[64] = {0};
    fails_plainly(dds_add(store, "bad", nrows, disp, type, data, options), code);
    fails_plainly(dds_create(store, "bad", nrows, disp, type, options), code);
    if (ranks > 1 && my_rank == ranks - 1)
        fails_plainly(dds_add(store, "bad", nrows, disp, type, data, options), code);
    else if (ranks > 1)
        fails_plainly(dds_add(store, "bad", 1, 1, DDS_INT8, data, NULL), code);
    dds_info_t info = DDS_INFO_INIT;
    fails_plainly(dds_info(store, "bad", &info), DDS_ERR_NOTFOUND);
}

static void negative_sizes_and_unknown_types_are_refused(void **state)
{
    (void)state;
    add_fails(-1, 1, DDS_INT8, NULL, DDS_ERR_ARG);
    add_fails(INT64_MIN, 1, DDS_INT8, NULL, DDS_ERR_ARG);
    add_fails(1, -1, DDS_INT8, NULL, DDS_ERR_ARG);
    add_fails(1, 1, 0, NULL, DDS_ERR_TYPE);
    add_fails(1, 1, -1, NULL, DDS_ERR_TYPE);
    add_fails(1, 1, DDS_COMPLEX128 + 1, NULL, DDS_ERR_TYPE);
    add_fails(1, 1, DDS_BYTES(0), NULL, DDS_ERR_TYPE);
}

static void sizes_past_63_bits_are_refused_before_memory_is_asked_for(void **state)
{
    (void)state;
    const int64_t big = (int64_t)1 << 62;
    dds_stats_t before, after;
    stats_of(store, &before);
    add_fails(INT64_MAX, 8, DDS_FLOAT64, NULL, DDS_ERR_OVERFLOW);
    add_fails(big, 2, DDS_FLOAT64, NULL, DDS_ERR_OVERFLOW); /* 2^66 wraps to 0 */
    add_fails(big, 4, DDS_INT8, NULL, DDS_ERR_OVERFLOW);    /* 2^64 */
    add_fails(big, 2, DDS_INT8, NULL, DDS_ERR_OVERFLOW);    /* 2^63 */
    add_fails(1, INT64_MAX, DDS_INT16, NULL, DDS_ERR_OVERFLOW);
    add_fails(1, INT64_MAX / 2, DDS_BYTES((1 << 30) - 1), NULL, DDS_ERR_OVERFLOW);
    stats_of(store, &after);
    assert_int_equal(after.arena_bytes, before.arena_bytes);
}

static void rows_of_all_ranks_past_63_bits_are_refused(void **state)
{
    (void)state;
    char data = 0;
    if (ranks == 1)
        skip();
    /* Each shard alone is fine, for it has no bytes. */
    fails_plainly(dds_add(store, "bad", INT64_MAX / 2 + 1, 0, DDS_INT8, &data, NULL),
                  DDS_ERR_OVERFLOW);
    dds_info_t info = DDS_INFO_INIT;
    fails_plainly(dds_info(store, "bad", &info), DDS_ERR_NOTFOUND);
}

static void a_name_that_is_there_is_refused_whatever_the_shape(void **state)
{
    (void)state;
    char data[4] = {1, 2, 3, 4}, out[4];
    ok(dds_add(store, "there", 1, 4, DDS_INT8, data, NULL));
    fails(dds_add(store, "there", 1, 4, DDS_INT8, data, NULL), DDS_ERR_EXISTS, "there");
    fails(dds_add(store, "there", 1, 1, DDS_INT32, data, NULL), DDS_ERR_EXISTS, "there");
    fails(dds_create(store, "there", 0, 0, DDS_BOOL, NULL), DDS_ERR_EXISTS, "there");
    ok(dds_get(store, "there", ranks - 1, 1, out, 4));
    assert_memory_equal(out, data, 4);
    ok(dds_drop(store, "there"));
}

static void wrong_options_are_refused(void **state)
{
    (void)state;
    static const int64_t shape[] = {2, 3, 1, 1, 1, 1, 1, 1, 1}, negative[] = {-2, -3};
    const dds_var_options_t good = DDS_VAR_OPTIONS_INIT;
    dds_var_options_t bad = good;
    bad.struct_size = 0;
    add_fails(1, 6, DDS_INT8, &bad, DDS_ERR_ARG);
    bad.struct_size = sizeof bad - 1;
    add_fails(1, 6, DDS_INT8, &bad, DDS_ERR_ARG);
    bad = good, bad.flags = 1u << 31;
    add_fails(1, 6, DDS_INT8, &bad, DDS_ERR_ARG);
    bad = good, bad.flags = 4;
    add_fails(1, 6, DDS_INT8, &bad, DDS_ERR_ARG);
    bad = good, bad.memory = 1; /* not in this release */
    add_fails(1, 6, DDS_INT8, &bad, DDS_ERR_UNSUPPORTED);
    bad = good, bad.device = 1;
    add_fails(1, 6, DDS_INT8, &bad, DDS_ERR_UNSUPPORTED);
    bad = good, bad.reserved = 1;
    add_fails(1, 6, DDS_INT8, &bad, DDS_ERR_ARG);
    bad = good, bad.ndim = -1;
    add_fails(1, 6, DDS_INT8, &bad, DDS_ERR_ARG);
    bad = good, bad.ndim = 9, bad.shape = shape;
    add_fails(1, 6, DDS_INT8, &bad, DDS_ERR_ARG);
    bad = good, bad.ndim = 2;
    add_fails(1, 6, DDS_INT8, &bad, DDS_ERR_ARG); /* no shape */
    bad = good, bad.ndim = 2, bad.shape = shape;
    add_fails(1, 7, DDS_INT8, &bad, DDS_ERR_ARG); /* 2 x 3 is not 7 */
    bad = good, bad.ndim = 2, bad.shape = negative;
    add_fails(1, 6, DDS_INT8, &bad, DDS_ERR_ARG);
    bad = good, bad.meta_bytes = 1;
    add_fails(1, 6, DDS_INT8, &bad, DDS_ERR_ARG); /* no meta */
    char *meta = calloc(1, 65537);
    bad = good, bad.meta = meta, bad.meta_bytes = 65537;
    add_fails(1, 6, DDS_INT8, &bad, DDS_ERR_ARG);
    free(meta);
}

static void a_create_of_memory_that_is_not_there_cannot_stay_with_the_caller(void **state)
{
    (void)state;
    dds_var_options_t options = DDS_VAR_OPTIONS_INIT;
    options.flags = DDS_NOCOPY;
    fails_plainly(dds_create(store, "bad", 1, 6, DDS_INT8, &options), DDS_ERR_ARG);
}

static void an_update_stays_in_its_own_shard(void **state)
{
    (void)state;
    char data[16] = {0}, out[4];
    ok(dds_create(store, "x", 4, 4, DDS_INT8, NULL));
    memset(data, 1, sizeof data);
    fails_plainly(dds_update(store, "x", 0, 5, data), DDS_ERR_RANGE);
    fails_plainly(dds_update(store, "x", 4, 1, data), DDS_ERR_RANGE);
    fails_plainly(dds_update(store, "x", 5, 0, data), DDS_ERR_RANGE);
    fails_plainly(dds_update(store, "x", -1, 1, data), DDS_ERR_RANGE);
    fails_plainly(dds_update(store, "x", 1, INT64_MAX, data), DDS_ERR_RANGE);
    fails_plainly(dds_update(store, "x", INT64_MAX, INT64_MAX, data), DDS_ERR_RANGE);
    fails_plainly(dds_update(store, "x", 0, -1, data), DDS_ERR_ARG);
    meet();
    for (int64_t row = 0; row < 4 * ranks; row++) {
        ok(dds_get(store, "x", row, 1, out, 4));
        assert_memory_equal(out, "\0\0\0", 4);
    }
    ok(dds_drop(store, "x"));
}

static void structs_of_results_are_checked_and_filled_to_their_size(void **state)
{
    (void)state;
    char data[4] = {0};
    struct {
        dds_info_t known;
        uint64_t later;
    } longer = {.known = DDS_INFO_INIT, .later = 77};
    ok(dds_add(store, "x", 1, 4, DDS_INT8, data, NULL));
    dds_info_t info = DDS_INFO_INIT;
    info.struct_size = 0;
    fails_plainly(dds_info(store, "x", &info), DDS_ERR_ARG);
    longer.known.struct_size = sizeof longer;
    ok(dds_info(store, "x", &longer.known));
    assert_int_equal(longer.later, 0); /* what the library does not know is zero */
    assert_int_equal(longer.known.disp, 4);

    dds_stats_t stats = DDS_STATS_INIT;
    stats.struct_size = 3;
    fails_plainly(dds_stats(store, &stats), DDS_ERR_ARG);
    dds_profile_t profile = DDS_PROFILE_INIT;
    profile.struct_size = 3;
    fails_plainly(dds_profile(store, "x", &profile), DDS_ERR_ARG);
    ok(dds_drop(store, "x"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(negative_sizes_and_unknown_types_are_refused),
        cmocka_unit_test(sizes_past_63_bits_are_refused_before_memory_is_asked_for),
        cmocka_unit_test(rows_of_all_ranks_past_63_bits_are_refused),
        cmocka_unit_test(a_name_that_is_there_is_refused_whatever_the_shape),
        cmocka_unit_test(wrong_options_are_refused),
        cmocka_unit_test(a_create_of_memory_that_is_not_there_cannot_stay_with_the_caller),
        cmocka_unit_test(an_update_stays_in_its_own_shard),
        cmocka_unit_test(structs_of_results_are_checked_and_filled_to_their_size),
    };
    return run_group_with_store(tests);
}
