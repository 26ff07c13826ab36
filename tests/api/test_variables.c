/* Variables: made, filled, described and dropped. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

static void every_type_is_kept_as_given(void **state)
{
    (void)state;
    dds_store_t store = open_store();
    for (int i = DDS_BOOL; i <= DDS_COMPLEX128 + 1; i++) {
        const int type = i <= DDS_COMPLEX128 ? i : DDS_BYTES(37);
        const size_t item = dds_type_size(type), row = 3 * item;
        const int64_t mine = my_rank + 1;
        char *data = must_alloc((size_t)mine * row), *out = must_alloc(row);
        const int64_t first = my_rank * (my_rank + 1) / 2;
        fill_rows(data, 1, 0, first, mine, row);
        ok(dds_add(store, "typed", mine, 3, type, data, NULL));
        dds_info_t info = DDS_INFO_INIT;
        ok(dds_info(store, "typed", &info));
        assert_int_equal(info.type, type);
        assert_int_equal(info.itemsize, item);
        assert_int_equal(info.disp, 3);
        assert_int_equal(info.rows, ranks * (ranks + 1) / 2);
        assert_int_equal(info.first, first);
        assert_int_equal(info.nrows, mine);
        assert_int_equal(info.memory, DDS_MEM_HOST);
        assert_int_equal(info.ndim, 0);
        assert_int_equal(info.meta_bytes, 0);
        for (int64_t at = 0; at < info.rows; at++) {
            ok(dds_get(store, "typed", at, 1, out, row));
            check_row(out, 1, 0, at, row);
        }
        ok(dds_drop(store, "typed"));
        free(data);
        free(out);
    }
    close_store(&store);
}

static void created_rows_are_zero_and_updates_are_seen(void **state)
{
    (void)state;
    enum { kRows = 50, kRow = 24 };
    dds_store_t store = open_store();
    char out[kRow], zero[kRow] = {0}, data[kRows * kRow];
    ok(dds_create(store, "x", kRows, kRow / 8, DDS_FLOAT64, NULL));
    for (int64_t at = 0; at < ranks * kRows; at++) {
        ok(dds_get(store, "x", at, 1, out, sizeof out));
        assert_memory_equal(out, zero, kRow);
    }
    meet();
    fill_rows(data, 1, 1, my_rank * kRows, kRows, kRow);
    ok(dds_update(store, "x", 0, 10, data)); /* in pieces: the first, none, the rest */
    ok(dds_update(store, "x", 10, 0, NULL));
    ok(dds_update(store, "x", kRows, 0, NULL));
    ok(dds_update(store, "x", 10, kRows - 10, data + 10 * kRow));
    meet();
    for (int64_t at = 0; at < ranks * kRows; at++) {
        ok(dds_get(store, "x", at, 1, out, sizeof out));
        check_row(out, 1, 1, at, kRow);
    }
    close_store(&store);
}

static void a_shard_is_filled_in_place(void **state)
{
    (void)state;
    enum { kRow = 100 };
    dds_store_t store = open_store();
    const int64_t mine = my_rank == 0 ? 0 : 20; /* rank 0 has no rows, but alone it needs some */
    const int64_t rows = ranks == 1 ? 20 : mine, first = ranks == 1 ? 0 : 20 * (my_rank - 1);
    const int64_t total = ranks == 1 ? 20 : 20 * (ranks - 1);
    int64_t nrows = -1;
    void *data = &nrows;
    char out[kRow];
    ok(dds_create(store, "x", rows, kRow, DDS_UINT8, NULL));
    ok(dds_local(store, "x", &nrows, &data));
    assert_int_equal(nrows, rows);
    if (rows == 0)
        assert_null(data);
    else
        fill_rows(data, 1, 0, first, rows, kRow);
    ok(dds_epoch_begin(store));
    for (int64_t at = 0; at < total; at++) {
        ok(dds_get(store, "x", at, 1, out, sizeof out));
        check_row(out, 1, 0, at, kRow);
    }
    ok(dds_epoch_end(store));
    ok(dds_drop(store, "x"));
    if (rows) { /* the view stays after the drop, and after the free */
        check_row(data, 1, 0, first, kRow);
        ok(dds_free(&store));
        check_row((char *)data + (rows - 1) * kRow, 1, 0, first + rows - 1, kRow);
    }
    ok(dds_free(&store));
    ok(dds_release_local(data));
    ok(dds_release_local(NULL));
    if (rows)
        fails_plainly(dds_release_local(data), DDS_ERR_ARG);
    meet();
}

