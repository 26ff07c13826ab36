/* What happens around MPI_Init and MPI_Finalize, with ranks that come late or never, and with the
 * wrong MPI or none.  Each case is a process, or a job, of its own: life CASE. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mpi_world.h"
#include "support.h"

static dds_comm_t comm_of_world(void)
{
    dds_comm_t comm = NULL;
    const mpi_world_t *mpi = mpi_world();
    ok(dds_comm_mpi(mpi->comm, mpi->comm_size, NULL, &comm));
    ok(dds_comm_rank(comm, &my_rank));
    ok(dds_comm_size(comm, &ranks));
    return comm;
}

/* Whether a library of this name is mapped. */
static bool mapped(const char *name)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[8192];
    bool found = false;
    while (fgets(line, sizeof line, maps))
        found = found || strstr(line, name);
    fclose(maps);
    return found;
}

static void without_an_mpi_none_is_loaded_and_the_remedy_is_told(void **state)
{
    (void)state;
    dds_comm_t comm = NULL;
    const uint64_t handle = 0x44000000;
    fails(dds_comm_mpi(&handle, 4, NULL, &comm), DDS_ERR_STATE, "no MPI", "MPI_Init",
          "ddstore_mpi.h");
    fails(dds_comm_mpi_f(0, &comm), DDS_ERR_STATE, "no MPI");
    fails(dds_comm_mpi(&handle, 4, "libmpi.so.40", &comm), DDS_ERR_ARG, "libmpi.so.40",
          "not loaded");
    fails(dds_comm_mpi(&handle, 4, "libc.so.6", &comm), DDS_ERR_ARG, "libc.so.6", "not bound");
    assert_false(mapped("libmpi"));
    assert_null(comm);
}

static void before_mpi_init_it_is_said(void **state)
{
    (void)state;
    dds_comm_t comm = NULL;
    const uint64_t handle = 0x44000000;
    mpi_function("MPI_Init");
    fails(dds_comm_mpi(&handle, 4, NULL, &comm), DDS_ERR_STATE, "not initialised", "MPI_Init",
          "libmpi");
    fails(dds_comm_mpi(&handle, 4, getenv("DDS_TEST_MPI"), &comm), DDS_ERR_STATE,
          "not initialised");
    comm = comm_of_world();
    ok(dds_comm_free(&comm));
}

static void wrong_arguments_are_told(void **state)
{
    (void)state;
    dds_comm_t comm = NULL;
    const mpi_world_t *mpi = mpi_world();
    const size_t other = mpi->comm_size == 4 ? 8 : 4;
    fails_plainly(dds_comm_mpi(NULL, mpi->comm_size, NULL, &comm), DDS_ERR_ARG);
    fails_plainly(dds_comm_mpi(mpi->comm, mpi->comm_size, NULL, NULL), DDS_ERR_ARG);
    fails_plainly(dds_comm_mpi_f(0, NULL), DDS_ERR_ARG);
    fails(dds_comm_mpi(mpi->comm, other, NULL, &comm), DDS_ERR_ARG, "comm_size is",
          other == 4 ? "4" : "8", other == 4 ? "8 bytes" : "4 bytes");
    unsigned char none[8] = {0};
    void *object = dlsym(mpi->library, "ompi_mpi_comm_null");
    const uintptr_t number = mpi->comm_size == 4 ? 0x04000000 : object ? (uintptr_t)object : 0x100;
    memcpy(none, &number, sizeof number);
    fails(dds_comm_mpi(none, mpi->comm_size, NULL, &comm), DDS_ERR_ARG, "MPI_COMM_NULL");

    dds_mpi_table_t table;
    memset(&table, 0, sizeof table);
    fails(dds_comm_mpi_table(&table, mpi->comm, &comm), DDS_ERR_ARG, "struct_size");
    table.struct_size = sizeof table;
    fails(dds_comm_mpi_table(&table, mpi->comm, &comm), DDS_ERR_ARG, "handle_size is 0");
    table.handle_size = 4;
    fails(dds_comm_mpi_table(&table, mpi->comm, &comm), DDS_ERR_ARG, "status");
    table.status_size = 20;
    table.status_error = 8;
    fails(dds_comm_mpi_table(&table, mpi->comm, &comm), DDS_ERR_ARG, "function 0", "NULL");
    table.flags = 1;
    fails(dds_comm_mpi_table(&table, mpi->comm, &comm), DDS_ERR_ARG, "flags");
    fails_plainly(dds_comm_mpi_table(NULL, mpi->comm, &comm), DDS_ERR_ARG);
    assert_null(comm);
}

