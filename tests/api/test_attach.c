/* Readers of another job (method 2): the last rank attaches to the others, who are the core job. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support.h"

enum { kRow = 96, kRows = 40 };

static int cores; /* ranks of the core job */
static dds_comm_t core_comm;
static dds_store_t core; /* of them */

static bool reads(void) { return my_rank == cores; }

static const char *directory(void)
{
    static char path[4096];
    snprintf(path, sizeof path, "%s/records", test_dir());
    return path;
}

/* Mapped where it is on this node, unless the test is of the wire. */
static int way_to(dds_store_t reader, int rank)
{
    char text[64];
    ok(dds_path(reader, rank, text, sizeof text));
    if (strcmp(text, "shm") == 0)
        return DDS_PATH_SHM;
    assert_int_equal(strncmp(text, "fabric ", 7), 0);
    return DDS_PATH_FABRIC;
}

static void open_core(void)
{
    char dir[4096];
    dds_options_t options = DDS_OPTIONS_INIT;
    options.method = DDS_METHOD_FILE;
    options.handshake_dir = directory();
    snprintf(dir, sizeof dir, "%s/core", test_dir());
    ok(dds_comm_file(dir, NULL, my_rank, cores, 20000, &core_comm));
    ok(dds_init(core_comm, &options, &core));
}

static void close_core(void)
{
    ok(dds_free(&core));
    ok(dds_comm_barrier(core_comm));
    ok(dds_comm_free(&core_comm));
}

static void add(const char *name, uint32_t variable, uint32_t generation)
{
    static char rows[kRows * kRow];
    const int64_t mine = my_rank == 0 && cores > 1 ? 0 : kRows; /* an empty shard is no hole */
    const int64_t first = cores > 1 ? (int64_t)(my_rank - 1) * kRows : 0;
    fill_rows(rows, variable, generation, first, mine, kRow);
    ok(dds_add(core, name, mine, kRow, DDS_UINT8, rows, NULL));
}

static int64_t total(void) { return (cores > 1 ? cores - 1 : 1) * (int64_t)kRows; }

static void check_all(dds_store_t from, const char *name, uint32_t variable, uint32_t generation)
{
    static char out[64 * kRow];
    int64_t rows[64];
    uint64_t state = 5;
    for (int round = 0; round < 10; round++) {
        for (int i = 0; i < 64; i++)
            rows[i] = random_below(&state, total());
        ok(dds_get_batch(from, name, 64, rows, out, sizeof out));
        for (int i = 0; i < 64; i++)
            check_row(out + i * kRow, variable, generation, rows[i], kRow);
    }
    ok(dds_get(from, name, total() - 1, 1, out, kRow));
    check_row(out, variable, generation, total() - 1, kRow);
}

static dds_store_t attach(void)
{
    dds_store_t reader = NULL;
    ok(dds_attach(directory(), cores, NULL, &reader));
    return reader;
}

/* What may be asked of a reader at any time, also while its first join finds out who is where. */
static atomic_bool asking;

static void *ask_on(void *reader)
{
    static char buffer[64];
    char text[256];
    while (asking) {
        dds_stats_t stats = DDS_STATS_INIT;
        ok(dds_path(reader, 0, text, sizeof text));
        ok(dds_stats(reader, &stats));
        ok(dds_register_recv(reader, buffer, sizeof buffer));
        ok(dds_unregister_recv(reader, buffer));
    }
    return NULL;
}

static void join_while_another_thread_asks(const char *name)
{
    for (int i = 0; i < 20; i++) {
        pthread_t thread;
        dds_store_t reader = attach();
        asking = true;
        assert_int_equal(pthread_create(&thread, NULL, ask_on, reader), 0);
        ok(dds_join(reader, name));
        asking = false;
        pthread_join(thread, NULL);
        way_to(reader, 0);
        ok(dds_free(&reader));
    }
}

static void a_reader_finds_what_is_published_and_what_comes(void **state)
{
    (void)state;
    if (!reads()) {
        open_core();
        add("first/name", 1, 0);
        meet();
        sleep_ms(300); /* the reader waits for it */
        add("second", 2, 0);
        meet();
        close_core();
        return;
    }
    dds_store_t reader = attach();
    int number = 0;
    dds_info_t info = DDS_INFO_INIT;
    dds_stats_t stats;
    char out[kRow];
    ok(dds_rank(reader, &number));
    assert_int_equal(number, -1);
    ok(dds_size(reader, &number));
    assert_int_equal(number, cores);
    fails_plainly(dds_get(reader, "first/name", 0, 1, out, kRow), DDS_ERR_NOTFOUND);
    meet();
    join_while_another_thread_asks("first/name");
    ok(dds_join(reader, "first/name"));
    fails_plainly(dds_join(reader, "first/name"), DDS_ERR_EXISTS);
    ok(dds_join(reader, "second"));
    ok(dds_info(reader, "first/name", &info));
    assert_int_equal(info.rows, total());
    assert_int_equal(info.disp, kRow);
    assert_int_equal(info.nrows, 0);
    check_all(reader, "first/name", 1, 0);
    check_all(reader, "second", 2, 0);
    fails_plainly(dds_get(reader, "second", total(), 1, out, kRow), DDS_ERR_RANGE);
    fails_plainly(dds_add(reader, "third", 1, 1, DDS_INT8, out, NULL), DDS_ERR_STATE);
    fails_plainly(dds_publish(reader, "second", 1), DDS_ERR_STATE);
    stats_of(reader, &stats);
    assert_true(stats.rows[way_to(reader, cores - 1)] > 0);
    assert_int_equal(stats.rows[DDS_PATH_SELF], 0);
    meet();
    ok(dds_free(&reader));
}

