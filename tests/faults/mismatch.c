/* Ranks of a collective call that do not agree: the same error on all of them, with what differs in
 * its text, and a store that works on. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

static char data[64];

/* The store takes new variables, reads them and has none that only some ranks know. */
static void works_on(void)
{
    char names[64];
    size_t bytes = 0;
    int32_t mine = my_rank, all[64];
    ok(dds_add(store, "after", 1, 1, DDS_INT32, &mine, NULL));
    ok(dds_get(store, "after", 0, ranks, all, sizeof all));
    for (int rank = 0; rank < ranks; rank++)
        assert_int_equal(all[rank], rank);
    ok(dds_list(store, names, sizeof names, &bytes));
    assert_int_equal(bytes, sizeof "after");
    ok(dds_drop(store, "after"));
}

/* Each rank in turn is the one that differs. */
static void each_in_turn(int (*call)(bool differs), const char *one, const char *other)
{
    for (int rank = 0; rank < ranks; rank++) {
        fails(call(my_rank == rank), DDS_ERR_MISMATCH, one, other);
        assert_in_range(dds_last_error_rank(), 0, ranks - 1);
        works_on();
    }
}

static int add_type(bool differs)
{
    return dds_add(store, "x", 1, 2, differs ? DDS_FLOAT32 : DDS_INT32, data, NULL);
}
static int add_width(bool differs)
{
    return dds_add(store, "x", 1, differs ? 13 : 12, DDS_INT8, data, NULL);
}
static int add_name(bool differs)
{
    return dds_add(store, differs ? "pear" : "apple", 1, 2, DDS_INT32, data, NULL);
}
static int add_flags(bool differs)
{
    dds_var_options_t options = DDS_VAR_OPTIONS_INIT;
    options.flags = differs ? DDS_HUGEPAGES : 0;
    return dds_add(store, "x", 1, 2, DDS_INT32, data, &options);
}
static int add_shape(bool differs)
{
    static const int64_t one[] = {2, 3}, other[] = {3, 2};
    dds_var_options_t options = DDS_VAR_OPTIONS_INIT;
    options.ndim = 2;
    options.shape = differs ? one : other;
    return dds_add(store, "x", 1, 6, DDS_INT32, data, &options);
}
static int add_meta(bool differs)
{
    dds_var_options_t options = DDS_VAR_OPTIONS_INIT;
    options.meta = differs ? "abc" : "abd";
    options.meta_bytes = 3;
    return dds_add(store, "x", 1, 6, DDS_INT32, data, &options);
}
static int add_or_create(bool differs)
{
    return differs ? dds_create(store, "x", 1, 2, DDS_INT32, NULL)
                   : dds_add(store, "x", 1, 2, DDS_INT32, data, NULL);
}
static int add_or_epoch(bool differs)
{
    return differs ? dds_epoch_begin(store) : dds_add(store, "x", 1, 2, DDS_INT32, data, NULL);
}
static int begin_or_end(bool differs)
{
    return differs ? dds_epoch_begin(store) : dds_epoch_end(store);
}
static int drop_or_add(bool differs)
{
    return differs ? dds_drop(store, "there") : dds_add(store, "x", 1, 2, DDS_INT32, data, NULL);
}

static void another_type_is_told_with_both(void **state)
{
    (void)state;
    each_in_turn(add_type, "int32", "float32");
}

static void another_width_is_told_with_both(void **state)
{
    (void)state;
    each_in_turn(add_width, "12", "13");
}

static void another_name_is_told_with_both(void **state)
{
    (void)state;
    each_in_turn(add_name, "apple", "pear");
}

static void other_flags_shapes_and_schemas_are_told(void **state)
{
    (void)state;
    each_in_turn(add_flags, "flags", "");
    each_in_turn(add_shape, "shape", "");
    each_in_turn(add_meta, "meta", "");
}

static void another_call_is_told_with_both(void **state)
{
    (void)state;
    each_in_turn(add_or_create, "add", "create");
    each_in_turn(add_or_epoch, "add", "epoch");
    each_in_turn(begin_or_end, "begin", "end");
}

static void a_rank_that_drops_instead_of_adding_drops_nothing(void **state)
{
    (void)state;
    char out = 0;
    for (int rank = 0; rank < ranks; rank++) {
        ok(dds_add(store, "there", 1, 1, DDS_INT8, "t", NULL));
        fails(drop_or_add(my_rank == rank), DDS_ERR_MISMATCH, "drop", "add");
        ok(dds_get(store, "there", ranks - 1, 1, &out, 1));
        assert_int_equal(out, 't');
        ok(dds_drop(store, "there"));
        works_on();
    }
}

/* The others add one and then two; one rank leaves out the first. */
static void a_rank_that_skips_an_add_is_told_at_once(void **state)
{
    (void)state;
    for (int rank = 0; rank < ranks; rank++) {
        fails(dds_add(store, my_rank == rank ? "two" : "one", 1, 1, DDS_INT8, data, NULL),
              DDS_ERR_MISMATCH, "one", "two");
        works_on(); /* all of them do the same again */
    }
}

static void a_drop_of_different_names_drops_neither(void **state)
{
    (void)state;
    char out;
    ok(dds_add(store, "apple", 1, 1, DDS_INT8, "a", NULL));
    ok(dds_add(store, "pear", 1, 1, DDS_INT8, "p", NULL));
    fails(dds_drop(store, my_rank == 0 ? "apple" : "pear"), DDS_ERR_MISMATCH, "apple", "pear");
    ok(dds_get(store, "apple", 0, 1, &out, 1));
    ok(dds_get(store, "pear", 0, 1, &out, 1));
    ok(dds_drop(store, "apple"));
    ok(dds_drop(store, "pear"));
    works_on();
}

static void disagreement_leaks_no_memory(void **state)
{
    (void)state;
    dds_stats_t before, after;
    stats_of(store, &before);
    for (int i = 0; i < 100; i++)
        fails_plainly(add_type(my_rank == i % ranks), DDS_ERR_MISMATCH);
    stats_of(store, &after);
    assert_int_equal(after.arena_bytes, before.arena_bytes);
    assert_int_equal(after.used_bytes, before.used_bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(another_type_is_told_with_both),
        cmocka_unit_test(another_width_is_told_with_both),
        cmocka_unit_test(another_name_is_told_with_both),
        cmocka_unit_test(other_flags_shapes_and_schemas_are_told),
        cmocka_unit_test(another_call_is_told_with_both),
        cmocka_unit_test(a_rank_that_drops_instead_of_adding_drops_nothing),
        cmocka_unit_test(a_rank_that_skips_an_add_is_told_at_once),
        cmocka_unit_test(a_drop_of_different_names_drops_neither),
        cmocka_unit_test(disagreement_leaks_no_memory),
    };
    return run_group_with_store(tests);
}