static void it_can_be_switched_off(void **state)
{
    (void)state;
    dds_comm_t comm = NULL;
    const mpi_world_t *mpi = mpi_world();
    setenv("DDSTORE_MPI", "0", 1);
    fails(dds_comm_mpi(mpi->comm, mpi->comm_size, NULL, &comm), DDS_ERR_UNSUPPORTED, "DDSTORE_MPI");
    fails(dds_comm_mpi_f(0, &comm), DDS_ERR_UNSUPPORTED, "DDSTORE_MPI");
    setenv("DDSTORE_MPI", "yes", 1);
    fails(dds_comm_mpi(mpi->comm, mpi->comm_size, NULL, &comm), DDS_ERR_ARG, "DDSTORE_MPI");
    setenv("DDSTORE_MPI", "1", 1);
    comm = comm_of_world();
    ok(dds_comm_free(&comm));
    unsetenv("DDSTORE_MPI");
}

static void after_mpi_finalize_reading_and_freeing_still_work(void **state)
{
    (void)state;
    dds_comm_t comm = comm_of_world(), more = NULL;
    const int32_t mine[2] = {10 * my_rank, 10 * my_rank + 1};
    int32_t got = -1;
    ok(dds_init(comm, NULL, &store));
    ok(dds_add(store, "x", 2, 1, DDS_INT32, mine, NULL));
    const mpi_world_t *mpi = mpi_world();
    ok(dds_comm_barrier(comm));
    mpi_finish();
    const int64_t last = 2 * ranks - 1;
    ok(dds_get_batch(store, "x", 1, &last, &got, sizeof got));
    assert_int_equal(got, 10 * (ranks - 1) + 1);
    fails(dds_comm_barrier(comm), DDS_ERR_STATE, "finalised");
    fails(dds_comm_mpi(mpi->comm, mpi->comm_size, NULL, &more), DDS_ERR_STATE, "finalised");
    const double begun = seconds();
    ok(dds_free(&store));
    ok(dds_comm_free(&comm));
    assert_true(seconds() - begun < 1.0);
}

static void many_communicators_use_up_nothing(void **state)
{
    (void)state;
    /* MPICH has 2048 at a time, and each of ours is two; they must come back as the program goes on. */
    for (int i = 0; i < 1100; i++) {
        dds_comm_t comm = comm_of_world();
        ok(dds_comm_free(&comm));
    }
}

static void a_rank_that_comes_late_leaves_a_timeout_and_no_hang(void **state)
{
    (void)state;
    setenv("DDSTORE_COLLECTIVE_TIMEOUT_S", "1", 1);
    dds_comm_t comm = comm_of_world();
    unsigned char in[1000], *out = must_alloc(sizeof in * (size_t)ranks);
    memset(in, my_rank, sizeof in);
    if (my_rank == ranks - 1) {
        sleep_ms(2500); /* the others are gone by then, or wait in MPI_Finalize */
    } else {
        const double begun = seconds();
        fails(dds_comm_allgather(comm, in, sizeof in, out), DDS_ERR_TIMEOUT, "waited 1 s",
              "MPI does not tell");
        const double took = seconds() - begun;
        assert_true(took > 0.9 && took < 2.0);
        fails(dds_comm_barrier(comm), DDS_ERR_STATE, "not completed");
        free(out);
        out = NULL;
    }
    const double begun = seconds();
    ok(dds_comm_free(&comm));
    assert_true(seconds() - begun < 1.0);
    free(out);
}

static void a_rank_that_comes_after_the_others_left_is_timed_out_too(void **state)
{
    (void)state;
    setenv("DDSTORE_COLLECTIVE_TIMEOUT_S", "1", 1);
    dds_comm_t comm = comm_of_world();
    if (my_rank == ranks - 1)
        sleep_ms(1500);
    const int code =
        dds_comm_barrier(comm); /* the others' part may still be under way: then it is */
    if (my_rank != ranks - 1)
        assert_int_equal(code, DDS_ERR_TIMEOUT);
    else
        assert_true(code == DDS_SUCCESS || code == DDS_ERR_TIMEOUT);
    ok(dds_comm_free(&comm));
}