static void a_reader_may_be_there_before_the_core_job(void **state)
{
    (void)state;
    if (reads()) {
        dds_store_t reader = attach();
        meet();
        ok(dds_join(reader, "late"));
        check_all(reader, "late", 3, 0);
        meet();
        ok(dds_free(&reader));
        return;
    }
    meet();
    sleep_ms(500);
    open_core();
    add("late", 3, 0);
    meet();
    close_core();
}

static void versions_tell_when_a_frame_is_whole(void **state)
{
    (void)state;
    static char rows[kRows * kRow];
    int64_t seen = -1;
    if (reads()) {
        dds_store_t reader = attach();
        dds_info_t info = DDS_INFO_INIT;
        meet();
        ok(dds_join(reader, "frames"));
        for (int64_t version = 1; version <= 5; version++) {
            ok(dds_wait_version(reader, "frames", version, 20000, &seen));
            assert_true(seen >= version);
            check_all(reader, "frames", 4, (uint32_t)version);
            meet();
        }
        fails(dds_wait_version(reader, "frames", 6, 100, &seen), DDS_ERR_TIMEOUT, "6", "5");
        ok(dds_info(reader, "frames", &info));
        assert_int_equal(info.version, 5);
        meet();
        ok(dds_free(&reader));
        return;
    }
    open_core();
    add("frames", 4, 0);
    meet();
    for (int64_t version = 1; version <= 5; version++) {
        const int64_t mine = my_rank == 0 && cores > 1 ? 0 : kRows;
        fill_rows(rows, 4, (uint32_t)version, cores > 1 ? (int64_t)(my_rank - 1) * kRows : 0, mine,
                  kRow);
        ok(dds_update(core, "frames", 0, mine, rows));
        ok(dds_publish(core, "frames", version));
        meet(); /* the reader has seen it */
    }
    fails(dds_publish(core, "frames", 5), DDS_ERR_ARG, "5");
    fails_plainly(dds_publish(core, "nothing", 1), DDS_ERR_NOTFOUND);
    meet();
    close_core();
}

static void another_number_of_ranks_is_a_mismatch(void **state)
{
    (void)state;
    if (reads()) {
        dds_store_t reader = NULL;
        const int wrong[] = {0, -1, INT32_MIN};
        for (int i = 0; i < 3; i++)
            fails(dds_attach(directory(), wrong[i], NULL, &reader), DDS_ERR_ARG, "n_core");
        meet();
        ok(dds_attach(directory(), cores + 1, NULL, &reader));
        const double begin = seconds();
        fails(dds_join(reader, "x"), DDS_ERR_MISMATCH, "n_core");
        assert_true(seconds() - begin < 1);
        ok(dds_free(&reader));
        meet();
        return;
    }
    open_core();
    add("x", 5, 0);
    meet();
    meet();
    close_core();
}

static void a_variable_that_never_comes_is_a_timeout(void **state)
{
    (void)state;
    if (!reads()) {
        meet();
        return;
    }
    setenv("DDSTORE_HANDSHAKE_TIMEOUT_S", "1", 1);
    dds_store_t reader = attach();
    const double begin = seconds();
    fails(dds_join(reader, "never"), DDS_ERR_TIMEOUT, "never", "DDSTORE_HANDSHAKE_TIMEOUT_S");
    assert_true(seconds() - begin >= 1 && seconds() - begin < 2);
    unsetenv("DDSTORE_HANDSHAKE_TIMEOUT_S");
    ok(dds_free(&reader));
    meet();
}

/* A core job of one rank in a child of ours, killed without a word. */
static pid_t start_core_that_dies(uint32_t generation, const char *ready)
{
    const pid_t child = fork();
    if (child)
        return child;
    dds_comm_t self = NULL;
    dds_options_t options = DDS_OPTIONS_INIT;
    static char rows[kRows * kRow];
    options.method = DDS_METHOD_FILE;
    options.handshake_dir = directory();
    fill_rows(rows, 6, generation, 0, kRows, kRow);
    if (dds_comm_self(&self) || dds_init(self, &options, &core) ||
        dds_add(core, "mortal", kRows, kRow, DDS_UINT8, rows, NULL))
        _exit(1);
    const int fd = creat(ready, 0600);
    close(fd);
    for (;;)
        pause();
}

static void await_file(const char *path)
{
    for (int i = 0; i < 2000 && access(path, F_OK) != 0; i++)
        sleep_ms(10);
    assert_int_equal(unlink(path), 0);
}

