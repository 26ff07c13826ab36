/* The interrupt check ends every wait soon, and the log says what goes on. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include "support.h"

static volatile sig_atomic_t rang;
static double rang_at;
static long asked;

static void ring(int signal)
{
    (void)signal;
    rang = 1;
    rang_at = seconds();
}

static int has_rung(void *ctx)
{
    ++*(long *)ctx;
    return rang;
}

/* SIGALRM after `ms`: what Ctrl-C is to a Python rank. */
static void ring_after(int ms)
{
    const struct sigaction action = {.sa_handler = ring};
    const struct itimerval when = {{0, 0}, {ms / 1000, ms % 1000 * 1000}};
    rang = 0;
    asked = 0;
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &when, NULL);
    ok(dds_set_interrupt(has_rung, &asked));
}

static void ended_soon(void)
{
    assert_int_equal(rang, 1);
    assert_true(seconds() - rang_at < 0.2);
    assert_true(asked >= 2); /* at least every 100 ms in 300 ms */
    ok(dds_set_interrupt(NULL, NULL));
}

static void a_wait_for_a_rank_that_never_comes_is_ended(void **state)
{
    (void)state;
    dds_comm_t comm = NULL;
    char dir[4096];
    snprintf(dir, sizeof dir, "%s/never", test_dir());
    ring_after(300);
    fails_plainly(dds_comm_file(dir, "never", my_rank, ranks + 1, 30000, &comm),
                  DDS_ERR_INTERRUPTED);
    ended_soon();
    assert_null(comm);
    remove_meeting(dir);
}

static void a_barrier_is_ended(void **state)
{
    (void)state;
    dds_comm_t comm = NULL;
    if (ranks == 1)
        skip();
    ok(dds_comm_file(test_dir(), "barrier", my_rank, ranks, 20000, &comm));
    if (my_rank == ranks - 1) { /* one: it gives up for the others, too */
        ring_after(300);
        fails_plainly(dds_comm_barrier(comm), DDS_ERR_INTERRUPTED);
        ended_soon();
    }
    meet();
    ok(dds_comm_free(&comm));
}

static void a_collective_of_a_store_is_ended_and_the_store_poisoned(void **state)
{
    (void)state;
    dds_store_t other = open_store();
    char byte = 3, out = 0;
    ok(dds_add(other, "x", 1, 1, DDS_INT8, &byte, NULL));
    if (ranks == 1) {
        close_store(&other);
        skip();
    }
    if (my_rank == ranks - 1) {
        ring_after(300);
        fails_plainly(dds_epoch_begin(other), DDS_ERR_INTERRUPTED);
        ended_soon();
        fails_plainly(dds_epoch_begin(other), DDS_ERR_POISONED); /* at once */
        fails_plainly(dds_create(other, "y", 1, 1, DDS_INT8, NULL), DDS_ERR_POISONED);
        fails_plainly(dds_drop(other, "x"), DDS_ERR_POISONED);
        ok(dds_get(other, "x", 0, 1, &out, 1)); /* reads go on */
        assert_int_equal(out, 3);
    }
    meet();
    const double begin = seconds();
    ok(dds_free(&other));
    assert_true(seconds() - begin < 1.0);
    meet();
}

static void a_check_that_never_says_so_ends_nothing(void **state)
{
    (void)state;
    rang = 0;
    ok(dds_set_interrupt(has_rung, &asked));
    if (my_rank == 0)
        sleep_ms(250);
    meet();
    ok(dds_set_interrupt(NULL, NULL));
}

static int calls_the_library(void *ctx)
{
    (void)ctx;
    int rank = -1;
    char out = 0;
    ok(dds_rank(store, &rank));
    assert_int_equal(rank, my_rank);
    ok(dds_get(store, "mine", my_rank, 1, &out, 1));
    assert_int_equal(out, 9);
    return 0;
}

static void a_check_may_call_the_library(void **state)
{
    (void)state;
    char byte = 9;
    ok(dds_add(store, "mine", 1, 1, DDS_INT8, &byte, NULL));
    ok(dds_set_interrupt(calls_the_library, NULL));
    if (my_rank == 0)
        sleep_ms(250);
    ok(dds_epoch_begin(store));
    ok(dds_epoch_end(store));
    ok(dds_set_interrupt(NULL, NULL));
    ok(dds_drop(store, "mine"));
}

typedef struct said_s {
    pthread_t caller;
    int lines;
    bool inside;
} said_t;

static void listen(void *ctx, int level, const char *text)
{
    said_t *said = ctx;
    assert_true(said->inside); /* only while a call of ours is under way */
    assert_true(pthread_equal(said->caller, pthread_self()));
    assert_in_range(level, DDS_LOG_WARN, DDS_LOG_DEBUG);
    assert_true(strlen(text) > 0);
    assert_null(strchr(text, '\n'));
    said->lines++;
}

static void the_log_speaks_only_inside_a_call_and_in_whole_lines(void **state)
{
    (void)state;
    said_t said = {.caller = pthread_self()};
    char byte = 1;
    dds_store_t other = NULL;
    ok(dds_set_log(listen, &said));
    said.inside = true;
    ok(dds_init(world, NULL, &other));
    ok(dds_add(other, "x", 1, 1, DDS_INT8, &byte, NULL));
    ok(dds_get(other, "x", 0, 1, &byte, 1));
    said.inside = false;
    sleep_ms(20);
    said.inside = true;
    ok(dds_free(&other));
    ok(dds_set_log(NULL, NULL));
    said.inside = false;
    const int lines = said.lines;
    meet();
    other = open_store();
    close_store(&other);
    assert_int_equal(said.lines, lines); /* silent again */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wait_for_a_rank_that_never_comes_is_ended),
        cmocka_unit_test(a_barrier_is_ended),
        cmocka_unit_test(a_collective_of_a_store_is_ended_and_the_store_poisoned),
        cmocka_unit_test(a_check_that_never_says_so_ends_nothing),
        cmocka_unit_test(a_check_may_call_the_library),
        cmocka_unit_test(the_log_speaks_only_inside_a_call_and_in_whole_lines),
    };
    return run_group_with_store(tests);
}