static void shape_and_schema_travel_with_the_variable(void **state)
{
    (void)state;
    dds_store_t store = open_store();
    char *schema = must_alloc(65536), *back = must_alloc(65536);
    const int64_t shape[] = {2, 3, 4};
    float rows[24] = {0};
    fill_rows(schema, 9, 9, 0, 1, 65536);
    dds_var_options_t options = DDS_VAR_OPTIONS_INIT;
    options.ndim = 3;
    options.shape = shape;
    options.meta = schema;
    options.meta_bytes = 65536;
    ok(dds_add(store, "x", 1, 24, DDS_FLOAT32, rows, &options));
    dds_info_t info = DDS_INFO_INIT;
    ok(dds_info(store, "x", &info));
    assert_int_equal(info.ndim, 3);
    assert_memory_equal(info.shape, shape, sizeof shape);
    assert_int_equal(info.meta_bytes, 65536);

    size_t bytes = 0;
    ok(dds_meta(store, "x", NULL, 0, &bytes));
    assert_int_equal(bytes, 65536);
    bytes = 0;
    fails_plainly(dds_meta(store, "x", back, 65535, &bytes), DDS_ERR_TRUNCATED);
    assert_int_equal(bytes, 65536);
    ok(dds_meta(store, "x", back, 65536, &bytes));
    assert_memory_equal(back, schema, 65536);
    free(schema);
    free(back);
    close_store(&store);
}

static void owner_and_partition_agree_with_a_count_by_hand(void **state)
{
    (void)state;
    dds_store_t store = open_store();
    for (uint64_t seed = 1; seed <= 20; seed++) {
        shards_t shards;
        int64_t first[65];
        int rank = -1;
        int64_t local_row = -1;
        add_shards(store, &shards, "x", 8, seed * 13, seed);
        ok(dds_partition(store, "x", first));
        assert_memory_equal(first, shards.first, sizeof *first * ((size_t)ranks + 1));
        for (int64_t row = 0; row < total_rows(&shards); row++) {
            ok(dds_owner(store, "x", row, &rank, &local_row));
            assert_int_equal(rank, owner_of(&shards, row));
            assert_int_equal(local_row, row - shards.first[rank]);
        }
        ok(dds_owner(store, "x", 0, NULL, NULL));
        fails_plainly(dds_owner(store, "x", total_rows(&shards), &rank, NULL), DDS_ERR_RANGE);
        fails_plainly(dds_owner(store, "x", -1, &rank, NULL), DDS_ERR_RANGE);
        drop_shards(store, &shards);
    }
    close_store(&store);
}

static void names_are_listed_in_order_of_creation(void **state)
{
    (void)state;
    dds_store_t store = open_store();
    char names[64];
    size_t bytes = 99;
    ok(dds_list(store, NULL, 0, &bytes));
    assert_int_equal(bytes, 0);
    ok(dds_create(store, "zebra", 1, 1, DDS_INT8, NULL));
    ok(dds_create(store, "ape", 0, 1, DDS_INT8, NULL));
    ok(dds_create(store, "mouse", 1, 0, DDS_INT8, NULL));
    ok(dds_drop(store, "ape"));
    ok(dds_create(store, "ape", 1, 1, DDS_INT8, NULL));
    ok(dds_list(store, names, sizeof names, &bytes));
    assert_int_equal(bytes, sizeof "zebra\0mouse\0ape");
    assert_memory_equal(names, "zebra\0mouse\0ape", bytes);
    bytes = 0;
    fails_plainly(dds_list(store, names, sizeof "zebra\0mouse\0ape" - 1, &bytes),
                  DDS_ERR_TRUNCATED);
    assert_int_equal(bytes, sizeof "zebra\0mouse\0ape");
    close_store(&store);
}

static void a_dropped_variable_is_gone_and_its_name_free(void **state)
{
    (void)state;
    dds_store_t store = open_store();
    char byte;
    for (char round = 0; round < 20; round++) {
        ok(dds_add(store, "x", 1, 1, DDS_INT8, &round, NULL));
        ok(dds_get(store, "x", ranks - 1, 1, &byte, 1));
        assert_int_equal(byte, round);
        ok(dds_drop(store, "x"));
        fails(dds_get(store, "x", 0, 1, &byte, 1), DDS_ERR_NOTFOUND, "x");
        fails(dds_drop(store, "x"), DDS_ERR_NOTFOUND, "x");
    }
    dds_stats_t stats;
    stats_of(store, &stats);
    assert_int_equal(stats.used_bytes, 0);
    close_store(&store);
}