static void end_of(pid_t child)
{
    int status;
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, &status, 0), child);
}

/* A reader in a forked child of a reader sees the end of the core job by itself, too. */
static pid_t start_reader_that_sees_the_end(dds_store_t parents, const char *ready)
{
    const pid_t child = fork();
    if (child)
        return child;
    dds_store_t reader = NULL, second = NULL;
    char out[kRow];
    int code = dds_fork_reader(parents, &reader);
    if (code == DDS_SUCCESS)
        code = dds_fork_reader(reader, &second); /* and one of a thread's own */
    if (code != DDS_SUCCESS || dds_get(second, "mortal", 7, 1, out, kRow) != DDS_SUCCESS ||
        !row_is(out, 6, 1, 7, kRow))
        _exit(1);
    close(creat(ready, 0600));
    const dds_store_t both[] = {reader, second};
    for (int i = 0; i < 2; i++) {
        const double begin = seconds();
        do
            code = dds_get(both[i], "mortal", 7, 1, out, kRow);
        while (code == DDS_SUCCESS && seconds() - begin < 5);
        if (code != DDS_ERR_STALE && code != DDS_ERR_PEER)
            _exit(2);
    }
    _exit(0);
}

static void a_core_job_that_dies_is_stale_and_the_next_is_found(void **state)
{
    (void)state;
    if (!reads())
        return;
    char ready[4096], out[kRow];
    snprintf(ready, sizeof ready, "%s/ready", test_dir());
    dds_store_t reader = NULL, next = NULL;
    const pid_t first = start_core_that_dies(1, ready);
    await_file(ready);
    ok(dds_attach(directory(), 1, NULL, &reader));
    ok(dds_join(reader, "mortal"));
    ok(dds_get(reader, "mortal", 7, 1, out, kRow));
    check_row(out, 6, 1, 7, kRow);
    const bool wired = way_to(reader, 0) == DDS_PATH_FABRIC;
    const pid_t worker = start_reader_that_sees_the_end(reader, ready);
    await_file(ready);
    end_of(first);
    int ended = -1;
    assert_int_equal(waitpid(worker, &ended, 0), worker);
    assert_int_equal(ended, 0);
    /* Its records are still there: they lead nobody anywhere. */
    double begin = seconds();
    int code;
    do
        code = dds_get(reader, "mortal", 7, 1, out, kRow);
    while (code == DDS_SUCCESS && seconds() - begin < 5);
    assert_true(code == DDS_ERR_STALE || (wired && code == DDS_ERR_PEER));
    setenv("DDSTORE_HANDSHAKE_TIMEOUT_S", "1", 1);
    ok(dds_attach(directory(), 1, NULL, &next));
    fails_plainly(dds_join(next, "mortal"), DDS_ERR_TIMEOUT);
    unsetenv("DDSTORE_HANDSHAKE_TIMEOUT_S");
    const pid_t second = start_core_that_dies(2, ready);
    await_file(ready);
    ok(dds_join(next, "mortal"));
    ok(dds_get(next, "mortal", 7, 1, out, kRow));
    check_row(out, 6, 2, 7, kRow);
    if (!wired)
        fails_plainly(dds_get(reader, "mortal", 7, 1, out, kRow), DDS_ERR_STALE);
    ok(dds_free(&reader));
    ok(dds_free(&next));
    end_of(second);
}

static void dropped_and_freed_variables_leave_no_records(void **state)
{
    (void)state;
    char path[8192];
    snprintf(path, sizeof path, "%s/gone.bin", directory());
    if (!reads()) {
        open_core();
        add("gone", 7, 0);
        if (my_rank == 0)
            assert_int_equal(access(path, F_OK), 0);
        ok(dds_drop(core, "gone"));
        if (my_rank == 0)
            assert_int_not_equal(access(path, F_OK), 0);
        add("gone", 8, 0);
        close_core();
        if (my_rank == 0)
            assert_int_not_equal(access(path, F_OK), 0);
    }
    meet();
}

static int open_jobs(void **state)
{
    open_world(state);
    cores = ranks - 1;
    return 0;
}

static int close_jobs(void **state)
{
    meet();
    if (my_rank == 0) {
        char command[8300];
        snprintf(command, sizeof command, "rm -rf '%s' '%s/core'", directory(), test_dir());
        assert_int_equal(system(command), 0);
    }
    return close_world(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_reader_finds_what_is_published_and_what_comes),
        cmocka_unit_test(a_reader_may_be_there_before_the_core_job),
        cmocka_unit_test(versions_tell_when_a_frame_is_whole),
        cmocka_unit_test(another_number_of_ranks_is_a_mismatch),
        cmocka_unit_test(a_variable_that_never_comes_is_a_timeout),
        cmocka_unit_test(a_core_job_that_dies_is_stale_and_the_next_is_found),
        cmocka_unit_test(dropped_and_freed_variables_leave_no_records),
    };
    return cmocka_run_group_tests(tests, open_jobs, close_jobs);
}
