/* Limits of the system: few descriptors, little address space. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "support.h"

static void limit(int what, rlim_t most)
{
    struct rlimit now;
    assert_int_equal(getrlimit(what, &now), 0);
    now.rlim_cur = most < now.rlim_max ? most : now.rlim_max;
    assert_int_equal(setrlimit(what, &now), 0);
}

/* Leave room for `n` more descriptors; returns with the highest in use known. */
static void leave_descriptors(int n)
{
    const int next = fcntl(0, F_DUPFD, 0);
    assert_true(next >= 0);
    close(next);
    limit(RLIMIT_NOFILE, (rlim_t)(next + n));
}

/* One rank has ever more descriptors until the store opens: before that, the same clear error on
 * every rank, and none lost.  A communicator of files needs two itself to pass the word. */
static void too_few_descriptors_are_told_on_every_rank(void **state)
{
    (void)state;
    enum { kOfComm = 2 };
    struct rlimit all;
    dds_options_t options = DDS_OPTIONS_INIT;
    char dir[4096];
    getrlimit(RLIMIT_NOFILE, &all);
    options.collective_timeout_ms = 3000;
    snprintf(dir, sizeof dir, "%s/few", test_dir());
    const int before = open_descriptors();
    int code = DDS_ERR_LIMIT;
    for (int n = kOfComm; code != DDS_SUCCESS; n++) {
        dds_comm_t comm = NULL;
        dds_store_t opened = NULL;
        char data[64] = {0};
        assert_true(n < 100);
        ok(dds_comm_file(dir, NULL, my_rank, ranks, 20000, &comm));
        if (my_rank == 0)
            leave_descriptors(n);
        code = dds_init(comm, &options, &opened);
        if (code == DDS_SUCCESS)
            code = dds_add(opened, "x", 1, 64, DDS_INT8, data, NULL);
        if (code != DDS_SUCCESS)
            fails(code, DDS_ERR_LIMIT, "ulimit -n");
        ok(dds_free(&opened));
        setrlimit(RLIMIT_NOFILE, &all);
        int codes[64];
        ok(dds_comm_allgather(world, &code, sizeof code, codes));
        for (int rank = 0; rank < ranks; rank++)
            assert_int_equal(codes[rank], codes[0]);
        ok(dds_comm_free(&comm));
        assert_int_equal(open_descriptors(), before);
    }
    remove_meeting(dir);
}

static void too_little_address_space_is_no_memory_on_every_rank(void **state)
{
    (void)state;
    struct rlimit all;
    dds_stats_t before, after;
    dds_store_t opened = open_store();
    char data[64] = {0};
    getrlimit(RLIMIT_AS, &all);
    stats_of(opened, &before);
    if (my_rank == ranks - 1) {
        long pages = 0;
        FILE *file = fopen("/proc/self/statm", "r");
        assert_int_equal(fscanf(file, "%ld", &pages), 1);
        fclose(file);
        limit(RLIMIT_AS, (rlim_t)pages * 4096 + (256u << 20));
    }
    fails_plainly(dds_create(opened, "x", 512, 1 << 20, DDS_INT8, NULL), DDS_ERR_NOMEM);
    fails_plainly(dds_create(opened, "x", my_rank == ranks - 1 ? 512 : 0, 1 << 20, DDS_INT8, NULL),
                  DDS_ERR_NOMEM);
    ok(dds_add(opened, "x", 1, 64, DDS_INT8, data, NULL)); /* a small one fits */
    ok(dds_get(opened, "x", 0, 1, data, 64));
    ok(dds_drop(opened, "x"));
    setrlimit(RLIMIT_AS, &all);
    stats_of(opened, &after);
    assert_int_equal(after.used_bytes, before.used_bytes);
    close_store(&opened);
}

static void more_than_the_machine_has_is_refused_and_not_touched(void **state)
{
    (void)state;
    dds_store_t opened = open_store();
    char data[8] = {0};
    const int code = dds_create(opened, "x", 1 << 20, 1 << 30, DDS_INT8, NULL); /* 1 PiB */
    assert_true(code == DDS_ERR_NOMEM || code == DDS_ERR_LIMIT);
    ok(dds_add(opened, "x", 1, 8, DDS_INT8, data, NULL));
    close_store(&opened);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(too_few_descriptors_are_told_on_every_rank),
        cmocka_unit_test(too_little_address_space_is_no_memory_on_every_rank),
        cmocka_unit_test(more_than_the_machine_has_is_refused_and_not_touched),
    };
    return run_group(tests);
}
