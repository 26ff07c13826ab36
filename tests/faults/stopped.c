/* A rank that is stopped for a while is slow and not dead; one that leaves is told apart. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "family.h"

enum { kRanks = 3, kRow = 64 };

static dds_store_t open_small(int collective_ms)
{
    dds_store_t opened = NULL;
    dds_options_t options = DDS_OPTIONS_INIT;
    char data[kRow];
    options.collective_timeout_ms = collective_ms;
    fill_rows(data, 1, 0, my_rank, 1, kRow);
    ok(dds_init(world, &options, &opened));
    ok(dds_add(opened, "x", 1, kRow, DDS_UINT8, data, NULL));
    return opened;
}

static void read_all(dds_store_t from)
{
    char out[kRow];
    for (int rank = 0; rank < kRanks; rank++) {
        ok(dds_get(from, "x", rank, 1, out, kRow));
        check_row(out, 1, 0, rank, kRow);
    }
}

/* The deadline of collectives is longer than the stop. */
static void wait_it_out(shared_t *shared)
{
    dds_store_t open = open_small(20000);
    shared->ready++;
    while (!shared->struck_at || (my_rank == shared->victim && !shared->go))
        sleep_ms(1);
    if (my_rank != shared->victim)
        read_all(open); /* while it is stopped */
    for (int i = 0; i < 10; i++) {
        ok(dds_epoch_begin(open));
        read_all(open);
        ok(dds_epoch_end(open));
    }
    ok(dds_free(&open));
}

static void a_stop_that_is_shorter_than_the_deadline_is_waited_out(void **state)
{
    (void)state;
    for (int victim = 0; victim < kRanks; victim++) {
        family_t family = {0};
        family_start(&family, kRanks, wait_it_out);
        family_await_ready(&family, kRanks);
        family_strike(&family, victim, SIGSTOP);
        sleep_ms(400);
        family.shared->go = 1;
        assert_int_equal(kill(family.pid[victim], SIGCONT), 0);
        family_end(&family, -1);
    }
}

/* ... or shorter: the others give up, and the one that comes back is told so. */
static void give_it_up(shared_t *shared)
{
    char name[16];
    dds_store_t open = open_small(300);
    shared->ready++;
    while (!shared->struck_at || (my_rank == shared->victim && !shared->go))
        sleep_ms(1);
    snprintf(name, sizeof name, "rank %d", shared->victim);
    const double begin = seconds();
    const int code = dds_epoch_begin(open);
    const double took = seconds() - begin;
    if (my_rank != shared->victim) {
        fails(code, DDS_ERR_TIMEOUT, name);
        assert_int_equal(dds_last_error_rank(), shared->victim);
        assert_true(took > 0.28 && took < 1.3);
    } else {
        assert_true(code == DDS_ERR_TIMEOUT || code == DDS_ERR_PEER || code == DDS_ERR_POISONED);
        assert_true(took < 1.3);
    }
    fails_plainly(dds_epoch_begin(open), DDS_ERR_POISONED);
    read_all(open);
    dds_stats_t stats;
    stats_of(open, &stats);
    if (my_rank != shared->victim)
        assert_int_equal(stats.dead_peers, 0); /* slow is not dead */
    shared->code[my_rank] = 1;
    for (int rank = 0; rank < kRanks; rank++)
        while (!shared->code[rank])
            sleep_ms(1);
    ok(dds_free(&open));
}

static void a_longer_stop_is_a_timeout_that_names_the_rank(void **state)
{
    (void)state;
    for (int victim = 0; victim < kRanks; victim++) {
        family_t family = {0};
        family_start(&family, kRanks, give_it_up);
        family_await_ready(&family, kRanks);
        family_strike(&family, victim, SIGSTOP);
        sleep_ms(1000);
        family.shared->go = 1;
        assert_int_equal(kill(family.pid[victim], SIGCONT), 0);
        family_end(&family, -1);
    }
}

static void leave_while_the_others_wait(shared_t *shared)
{
    dds_store_t open = open_small(20000);
    shared->ready++;
    while (!shared->go)
        sleep_ms(1);
    if (my_rank == 1) {
        sleep_ms(50);
        ok(dds_free(&open));
        return;
    }
    const double begin = seconds();
    fails(dds_epoch_begin(open), DDS_ERR_PEER, "rank 1");
    assert_int_equal(dds_last_error_rank(), 1);
    assert_true(seconds() - begin < 1.1);
    fails_plainly(dds_epoch_begin(open), DDS_ERR_POISONED);
    read_all(open); /* its memory is still mapped here */
    ok(dds_free(&open));
}

static void a_rank_that_frees_its_store_is_a_peer_that_left(void **state)
{
    (void)state;
    family_t family = {0};
    family_start(&family, kRanks, leave_while_the_others_wait);
    family_await_ready(&family, kRanks);
    family.shared->go = 1;
    family_end(&family, -1);
}

static void exit_without_a_free(shared_t *shared)
{
    dds_store_t open = open_small(20000);
    shared->ready++;
    while (!shared->go)
        sleep_ms(1);
    if (my_rank == 1)
        return; /* and _exit: its store is open */
    fails(dds_epoch_begin(open), DDS_ERR_PEER, "rank 1");
    ok(dds_free(&open));
}

static void a_rank_that_exits_without_a_free_is_a_peer_that_is_gone(void **state)
{
    (void)state;
    family_t family = {0};
    family_start(&family, kRanks, exit_without_a_free);
    family_await_ready(&family, kRanks);
    family.shared->go = 1;
    family_end(&family, -1);
    remove_meeting(family.dir); /* its store, which it did not free, held the communicator */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rank_that_frees_its_store_is_a_peer_that_left),
        cmocka_unit_test(a_rank_that_exits_without_a_free_is_a_peer_that_is_gone),
        cmocka_unit_test(a_stop_that_is_shorter_than_the_deadline_is_waited_out),
        cmocka_unit_test(a_longer_stop_is_a_timeout_that_names_the_rank),
    };
    return run_alone(tests);
}
