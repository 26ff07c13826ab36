/* DDS_NOCOPY: shards that stay in the caller's memory, read by process_vm_readv. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "support.h"

enum { kRow = 100, kRows = 30 };

static void *add_own(const char *name)
{
    dds_var_options_t options = DDS_VAR_OPTIONS_INIT;
    options.flags = DDS_NOCOPY;
    void *data =
        mmap(NULL, kRows * kRow, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(data != MAP_FAILED);
    fill_rows(data, 1, 0, my_rank * kRows, kRows, kRow);
    ok(dds_add(store, name, kRows, kRow, DDS_UINT8, data, &options));
    return data;
}

static void drop_own(const char *name, void *data)
{
    ok(dds_drop(store, name));
    meet();
    munmap(data, kRows * kRow);
}

static void no_memory_of_the_library_is_used(void **state)
{
    (void)state;
    dds_stats_t before, after;
    dds_info_t info = DDS_INFO_INIT;
    stats_of(store, &before);
    void *data = add_own("x");
    stats_of(store, &after);
    assert_int_equal(after.arena_bytes, before.arena_bytes);
    assert_int_equal(after.used_bytes, before.used_bytes);
    ok(dds_info(store, "x", &info));
    assert_int_equal(info.flags, DDS_NOCOPY);
    drop_own("x", data);
}

static void the_shard_in_place_is_the_callers_own(void **state)
{
    (void)state;
    void *data = add_own("x"), *place = NULL;
    int64_t nrows = 0;
    ok(dds_local(store, "x", &nrows, &place));
    assert_ptr_equal(place, data);
    assert_int_equal(nrows, kRows);
    ok(dds_release_local(place));
    drop_own("x", data);
}

static void what_the_owner_writes_is_read_after_a_barrier(void **state)
{
    (void)state;
    char out[kRow];
    void *data = add_own("x");
    for (uint32_t generation = 1; generation < 20; generation++) {
        fill_rows(data, 1, generation, my_rank * kRows, kRows, kRow);
        meet();
        dds_stats_t before;
        stats_of(store, &before);
        for (int64_t row = 0; row < kRows * ranks; row++) {
            ok(dds_get(store, "x", row, 1, out, kRow));
            check_row(out, 1, generation, row, kRow);
        }
        check_traffic(store, &before, kRows, kRows * (ranks - 1), kRow);
        meet();
    }
    drop_own("x", data);
}

static void it_cannot_be_updated_through_the_library(void **state)
{
    (void)state;
    char row[kRow] = {0};
    void *data = add_own("x");
    fails(dds_update(store, "x", 0, 1, row), DDS_ERR_UNSUPPORTED, "x");
    check_row(data, 1, 0, my_rank * kRows, kRow);
    drop_own("x", data);
}

static void memory_that_went_away_is_an_error_and_no_crash(void **state)
{
    (void)state;
    char out[kRow];
    void *data = add_own("x");
    if (ranks > 1) {
        if (my_rank == 1) /* unmapped, other memory could come to lie there */
            assert_int_equal(mprotect(data, kRows * kRow, PROT_NONE), 0);
        meet();
        if (my_rank != 1) {
            assert_true(dds_get(store, "x", kRows, 1, out, kRow) != DDS_SUCCESS);
            assert_true(strlen(dds_last_error()) > 0);
            ok(dds_get(store, "x", my_rank * kRows, 1, out, kRow));
            check_row(out, 1, 0, my_rank * kRows, kRow);
        }
        meet();
    }
    ok(dds_drop(store, "x"));
    meet();
    munmap(data, kRows * kRow);
}

static void flags_that_differ_are_a_mismatch(void **state)
{
    (void)state;
    if (ranks == 1)
        skip();
    dds_var_options_t options = DDS_VAR_OPTIONS_INIT;
    char data[8] = {0};
    options.flags = my_rank == 0 ? DDS_NOCOPY : 0;
    fails_plainly(dds_add(store, "x", 1, 8, DDS_INT8, data, &options), DDS_ERR_MISMATCH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_memory_of_the_library_is_used),
        cmocka_unit_test(the_shard_in_place_is_the_callers_own),
        cmocka_unit_test(what_the_owner_writes_is_read_after_a_barrier),
        cmocka_unit_test(it_cannot_be_updated_through_the_library),
        cmocka_unit_test(memory_that_went_away_is_an_error_and_no_crash),
        cmocka_unit_test(flags_that_differ_are_a_mismatch),
    };
    return run_group_with_store(tests);
}
