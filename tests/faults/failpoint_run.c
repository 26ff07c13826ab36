/* Three ranks that use all of the library once, for failpoints.py: one of them has a failpoint.
 *
 *   failpoint_run any        every call succeeds (no failpoint, or one that only delays)
 *   failpoint_run dies       that rank is killed at the point
 *   failpoint_run fails CODE a call of it ends with CODE, and a collective one does on all ranks
 *
 * Whatever the point, no call takes longer than the deadlines, and a store that has failed a
 * collective by death or time is poisoned. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "family.h"

enum { kRanks = 3, kRow = 100, kRows = 10, kDeadline = 2000 };

static const char *outcome;
static int wanted;
static bool of_comm; /* the point is in the communicator, which cannot tell the others */

typedef struct progress_s {
    shared_t *shared;
    bool broken; /* a collective was not completed */
} progress_t;

static bool went(progress_t *at, int code, bool collective, const char *call)
{
    if (code == DDS_SUCCESS) {
        if (at->broken && collective)
            print_error("%s succeeded in a poisoned store\n", call);
        assert_false(at->broken && collective);
        return true;
    }
    at->shared->code[my_rank] = code;
    bool right = false;
    if (strcmp(outcome, "fails") == 0)
        right = code == wanted || code == DDS_ERR_NOTFOUND || code == DDS_ERR_STATE ||
                (of_comm && (code == DDS_ERR_TIMEOUT || code == DDS_ERR_PEER));
    if (strcmp(outcome, "dies") == 0) {
        right = code == DDS_ERR_PEER || code == DDS_ERR_TIMEOUT || code == DDS_ERR_NOTFOUND ||
                (at->broken && code == DDS_ERR_POISONED);
        if (collective)
            at->broken = true;
    }
    if (!right)
        print_error("rank %d: %s: %s: %s\n", my_rank, call, dds_error_name(code), dds_last_error());
    assert_true(right);
    return false;
}
#define collective(call) went(&at, call, true, #call)
#define local(call)      went(&at, call, false, #call)

/* Whether the store was opened: where it was not, the communicator may be over, too. */
static bool use_all_of_it(shared_t *shared)
{
    progress_t at = {.shared = shared};
    dds_options_t options = DDS_OPTIONS_INIT;
    dds_var_options_t nocopy = DDS_VAR_OPTIONS_INIT;
    dds_store_t open = NULL;
    dds_request_t request = NULL;
    static char data[kRows * kRow], out[kRows * kRow];
    int64_t rows[kRows] = {0, kRows, 2 * kRows, 1}, nrows = 0;
    void *place = NULL;
    options.collective_timeout_ms = kDeadline;
    options.timeout_ms = kDeadline;
    nocopy.flags = DDS_NOCOPY;
    fill_rows(data, 1, 0, my_rank * kRows, kRows, kRow);
    if (!collective(dds_comm_file(shared->dir, "f", my_rank, ranks, kDeadline, &world)) ||
        !collective(dds_init(world, &options, &open)))
        return false;
    collective(dds_add(open, "x", kRows, kRow, DDS_INT8, data, NULL));
    collective(dds_create(open, "big", 70, 1 << 20, DDS_INT8, NULL)); /* an arena of its own */
    collective(dds_add(open, "own", kRows, kRow, DDS_INT8, data, &nocopy));
    collective(dds_epoch_begin(open));
    local(dds_update(open, "x", 0, kRows, data));
    if (local(dds_local(open, "x", &nrows, &place)))
        local(dds_release_local(place));
    local(dds_get(open, "x", 0, kRows, out, sizeof out));
    local(dds_get_batch(open, "own", 3, rows, out, sizeof out));
    collective(dds_get_batch_all(open, "x", 4, rows, out, sizeof out));
    if (local(dds_iget_batch(open, "x", 4, rows, out, sizeof out, NULL, &request)))
        local(dds_wait(&request, 0));
    local(dds_register_recv(open, out, sizeof out));
    collective(dds_epoch_end(open));
    collective(dds_drop(open, "own"));
    collective(dds_drop(open, "big"));
    const double begin = seconds();
    ok(dds_free(&open));
    assert_true(seconds() - begin < 1.2);
    return true;
}

/* A core job of readers of other jobs: what such a store does besides. */
static void publish_it(shared_t *shared)
{
    progress_t at = {.shared = shared};
    char records[4096];
    dds_options_t options = DDS_OPTIONS_INIT;
    dds_store_t open = NULL;
    static char data[kRows * kRow];
    snprintf(records, sizeof records, "%s/records", test_dir());
    options.method = DDS_METHOD_FILE;
    options.handshake_dir = records;
    options.collective_timeout_ms = kDeadline;
    options.timeout_ms = kDeadline;
    if (!collective(dds_init(world, &options, &open)))
        return;
    collective(dds_add(open, "x", kRows, kRow, DDS_INT8, data, NULL));
    collective(dds_publish(open, "x", 1));
    collective(dds_drop(open, "x"));
    const double begin = seconds();
    ok(dds_free(&open));
    assert_true(seconds() - begin < 1.2);
}

static void with_point(shared_t *shared)
{
    const double begin = seconds();
    const int descriptors = open_descriptors();
    if (use_all_of_it(shared))
        publish_it(shared);
    ok(dds_comm_free(&world));
    assert_true(seconds() - begin < 20);
    assert_int_equal(open_descriptors(), descriptors);
}

static void every_rank_ends_as_it_should(void **state)
{
    (void)state;
    family_t family = {.bare = true};
    family_start(&family, kRanks, with_point);
    int died = 0;
    for (int rank = 0; rank < kRanks; rank++) {
        int status = -1;
        assert_int_equal(waitpid(family.pid[rank], &status, 0), family.pid[rank]);
        if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL && rank == faulty_rank())
            died++;
        else if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
            fail_msg("rank %d ended with %#x", rank, (unsigned)status);
    }
    remove_meeting(family.dir);
    if (strcmp(outcome, "dies") == 0)
        assert_int_equal(died, 1); /* the point was there */
    else
        assert_int_equal(died, 0);
    if (strcmp(outcome, "fails") == 0)
        assert_int_not_equal(family.shared->code[faulty_rank()], DDS_SUCCESS);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_rank_ends_as_it_should),
    };
    outcome = argc > 1 ? argv[1] : "any";
    wanted = argc > 2 ? atoi(argv[2]) : DDS_SUCCESS;
    const char *point = getenv("DDS_TEST_POINT");
    of_comm = point && strncmp(point, "comm.", 5) == 0;
    return run_alone(tests);
}
