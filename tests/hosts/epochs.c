/* What a rank updates before an epoch is what ranks on other hosts read in it. */
#include "places.h"

enum { kRow = 200, kRows = 16, kGenerations = 100 };

static void read_some(uint32_t generation, uint64_t *random)
{
    int64_t rows[kRows];
    char out[kRows * kRow];
    for (int i = 0; i < kRows; i++)
        rows[i] = random_below(random, kRows * ranks);
    ok(dds_get_batch(store, "x", kRows, rows, out, sizeof out));
    for (int i = 0; i < kRows; i++)
        check_row(out + i * kRow, 1, generation, rows[i], kRow);
}

static void every_update_before_the_epoch_is_seen_on_every_host(void **state)
{
    (void)state;
    char data[kRows * kRow];
    uint64_t random = (uint64_t)my_rank;
    ok(dds_create(store, "x", kRows, kRow, DDS_UINT8, NULL));
    for (uint32_t generation = 1; generation <= kGenerations; generation++) {
        fill_rows(data, 1, generation, my_rank * kRows, kRows, kRow);
        ok(dds_update(store, "x", 0, kRows, data));
        ok(dds_epoch_begin(store));
        read_some(generation, &random);
        ok(dds_epoch_end(store)); /* nobody reads any more: the next update may come */
    }
    ok(dds_drop(store, "x"));
}

static void writes_in_place_are_seen_too(void **state)
{
    (void)state;
    void *data = NULL;
    int64_t nrows;
    uint64_t random = (uint64_t)my_rank;
    ok(dds_create(store, "x", kRows, kRow, DDS_UINT8, NULL));
    ok(dds_local(store, "x", &nrows, &data));
    for (uint32_t generation = 1; generation <= kGenerations; generation++) {
        fill_rows(data, 1, generation, my_rank * kRows, kRows, kRow);
        ok(dds_epoch_begin(store));
        read_some(generation, &random);
        ok(dds_epoch_end(store));
    }
    ok(dds_drop(store, "x"));
    ok(dds_release_local(data));
}

static void updates_of_one_host_alone_are_seen(void **state)
{
    (void)state;
    char data[kRows * kRow], out[kRow];
    ok(dds_create(store, "x", kRows, kRow, DDS_UINT8, NULL));
    for (uint32_t generation = 1; generation <= kGenerations; generation++) {
        const int writer = (int)generation % ranks;
        if (writer == my_rank) {
            fill_rows(data, 1, generation, my_rank * kRows, kRows, kRow);
            ok(dds_update(store, "x", 0, kRows, data));
        }
        ok(dds_epoch_begin(store));
        for (int64_t row = writer * kRows; row < (writer + 1) * kRows; row += 5) {
            ok(dds_get(store, "x", row, 1, out, kRow));
            check_row(out, 1, generation, row, kRow);
        }
        ok(dds_epoch_end(store));
    }
    ok(dds_drop(store, "x"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_update_before_the_epoch_is_seen_on_every_host),
        cmocka_unit_test(writes_in_place_are_seen_too),
        cmocka_unit_test(updates_of_one_host_alone_are_seen),
    };
    return cmocka_run_group_tests(tests, open_places_and_store, close_world_and_store);
}