static void nothing_at_all_is_a_variable_too(void **state)
{
    (void)state;
    dds_store_t store = open_store();
    static const int64_t none[] = {0};
    dds_info_t info = DDS_INFO_INIT;
    char byte = 7;
    ok(dds_add(store, "no rows", 0, 5, DDS_INT8, NULL, NULL));
    ok(dds_info(store, "no rows", &info));
    assert_int_equal(info.rows, 0);
    ok(dds_get(store, "no rows", 0, 0, NULL, 0));
    ok(dds_get_batch(store, "no rows", 0, NULL, NULL, 0));
    ok(dds_get_batch_all(store, "no rows", 0, NULL, NULL, 0));
    fails_plainly(dds_get(store, "no rows", 0, 1, &byte, 5), DDS_ERR_RANGE);
    fails_plainly(dds_get_batch(store, "no rows", 1, none, &byte, 5), DDS_ERR_RANGE);

    ok(dds_add(store, "no width", 4, 0, DDS_FLOAT64, NULL, NULL));
    ok(dds_info(store, "no width", &info));
    assert_int_equal(info.rows, 4 * ranks);
    assert_int_equal(info.disp, 0);
    ok(dds_get(store, "no width", 0, 4 * ranks, NULL, 0));
    ok(dds_get_batch(store, "no width", 1, none, NULL, 0));
    fails_plainly(dds_get(store, "no width", 4 * ranks, 1, NULL, 0), DDS_ERR_RANGE);
    assert_int_equal(byte, 7);
    close_store(&store);
}

static void a_thousand_variables_are_kept_apart(void **state)
{
    (void)state;
    dds_store_t store = open_store();
    char name[32];
    for (int i = 0; i < 1000; i++) {
        const int64_t value = i * 100 + my_rank;
        snprintf(name, sizeof name, "var%d", i);
        ok(dds_add(store, name, 1, 1, DDS_INT64, &value, NULL));
    }
    for (int i = 999; i >= 0; i--) {
        int64_t value[64];
        snprintf(name, sizeof name, "var%d", i);
        ok(dds_get(store, name, 0, ranks, value, sizeof value));
        for (int rank = 0; rank < ranks; rank++)
            assert_int_equal(value[rank], i * 100 + rank);
    }
    dds_stats_t stats;
    stats_of(store, &stats);
    assert_true(stats.arenas <= 4); /* not one each */
    close_store(&store);
}

static void a_huge_page_shard_is_read_like_any_other(void **state)
{
    (void)state;
    enum { kRow = 1 << 20, kRows = 3 };
    dds_store_t store = open_store();
    dds_var_options_t options = DDS_VAR_OPTIONS_INIT;
    options.flags = DDS_HUGEPAGES;
    char *data = must_alloc(kRows * kRow);
    fill_rows(data, 1, 0, my_rank * kRows, kRows, kRow);
    ok(dds_add(store, "x", kRows, kRow, DDS_UINT8, data, &options));
    dds_info_t info = DDS_INFO_INIT;
    ok(dds_info(store, "x", &info));
    assert_int_equal(info.flags, DDS_HUGEPAGES);
    for (int64_t at = 0; at < kRows * ranks; at++) {
        ok(dds_get(store, "x", at, 1, data, kRow));
        check_row(data, 1, 0, at, kRow);
    }
    free(data);
    close_store(&store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_at_all_is_a_variable_too),
        cmocka_unit_test(every_type_is_kept_as_given),
        cmocka_unit_test(created_rows_are_zero_and_updates_are_seen),
        cmocka_unit_test(a_shard_is_filled_in_place),
        cmocka_unit_test(shape_and_schema_travel_with_the_variable),
        cmocka_unit_test(owner_and_partition_agree_with_a_count_by_hand),
        cmocka_unit_test(names_are_listed_in_order_of_creation),
        cmocka_unit_test(a_dropped_variable_is_gone_and_its_name_free),
        cmocka_unit_test(a_thousand_variables_are_kept_apart),
        cmocka_unit_test(a_huge_page_shard_is_read_like_any_other),
    };
    return run_group(tests);
}
