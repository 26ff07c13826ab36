/* kill -9 of one of four ranks at random moments: reads go on and are right, collectives end with
 * DDS_ERR_PEER naming it within a second, and the survivors close down without a rest. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "family.h"

enum { kRanks = 4, kRows = 100, kRow = 200, kBatch = 32, kRounds = 100 };

static uint64_t seed;

static void read_some(dds_store_t from, uint64_t *random, bool at_all)
{
    int64_t rows[kBatch];
    char out[kBatch * kRow];
    for (int i = 0; i < kBatch; i++)
        rows[i] = random_below(random, kRows * kRanks);
    if (at_all)
        ok(dds_get_batch_all(from, "x", kBatch, rows, out, sizeof out));
    else
        ok(dds_get_batch(from, "x", kBatch, rows, out, sizeof out));
    for (int i = 0; i < kBatch; i++)
        check_row(out + i * kRow, 5, 0, rows[i], kRow);
}

static dds_store_t open_filled(uint32_t flags, char *data)
{
    dds_store_t opened = NULL;
    dds_var_options_t options = DDS_VAR_OPTIONS_INIT;
    options.flags = flags;
    fill_rows(data, 5, 0, my_rank * kRows, kRows, kRow);
    ok(dds_init(world, NULL, &opened));
    ok(dds_add(opened, "x", kRows, kRow, DDS_UINT8, data, &options));
    return opened;
}

static void named_in_time(int code, const shared_t *shared)
{
    const long long late = now_ns() - shared->struck_at;
    char name[16];
    snprintf(name, sizeof name, "rank %d", shared->victim);
    fails(code, DDS_ERR_PEER, name);
    assert_int_equal(dds_last_error_rank(), shared->victim);
    assert_true(late < 1000000000);
}

/* What holds afterwards, whatever the ranks were doing. */
static void poisoned_but_readable(dds_store_t from, uint64_t *random)
{
    dds_stats_t stats = {0};
    for (int i = 0; i < 20; i++)
        read_some(from, random, false);
    const double begin = seconds();
    fails_plainly(dds_epoch_begin(from), DDS_ERR_POISONED);
    fails_plainly(dds_drop(from, "x"), DDS_ERR_POISONED);
    assert_true(seconds() - begin < 0.5);
    /* Another survivor may have seen it first; the watcher here comes a little later. */
    for (const double end = seconds() + 1; stats.dead_peers == 0 && seconds() < end; sleep_ms(1))
        stats_of(from, &stats);
    assert_int_equal(stats.dead_peers, 1);
}

/* All survivors are here: who frees its store is gone for the others, too. */
static void after_the_others(shared_t *shared)
{
    shared->code[my_rank] = 1;
    for (int rank = 0; rank < kRanks; rank++)
        while (rank != shared->victim && !shared->code[rank])
            sleep_ms(1);
}

static void close_in_time(dds_store_t *open, shared_t *shared, int descriptors)
{
    after_the_others(shared);
    const double begin = seconds();
    ok(dds_free(open));
    assert_true(seconds() - begin < 1.0);
    assert_int_equal(open_descriptors(), descriptors);
}

static void read_until_one_dies(shared_t *shared)
{
    static char data[kRows * kRow];
    const int descriptors = open_descriptors();
    uint64_t random = seed + (uint64_t)my_rank;
    dds_store_t open = open_filled(0, data);
    shared->ready++;
    while (!shared->struck_at)
        read_some(open, &random, false);
    for (int i = 0; i < 50; i++)
        read_some(open, &random, false);
    named_in_time(dds_epoch_begin(open), shared);
    poisoned_but_readable(open, &random);
    close_in_time(&open, shared, descriptors);
}

