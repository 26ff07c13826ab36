/* The network of the last host is cut, or the host crashes, while all read: a cut that heals is
 * waited out; what stays ends every call at its deadline, and the rows of this host are still read. */
#include <string.h>

#include "places.h"

enum { kRows = 50, kRow = 1000, kDeadline = 5 };

static bool fabric(void) { return path_under_test() == DDS_PATH_FABRIC; }

static dds_store_t open_filled(int seconds_to_wait)
{
    static char data[kRows * kRow];
    dds_store_t opened = NULL;
    dds_options_t options = DDS_OPTIONS_INIT;
    options.timeout_ms = options.collective_timeout_ms = 1000 * seconds_to_wait;
    options.method = fabric() ? DDS_METHOD_FABRIC : DDS_METHOD_MPI;
    fill_rows(data, 5, 0, my_rank * kRows, kRows, kRow);
    ok(dds_init(world, &options, &opened));
    ok(dds_add(opened, "x", kRows, kRow, DDS_UINT8, data, NULL));
    return opened;
}

/* A random row of a random rank on this host, or on others. */
static int64_t some_row(bool on_this_host, uint64_t *random)
{
    for (;;) {
        const int rank = (int)random_below(random, ranks);
        if ((host_of(rank) == host_of(my_rank)) == on_this_host)
            return rank * kRows + random_below(random, kRows);
    }
}

static void read_rows(dds_store_t from, bool on_this_host, int n, uint64_t *random)
{
    char out[kRow];
    for (int i = 0; i < n; i++) {
        const int64_t row = some_row(on_this_host, random);
        ok(dds_get(from, "x", row, 1, out, kRow));
        check_row(out, 5, 0, row, kRow);
    }
}

static void a_cut_that_heals_is_waited_out(void **state)
{
    (void)state;
    uint64_t random = (uint64_t)my_rank;
    double longest = 0, all[64], most = 0;
    dds_store_t open = open_filled(60);
    meet();
    begin_cut();
    for (const double end = seconds() + 5; seconds() < end;) {
        const double begin = seconds();
        read_rows(open, false, 1, &random);
        longest = seconds() - begin > longest ? seconds() - begin : longest;
        read_rows(open, true, 1, &random);
    }
    await_heal();
    ok(dds_epoch_begin(open));
    read_rows(open, false, 20, &random);
    ok(dds_epoch_end(open));
    ok(dds_comm_allgather(world, &longest, sizeof longest, all));
    for (int rank = 0; rank < ranks; rank++)
        most = all[rank] > most ? all[rank] : most;
    print_message("rank %d waited %.1f s, the longest %.1f s\n", my_rank, longest, most);
    assert_true(most > 1); /* the cut was felt */
    close_store(&open);
}

static void told_in_time(const char *what, int code, double begin)
{
    print_message("rank %d: %s ended with %s after %.1f s: %s\n", my_rank, what,
                  dds_error_name(code), seconds() - begin, dds_last_error());
    assert_true(code == DDS_ERR_TIMEOUT || code == DDS_ERR_PEER);
    assert_true(seconds() - begin < kDeadline + 1);
}

static int call_all(dds_store_t of)
{
    return fabric() ? dds_get_batch_all(of, "x", 0, NULL, NULL, 0) : dds_epoch_begin(of);
}

/* All read rows of other hosts until they cannot, which begins with `verb`; what holds then. */
static void read_until_it_ends(const char *verb)
{
    char out[kRow];
    uint64_t random = (uint64_t)my_rank;
    double begin = 0;
    int code = DDS_SUCCESS;
    dds_store_t open = open_filled(kDeadline);
    for (int round = 0; code == DDS_SUCCESS; round++) {
        if (my_rank == 0 && round == 100)
            ask_for_last_host(verb);
        const int64_t row = some_row(false, &random);
        begin = seconds();
        code = dds_get(open, "x", row, 1, out, kRow);
        if (code == DDS_SUCCESS)
            check_row(out, 5, 0, row, kRow);
    }
    told_in_time("a read", code, begin);
    read_rows(open, true, 20, &random);

    begin = seconds();
    code = call_all(open);
    if (fabric() && strcmp(verb, "cut") == 0) {
        ok(code); /* they meet in a directory, which all still see */
    } else {
        told_in_time("a collective call", code, begin);
        read_rows(open, true, 20, &random);
        begin = seconds();
        fails_plainly(call_all(open), DDS_ERR_POISONED);
        assert_true(seconds() - begin < 0.5);
    }
    begin = seconds();
    ok(dds_free(&open));
    assert_true(seconds() - begin < 1);
    survive();
}

int main(int argc, char **argv)
{
    return run_breaks(argc, argv, a_cut_that_heals_is_waited_out, read_until_it_ends);
}