static void a_rank_that_never_duplicates_leaves_a_timeout_and_no_hang(void **state)
{
    (void)state;
    const mpi_world_t *mpi = mpi_world();
    setenv("DDSTORE_COLLECTIVE_TIMEOUT_S", "1", 1);
    dds_comm_t comm = comm_of_world(); /* tells the ranks */
    dds_comm_t more = NULL;
    if (my_rank != ranks - 1)
        fails(dds_comm_mpi(mpi->comm, mpi->comm_size, NULL, &more), DDS_ERR_TIMEOUT, "waited 1 s",
              "duplicate");
    assert_null(more);
    ok(dds_comm_free(&comm));
}

static void ranks_may_free_in_any_order_and_at_any_time(void **state)
{
    (void)state;
    dds_comm_t comms[10];
    for (int i = 0; i < 10; i++)
        comms[i] = comm_of_world();
    for (int i = 0; i < 10; i++) {
        if (my_rank == i % ranks)
            sleep_ms(20);
        ok(dds_comm_free(&comms[my_rank % 2 ? 9 - i : i]));
    }
    dds_comm_t last = comm_of_world(); /* still fine */
    ok(dds_comm_barrier(last));
    ok(dds_comm_free(&last));
}

/* Its windows wait for the other ranks, and go in MPI_Finalize with the last hold on their
 * communicator. */
static void a_store_that_one_rank_frees_first_ends_in_order(void **state)
{
    (void)state;
    setenv("DDSTORE_SHM", "0", 1);
    dds_comm_t comm = comm_of_world();
    const int32_t mine = my_rank;
    int32_t out = -1;
    ok(dds_init(comm, NULL, &store));
    ok(dds_add(store, "x", 1, 1, DDS_INT32, &mine, NULL));
    ok(dds_get(store, "x", (my_rank + 1) % ranks, 1, &out, sizeof out));
    assert_int_equal(out, (my_rank + 1) % ranks);
    ok(dds_comm_barrier(comm));
    if (my_rank != 0)
        sleep_ms(200);
    ok(dds_free(&store));
    ok(dds_comm_free(&comm));
    mpi_finish();
}

static void a_child_cannot_use_the_parents_mpi(void **state)
{
    (void)state;
    dds_comm_t comm = comm_of_world();
    const mpi_world_t *mpi = mpi_world();
    const pid_t child = fork();
    if (child == 0) {
        dds_comm_t more = NULL;
        int code = dds_comm_mpi(mpi->comm, mpi->comm_size, NULL, &more) == DDS_ERR_FORKED ? 0 : 1;
        code |= dds_comm_barrier(comm) == DDS_ERR_FORKED ? 0 : 2;
        code |= dds_comm_free(&comm) == DDS_SUCCESS ? 0 : 4;
        _exit(code);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    ok(dds_comm_barrier(comm));
    ok(dds_comm_free(&comm));
}

/* ---- Threads */

static void *load_rows(void *failed)
{
    enum { kBatch = 64 };
    int32_t out[kBatch];
    int64_t rows[kBatch];
    uint64_t random = 7 + (uint64_t)my_rank;
    for (int round = 0; round < 50; round++) {
        for (int i = 0; i < kBatch; i++)
            rows[i] = random_below(&random, 10 * ranks);
        if (dds_get_batch_all(store, "x", kBatch, rows, out, sizeof out) != DDS_SUCCESS) {
            fprintf(stderr, "%s\n", dds_last_error());
            *(int *)failed = 1;
            return NULL;
        }
        for (int i = 0; i < kBatch; i++)
            *(int *)failed |= out[i] != 3 * (int32_t)rows[i];
    }
    return NULL;
}

static void a_thread_may_load_while_the_main_thread_waits_at_any_level(void **state)
{
    (void)state;
    dds_comm_t comm = comm_of_world();
    int32_t mine[10];
    for (int i = 0; i < 10; i++)
        mine[i] = 3 * (10 * my_rank + i);
    ok(dds_init(comm, NULL, &store));
    ok(dds_add(store, "x", 10, 1, DDS_INT32, mine, NULL));
    pthread_t loader;
    int failed = 0;
    assert_int_equal(pthread_create(&loader, NULL, load_rows, &failed), 0);
    pthread_join(loader, NULL);
    assert_int_equal(failed, 0);
    ok(dds_free(&store));
    ok(dds_comm_free(&comm));
}

static void *go_round(void *comm)
{
    int *all = must_alloc(sizeof(int) * (size_t)ranks);
    long wrong = 0;
    for (int i = 0; i < 300; i++) {
        const int mine = my_rank * 1000 + i;
        wrong += dds_comm_allgather((dds_comm_t)comm, &mine, sizeof mine, all) != DDS_SUCCESS;
        for (int rank = 0; rank < ranks; rank++)
            wrong += all[rank] != rank * 1000 + i;
    }
    free(all);
    return (void *)wrong;
}

static void threads_take_turns_at_any_level(void **state)
{
    (void)state;
    enum { kThreads = 4 };
    pthread_t threads[kThreads];
    dds_comm_t comms[kThreads];
    for (int i = 0; i < kThreads; i++)
        comms[i] = comm_of_world();
    for (int i = 0; i < kThreads; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, go_round, comms[i]), 0);
    for (int i = 0; i < kThreads; i++) {
        void *wrong;
        pthread_join(threads[i], &wrong);
        assert_null(wrong);
        ok(dds_comm_free(&comms[i]));
    }
}