/* One of the collectives; its code. */
static int together(dds_store_t open, uint64_t *random, int round)
{
    int64_t rows[kBatch];
    char out[kBatch * kRow] = {0};
    for (int i = 0; i < kBatch; i++)
        rows[i] = random_below(random, kRows * kRanks);
    switch (round % 6) {
    case 0: return dds_add(open, "y", 4, kRow, DDS_UINT8, out, NULL);
    case 1: return dds_drop(open, "y");
    case 2: return dds_create(open, "z", round % 7 ? 2 : 20000, kRow, DDS_UINT8, NULL);
    case 3: return dds_epoch_begin(open);
    case 4: return dds_drop(open, "z");
    default: return dds_get_batch_all(open, "x", kBatch, rows, out, sizeof out);
    }
}

static void agree_until_one_dies(shared_t *shared)
{
    static char data[kRows * kRow];
    const int descriptors = open_descriptors();
    uint64_t random = seed + (uint64_t)my_rank;
    dds_store_t open = open_filled(0, data);
    int code = DDS_SUCCESS;
    shared->ready++;
    for (int round = 0; code == DDS_SUCCESS; round++)
        code = together(open, &random, round);
    while (!shared->struck_at) /* the signal may be faster than the parent's note of it */
        sleep_ms(1);
    named_in_time(code, shared);
    poisoned_but_readable(open, &random);
    close_in_time(&open, shared, descriptors);
}

/* Rows that stay in the memory of their rank go with it; all others are read as before. */
static void read_from_memory_that_dies(shared_t *shared)
{
    static char data[kRows * kRow];
    uint64_t random = seed + (uint64_t)my_rank;
    dds_store_t open = open_filled(DDS_NOCOPY, data);
    char out[kRow], name[16];
    shared->ready++;
    int code = DDS_SUCCESS;
    while (code == DDS_SUCCESS) {
        const int64_t row = random_below(&random, kRows * kRanks);
        code = dds_get(open, "x", row, 1, out, kRow);
        if (code == DDS_SUCCESS)
            check_row(out, 5, 0, row, kRow);
    }
    while (!shared->struck_at)
        sleep_ms(1);
    snprintf(name, sizeof name, "rank %d", shared->victim);
    fails(code, DDS_ERR_PEER, name);
    for (int64_t row = 0; row < kRows * kRanks; row += 7) {
        if (row / kRows == shared->victim) {
            fails(dds_get(open, "x", row, 1, out, kRow), DDS_ERR_PEER, name);
        } else {
            ok(dds_get(open, "x", row, 1, out, kRow));
            check_row(out, 5, 0, row, kRow);
        }
    }
    after_the_others(shared); /* their memory must stay until all have read it */
    ok(dds_free(&open));
}

static void rounds(int n, int most_us, void (*body)(shared_t *))
{
    uint64_t random = seed;
    for (int i = 0; i < n; i++) {
        family_t family = {0};
        const int victim = (int)random_below(&random, kRanks);
        const long long wait_us = random_below(&random, most_us);
        family_start(&family, kRanks, body);
        family_await_ready(&family, kRanks);
        for (const long long end = now_ns() + wait_us * 1000; now_ns() < end;)
            sleep_ms(0);
        family_strike(&family, victim, SIGKILL);
        family_end(&family, victim);
        seed += 1000;
    }
}

static void readers_go_on_when_a_rank_is_killed(void **state)
{
    (void)state;
    rounds(kRounds, 5000, read_until_one_dies);
}

static void collectives_end_and_name_the_rank_that_was_killed(void **state)
{
    (void)state;
    rounds(kRounds, 5000, agree_until_one_dies);
}

static void memory_of_the_killed_rank_is_told_and_the_rest_is_read(void **state)
{
    (void)state;
    rounds(20, 5000, read_from_memory_that_dies);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(readers_go_on_when_a_rank_is_killed),
        cmocka_unit_test(collectives_end_and_name_the_rank_that_was_killed),
        cmocka_unit_test(memory_of_the_killed_rank_is_told_and_the_rest_is_read),
    };
    seed = seed_of_test();
    return run_alone(tests);
}
