/* The last host is on a link of 1 Mbit/s: rows come right and as late as the link says, a read that
 * moves on outlives its deadline, one that does not ends there and writes nothing afterwards. */
#include <stdlib.h>
#include <string.h>

#include "places.h"

enum { kRows = 600, kRow = 1000, kBig = 3000000, kDeadline = 3 };

static const double bytes_a_second = 1e6 / 8;
static dds_store_t open;

static int64_t first_row_there(void) /* of a rank of the other host */
{
    for (int rank = 0; rank < ranks; rank++)
        if (host_of(rank) != host_of(my_rank))
            return rank;
    return 0;
}

static int open_filled(void **state)
{
    dds_options_t options = DDS_OPTIONS_INIT;
    char *data = must_alloc(kBig);
    open_places(state);
    options.timeout_ms = 1000 * kDeadline;
    options.method = DDS_METHOD_FABRIC;
    ok(dds_init(world, &options, &open));
    fill_rows(data, 5, 0, my_rank * kRows, kRows, kRow);
    ok(dds_add(open, "small", kRows, kRow, DDS_UINT8, data, NULL));
    fill_rows(data, 6, 0, my_rank, 1, kBig);
    ok(dds_add(open, "big", 1, kBig, DDS_UINT8, data, NULL));
    free(data);
    if (my_rank == 0)
        slow_last_host("1mbit");
    meet();
    return 0;
}

static int close_filled(void **state)
{
    meet();
    if (my_rank == 0)
        slow_last_host("off");
    meet();
    close_store(&open);
    return close_world(state);
}

/* `n` rows of the other host in one call; how long it took. */
static double read_rows(int n)
{
    int64_t rows[kRows];
    char *out = guarded_new((size_t)n * kRow, 0);
    for (int i = 0; i < n; i++)
        rows[i] = first_row_there() * kRows + (int64_t)i * 7 % kRows;
    const double begin = seconds();
    ok(dds_get_batch(open, "small", n, rows, out, (size_t)n * kRow));
    const double took = seconds() - begin;
    for (int i = 0; i < n; i++)
        check_row(out + (size_t)i * kRow, 5, 0, rows[i], kRow);
    guarded_free(out);
    return took;
}

static void rows_of_both_hosts_are_right(void **state)
{
    (void)state;
    for (int round = 0; round < 3; round++)
        read_rows(10);
    meet();
}

/* Its deadline is one of progress. */
static void a_batch_that_moves_on_outlives_its_deadline(void **state)
{
    (void)state;
    if (my_rank == 0) {
        const double took = read_rows(kRows);
        print_message("%d bytes took %.1f s\n", kRows * kRow, took);
        assert_true(took > kDeadline);
        assert_true(took >
                    0.8 * kRows * kRow / bytes_a_second); /* less what the port lets through */
    }
    meet();
}

static void a_row_that_cannot_come_ends_at_the_deadline_for_good(void **state)
{
    (void)state;
    if (my_rank == 0) {
        const int64_t row = first_row_there();
        char *out = guarded_new(kBig, 0), *then = must_alloc(kBig);
        memset(out, 0x5a, kBig);
        double begin = seconds();
        fails_plainly(dds_get_batch(open, "big", 1, &row, out, kBig), DDS_ERR_TIMEOUT);
        const double took = seconds() - begin;
        print_message("ended after %.1f s: %s\n", took, dds_last_error());
        memcpy(then, out, kBig);
        assert_true(took > kDeadline - 0.5 && took < kDeadline + 1);

        begin = seconds(); /* the link is still full of what was asked for */
        assert_true(read_rows(1) < kDeadline + 1);
        print_message("a row after it took %.1f s\n", seconds() - begin);
        sleep_ms(4000);
        assert_memory_equal(out, then, kBig);
        free(then);
        guarded_free(out);
        read_rows(10);
    }
    meet();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_of_both_hosts_are_right),
        cmocka_unit_test(a_batch_that_moves_on_outlives_its_deadline),
        cmocka_unit_test(a_row_that_cannot_come_ends_at_the_deadline_for_good),
    };
    return cmocka_run_group_tests(tests, open_filled, close_filled);
}
