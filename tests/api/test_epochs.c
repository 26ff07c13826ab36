/* Epochs and what a read sees. */
#include <stdlib.h>
#include <string.h>

#include "support.h"

enum { kRow = 200, kRows = 16 };

static void every_update_before_the_epoch_is_seen_in_it(void **state)
{
    (void)state;
    char data[kRows * kRow], out[kRow];
    uint64_t random = (uint64_t)my_rank;
    ok(dds_create(store, "x", kRows, kRow, DDS_UINT8, NULL));
    for (uint32_t generation = 1; generation <= 200; generation++) {
        fill_rows(data, 1, generation, my_rank * kRows, kRows, kRow);
        ok(dds_update(store, "x", 0, kRows, data));
        ok(dds_epoch_begin(store));
        for (int i = 0; i < 20; i++) {
            const int64_t row = random_below(&random, kRows * ranks);
            ok(dds_get(store, "x", row, 1, out, kRow));
            check_row(out, 1, generation, row, kRow);
        }
        ok(dds_epoch_end(store)); /* nobody reads any more: the next update may come */
    }
    ok(dds_drop(store, "x"));
}

static void writes_in_place_are_seen_in_the_epoch_too(void **state)
{
    (void)state;
    void *data = NULL;
    int64_t nrows;
    char out[kRow];
    ok(dds_create(store, "x", kRows, kRow, DDS_UINT8, NULL));
    ok(dds_local(store, "x", &nrows, &data));
    for (uint32_t generation = 1; generation <= 100; generation++) {
        fill_rows(data, 1, generation, my_rank * kRows, kRows, kRow);
        ok(dds_epoch_begin(store));
        for (int64_t row = 0; row < kRows * ranks; row += 3) {
            ok(dds_get(store, "x", row, 1, out, kRow));
            check_row(out, 1, generation, row, kRow);
        }
        ok(dds_epoch_end(store));
    }
    ok(dds_drop(store, "x"));
    ok(dds_release_local(data));
}

static void a_message_of_the_callers_own_orders_as_well(void **state)
{
    (void)state;
    char data[kRows * kRow], out[kRow];
    ok(dds_create(store, "x", kRows, kRow, DDS_UINT8, NULL));
    for (uint32_t generation = 1; generation <= 20; generation++) {
        fill_rows(data, 1, generation, my_rank * kRows, kRows, kRow);
        ok(dds_update(store, "x", 0, kRows, data));
        meet();
        const int64_t row = (my_rank * kRows + kRows) % (kRows * ranks); /* the next rank's first */
        ok(dds_get(store, "x", row, 1, out, kRow));
        check_row(out, 1, generation, row, kRow);
        meet();
    }
    ok(dds_drop(store, "x"));
}

static void a_row_of_8_bytes_is_never_torn(void **state)
{
    (void)state;
    enum { kWords = 64 };
    uint64_t words[kWords], out[kWords];
    int64_t rows[kWords];
    ok(dds_create(store, "x", kWords, 1, DDS_UINT64, NULL));
    const double end = seconds() + 0.3;
    for (uint32_t round = 1; seconds() < end; round++) {
        for (int i = 0; i < kWords; i++)
            words[i] = (uint64_t)round << 32 | round;
        ok(dds_update(store, "x", 0, kWords, words));
        for (int i = 0; i < kWords; i++)
            rows[i] = (i * 7 + (int)round) % (kWords * ranks);
        ok(dds_get_batch(store, "x", kWords, rows, out, sizeof out));
        for (int i = 0; i < kWords; i++)
            assert_int_equal(out[i] >> 32, (uint32_t)out[i]);
    }
    ok(dds_drop(store, "x"));
}

static void a_row_read_while_it_is_updated_has_bytes_of_no_other_row(void **state)
{
    (void)state;
    unsigned char data[kRows][kRow], out[kRows * kRow];
    int64_t rows[kRows];
    ok(dds_create(store, "x", kRows, kRow, DDS_UINT8, NULL));
    for (int row = 0; row < kRows; row++)
        memset(data[row], row + 1, kRow);
    const double end = seconds() + 0.3;
    for (uint32_t round = 0; seconds() < end; round++) {
        for (int row = 0; row < kRows; row++)
            memset(data[row], (row + 1) | (round % 2 ? 0x80 : 0), kRow);
        ok(dds_update(store, "x", 0, kRows, data));
        for (int i = 0; i < kRows; i++)
            rows[i] = (i * 5 + (int)round) % (kRows * ranks);
        ok(dds_get_batch(store, "x", kRows, rows, out, sizeof out));
        for (int i = 0; i < kRows * kRow; i++) {
            const int row = (int)(rows[i / kRow] % kRows);
            assert_true(out[i] == 0 || (out[i] & 0x7f) == row + 1);
        }
    }
    ok(dds_drop(store, "x"));
}

static void method_1_has_no_epochs(void **state)
{
    (void)state;
    dds_options_t options = DDS_OPTIONS_INIT;
    dds_store_t other = NULL;
    options.method = DDS_METHOD_FABRIC;
    ok(dds_init(world, &options, &other));
    if (my_rank == 0) { /* not collective: the others do nothing */
        ok(dds_epoch_end(other));
        ok(dds_epoch_begin(other));
        ok(dds_epoch_begin(other));
    }
    close_store(&other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_update_before_the_epoch_is_seen_in_it),
        cmocka_unit_test(writes_in_place_are_seen_in_the_epoch_too),
        cmocka_unit_test(a_message_of_the_callers_own_orders_as_well),
        cmocka_unit_test(a_row_of_8_bytes_is_never_torn),
        cmocka_unit_test(a_row_read_while_it_is_updated_has_bytes_of_no_other_row),
        cmocka_unit_test(method_1_has_no_epochs),
    };
    return run_group_with_store(tests);
}
