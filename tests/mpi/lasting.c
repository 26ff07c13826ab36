/* What must hold for long: no batch sees an old row, and nothing grows.  The arguments are the name of
 * a case and how often, where it is to be more than the few times of the suite. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi_world.h"
#include "support.h"

static int times;

static int times_or(int otherwise) { return times > 0 ? times : otherwise; }

static void batches_between_updates_see_no_old_row(void **state)
{
    (void)state;
    enum { kVariables = 3, kRows = 32, kMost = 4000, kBatch = 48, kABetween = 10 };
    static const size_t bytes[kVariables] = {8, 200, kMost};
    static char data[kRows * kMost], out[kBatch * kMost];
    char name[8];
    int64_t rows[kBatch];
    uint64_t random = (uint64_t)my_rank + 99;
    store = open_store();
    for (int v = 0; v < kVariables; v++) {
        snprintf(name, sizeof name, "v%d", v);
        ok(dds_create(store, name, kRows, (int64_t)bytes[v], DDS_UINT8, NULL));
    }
    const int batches = times_or(3000);
    for (int done = 0; done < batches;) {
        const uint32_t generation = (uint32_t)done + 1;
        for (int v = 0; v < kVariables; v++) {
            snprintf(name, sizeof name, "v%d", v);
            fill_rows(data, (uint32_t)v, generation, my_rank * kRows, kRows, bytes[v]);
            ok(dds_update(store, name, 0, kRows, data));
        }
        ok(dds_epoch_begin(store));
        for (int i = 0; i < kABetween; i++, done++) {
            const int v = (int)random_below(&random, kVariables);
            snprintf(name, sizeof name, "v%d", v);
            for (int k = 0; k < kBatch; k++)
                rows[k] = random_below(&random, kRows * ranks);
            ok(dds_get_batch(store, name, kBatch, rows, out, sizeof out));
            for (int k = 0; k < kBatch; k++)
                check_row(out + (size_t)k * bytes[v], (uint32_t)v, generation, rows[k], bytes[v]);
        }
        ok(dds_epoch_end(store));
    }
    for (int v = 0; v < kVariables; v++) {
        snprintf(name, sizeof name, "v%d", v);
        ok(dds_drop(store, name));
    }
    close_store(&store);
}

/* What the process holds, once the first rounds have warmed it up. */
typedef struct held_s {
    int descriptors;
    long kib;
} held_t;

static held_t held(void) { return (held_t){open_descriptors(), resident_kib()}; }

static void nothing_grew(const held_t *before, int rounds)
{
    const held_t now = held();
    print_message("rank %d, %d rounds: %d descriptors, then %d; %ld KiB, then %ld\n", my_rank,
                  rounds, before->descriptors, now.descriptors, before->kib, now.kib);
    assert_true(now.descriptors <= before->descriptors + 8);
#if !defined(__SANITIZE_ADDRESS__) /* which keeps what was freed for a while */
    assert_true(now.kib < before->kib + (16 << 10));
#endif
}

/* No rank waits for another before it frees its store: others may be in its last call still. */
static void stores_are_opened_and_freed_in_a_loop(void **state)
{
    (void)state;
    enum { kRows = 3, kRow = 100, kWarm = 100 };
    char data[kRows * kRow], out[kRow];
    held_t before = {0};
    dds_stats_t stats;
    uint64_t most = 0;
    const int n = times_or(500);
    for (int i = 0; i < n; i++) {
        dds_store_t open = open_store();
        if (i == kWarm)
            before = held();
        fill_rows(data, 1, (uint32_t)i, my_rank * kRows, kRows, kRow);
        ok(dds_add(open, "x", kRows, kRow, DDS_UINT8, data, NULL));
        const int64_t row = (my_rank + 1) % ranks * kRows + i % kRows;
        ok(dds_get(open, "x", row, 1, out, kRow));
        check_row(out, 1, (uint32_t)i, row, kRow);
        stats_of(open, &stats);
        assert_true(stats.windows <= 1);
        most = stats.parked_bytes > most ? stats.parked_bytes : most;
        assert_true(stats.parked_bytes < 64 << 20);
        ok(dds_free(&open));
    }
    print_message("rank %d: at most %llu bytes were parked\n", my_rank, (unsigned long long)most);
    if (n > 2 * kWarm)
        nothing_grew(&before, n - kWarm);
}

static void add_and_drop(uint32_t flags, size_t row)
{
    enum { kRows = 2, kWarm = 100 };
    dds_var_options_t options = DDS_VAR_OPTIONS_INIT;
    char *data = must_alloc(kRows * row), *out = must_alloc(row);
    held_t before = {0};
    dds_stats_t stats;
    options.flags = flags;
    store = open_store();
    const int n = times_or(300);
    for (int i = 0; i < n; i++) {
        if (i == kWarm)
            before = held();
        fill_rows(data, 1, (uint32_t)i, my_rank * kRows, kRows, row);
        ok(dds_add(store, "x", kRows, (int64_t)row, DDS_UINT8, data, &options));
        const int64_t which = (my_rank + 1) % ranks * kRows + i % kRows;
        ok(dds_get(store, "x", which, 1, out, row));
        check_row(out, 1, (uint32_t)i, which, row);
        ok(dds_drop(store, "x"));
        stats_of(store, &stats);
        assert_true(stats.windows <= 1);
        assert_int_equal(stats.quarantined_bytes, 0);
    }
    if (n > 2 * kWarm)
        nothing_grew(&before, n - kWarm);
    close_store(&store);
    free(data);
    free(out);
}

static void shards_in_place_are_added_and_dropped_in_a_loop(void **state)
{
    (void)state;
    add_and_drop(DDS_NOCOPY, 1000);
}

static void shards_with_an_arena_each_are_added_and_dropped_in_a_loop(void **state)
{
    (void)state;
    add_and_drop(DDS_HUGEPAGES, 100000);
}

static void small_shards_are_added_and_dropped_in_a_loop(void **state)
{
    (void)state;
    add_and_drop(0, 5000);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batches_between_updates_see_no_old_row),
        cmocka_unit_test(stores_are_opened_and_freed_in_a_loop),
        cmocka_unit_test(shards_in_place_are_added_and_dropped_in_a_loop),
        cmocka_unit_test(shards_with_an_arena_each_are_added_and_dropped_in_a_loop),
        cmocka_unit_test(small_shards_are_added_and_dropped_in_a_loop),
    };
    cmocka_set_test_filter(argc > 1 ? argv[1] : NULL);
    times = argc > 2 ? atoi(argv[2]) : 0;
    return run_group(tests);
}