/* ---- Two MPIs: DDS_TEST_MPI and DDS_TEST_SECOND_MPI */

static void an_mpi_that_is_not_initialised_is_passed_over(void **state)
{
    (void)state;
    assert_non_null(dlopen(getenv("DDS_TEST_SECOND_MPI"), RTLD_NOW | RTLD_GLOBAL));
    dds_comm_t comm = comm_of_world();
    ok(dds_comm_barrier(comm));
    ok(dds_comm_free(&comm));
}

static void of_two_that_live_the_one_that_is_meant_must_be_named(void **state)
{
    (void)state;
    const mpi_world_t *mpi = mpi_world();
    void *second = dlopen(getenv("DDS_TEST_SECOND_MPI"), RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    assert_non_null(second);
    int (*init)(int *, char ***), (*finalize)(void);
    *(void **)&init = dlsym(second, "MPI_Init");
    *(void **)&finalize = dlsym(second, "MPI_Finalize");
    assert_int_equal(init(NULL, NULL), 0);
    dds_comm_t comm = NULL;
    fails(dds_comm_mpi(mpi->comm, mpi->comm_size, NULL, &comm), DDS_ERR_STATE, "two MPIs",
          "libmpi.so", "libmpich.so");
    ok(dds_comm_mpi(mpi->comm, mpi->comm_size, getenv("DDS_TEST_MPI"), &comm));
    ok(dds_comm_barrier(comm));
    ok(dds_comm_free(&comm));
    fails(dds_comm_mpi(mpi->comm, mpi->comm_size, getenv("DDS_TEST_SECOND_MPI"), &comm),
          DDS_ERR_ARG, "another MPI's");
    assert_int_equal(finalize(), 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(without_an_mpi_none_is_loaded_and_the_remedy_is_told),
        cmocka_unit_test(before_mpi_init_it_is_said),
        cmocka_unit_test(wrong_arguments_are_told),
        cmocka_unit_test(it_can_be_switched_off),
        cmocka_unit_test(after_mpi_finalize_reading_and_freeing_still_work),
        cmocka_unit_test(many_communicators_use_up_nothing),
        cmocka_unit_test(a_rank_that_comes_late_leaves_a_timeout_and_no_hang),
        cmocka_unit_test(a_rank_that_comes_after_the_others_left_is_timed_out_too),
        cmocka_unit_test(a_rank_that_never_duplicates_leaves_a_timeout_and_no_hang),
        cmocka_unit_test(ranks_may_free_in_any_order_and_at_any_time),
        cmocka_unit_test(a_store_that_one_rank_frees_first_ends_in_order),
        cmocka_unit_test(a_child_cannot_use_the_parents_mpi),
        cmocka_unit_test(a_thread_may_load_while_the_main_thread_waits_at_any_level),
        cmocka_unit_test(threads_take_turns_at_any_level),
        cmocka_unit_test(an_mpi_that_is_not_initialised_is_passed_over),
        cmocka_unit_test(of_two_that_live_the_one_that_is_meant_must_be_named),
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (argc == 2 && strcmp(cases[i].name, argv[1]) == 0) {
            const struct CMUnitTest only[] = {cases[i]};
            return cmocka_run_group_tests(only, NULL, NULL);
        }
    fprintf(stderr, "no case %s\n", argc == 2 ? argv[1] : "");
    return 2;
}
