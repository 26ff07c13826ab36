/* Communicators: self and file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support.h"

static void self_is_rank_0_of_1(void **state)
{
    (void)state;
    dds_comm_t self = NULL;
    int rank = -1, size = -1;
    ok(dds_comm_self(&self));
    ok(dds_comm_rank(self, &rank));
    ok(dds_comm_size(self, &size));
    assert_int_equal(rank, 0);
    assert_int_equal(size, 1);
    ok(dds_comm_barrier(self));
    int in = 42, out = 0;
    ok(dds_comm_allgather(self, &in, sizeof in, &out));
    assert_int_equal(out, 42);
    ok(dds_comm_free(&self));
}

static void a_file_communicator_knows_its_ranks(void **state)
{
    (void)state;
    int rank = -1, size = -1;
    ok(dds_comm_rank(world, &rank));
    ok(dds_comm_size(world, &size));
    assert_int_equal(rank, my_rank);
    assert_int_equal(size, ranks);
}

static void the_directory_is_made_for_its_owner_alone(void **state)
{
    (void)state;
    char dir[4096];
    struct stat status;
    dds_comm_t comm = NULL;
    snprintf(dir, sizeof dir, "%s/new", test_dir());
    ok(dds_comm_file(dir, "a", my_rank, ranks, 20000, &comm));
    assert_int_equal(stat(dir, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0700);
    ok(dds_comm_barrier(comm));
    ok(dds_comm_free(&comm));
}

static void allgather_is_in_rank_order(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 7, 8, 4096, 1000003};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const size_t bytes = sizes[i];
        void *in = must_alloc(bytes);
        unsigned char *out = guarded_new(bytes * (size_t)ranks, 3);
        fill_rows(in, 1, (uint32_t)i, my_rank, 1, bytes);
        ok(dds_comm_allgather(world, in, bytes, out));
        for (int rank = 0; rank < ranks; rank++)
            check_row(out + (size_t)rank * bytes, 1, (uint32_t)i, rank, bytes);
        guarded_free(out);
        free(in);
    }
}

static void allgatherv_takes_any_length_from_each(void **state)
{
    (void)state;
    size_t sizes[64];
    for (size_t round = 0; round < 4; round++) {
        const size_t unit = round == 3 ? 100001 : round * 5;
        size_t total = 0;
        for (int rank = 0; rank < ranks; rank++)
            total += (size_t)rank * unit; /* rank 0 gives nothing */
        const size_t mine = (size_t)my_rank * unit;
        void *in = must_alloc(mine);
        unsigned char *out = guarded_new(total, 0), *at = out;
        fill_rows(in, 2, (uint32_t)round, my_rank, 1, mine);
        ok(dds_comm_allgatherv(world, in, mine, out, total, sizes));
        for (int rank = 0; rank < ranks; at += sizes[rank++]) {
            assert_int_equal(sizes[rank], (size_t)rank * unit);
            check_row(at, 2, (uint32_t)round, rank, sizes[rank]);
        }
        guarded_free(out);
        free(in);
    }
}

static void one_small_buffer_is_truncated_on_every_rank(void **state)
{
    (void)state;
    size_t sizes[64] = {0};
    char in[16] = "0123456789", out[64 * 16];
    const size_t all = 10 * (size_t)ranks;
    const size_t capacity = my_rank == ranks - 1 ? all - 1 : all;
    fails_plainly(dds_comm_allgatherv(world, in, 10, out, capacity, sizes), DDS_ERR_TRUNCATED);
    for (int rank = 0; rank < ranks; rank++)
        assert_int_equal(sizes[rank], 10);
    ok(dds_comm_allgatherv(world, in, 10, out, all, sizes)); /* it goes on */
}

static void a_missing_rank_is_named_when_the_time_is_over(void **state)
{
    (void)state;
    char missing[32], dir[4096];
    snprintf(dir, sizeof dir, "%s/lonely", test_dir());
    dds_comm_t comm = (dds_comm_t)&comm;
    const double begin = seconds();
    snprintf(missing, sizeof missing, "%d", ranks);
    fails(dds_comm_file(dir, "lonely", my_rank, ranks + 1, 300, &comm), DDS_ERR_TIMEOUT, missing);
    assert_true(comm == (dds_comm_t)&comm); /* outputs are set only on success */
    const double took = seconds() - begin;
    assert_true(took > 0.25 && took < 1.3);
    remove_meeting(dir);
}

static void impossible_ranks_and_sizes_are_refused(void **state)
{
    (void)state;
    dds_comm_t comm = NULL;
    static const int bad[][2] = {{-1, 1}, {1, 1}, {0, 0}, {0, -1}, {0, INT32_MIN}, {7, 7}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        fails_plainly(dds_comm_file(test_dir(), "bad", bad[i][0], bad[i][1], 100, &comm),
                      DDS_ERR_ARG);
    fails_plainly(dds_comm_file(test_dir(), "bad", 0, 1, -1, &comm), DDS_ERR_ARG);
    fails_plainly(dds_comm_file(NULL, "bad", 0, 1, 100, &comm), DDS_ERR_ARG);
    fails_plainly(dds_comm_file("", "bad", 0, 1, 100, &comm), DDS_ERR_ARG);
    fails_plainly(dds_comm_file(test_dir(), "", 0, 1, 100, &comm), DDS_ERR_ARG);
    fails_plainly(dds_comm_file(test_dir(), "bad", 0, 1, 100, NULL), DDS_ERR_ARG);
    fails_plainly(dds_comm_self(NULL), DDS_ERR_ARG);
    assert_null(comm);
}

static void without_a_directory_ranks_meet_in_the_usual_one(void **state)
{
    (void)state;
    dds_comm_t comm = NULL;
    char dir[4096];
    snprintf(dir, sizeof dir, "%s/usual%d", test_dir(), my_rank);
    setenv("DDSTORE_HANDSHAKE_DIR", dir, 1);
    ok(dds_comm_file(NULL, "usual", 0, 1, 1000, &comm));
    ok(dds_comm_free(&comm));
    unsetenv("DDSTORE_HANDSHAKE_DIR");
    rmdir(dir);
}

static void null_buffers_are_refused(void **state)
{
    (void)state;
    dds_comm_t self = NULL;
    char byte = 0;
    size_t size;
    ok(dds_comm_self(&self));
    fails_plainly(dds_comm_rank(self, NULL), DDS_ERR_ARG);
    fails_plainly(dds_comm_size(self, NULL), DDS_ERR_ARG);
    fails_plainly(dds_comm_allgather(self, NULL, 1, &byte), DDS_ERR_ARG);
    fails_plainly(dds_comm_allgather(self, &byte, 1, NULL), DDS_ERR_ARG);
    fails_plainly(dds_comm_allgatherv(self, NULL, 1, &byte, 1, &size), DDS_ERR_ARG);
    fails_plainly(dds_comm_allgatherv(self, &byte, 1, NULL, 1, &size), DDS_ERR_ARG);
    fails_plainly(dds_comm_allgatherv(self, &byte, 1, &byte, 1, NULL), DDS_ERR_ARG);
    ok(dds_comm_allgather(self, NULL, 0, NULL));
    ok(dds_comm_free(&self));
    fails_plainly(dds_comm_free(NULL), DDS_ERR_ARG);
}

static void a_freed_communicator_is_told_and_freeing_again_is_harmless(void **state)
{
    (void)state;
    dds_comm_t self = NULL;
    int rank;
    ok(dds_comm_self(&self));
    const dds_comm_t stale = self;
    ok(dds_comm_free(&self));
    assert_null(self);
    ok(dds_comm_free(&self));
    dds_comm_t again = stale;
    fails_plainly(dds_comm_free(&again), DDS_ERR_STATE);
    fails_plainly(dds_comm_rank(stale, &rank), DDS_ERR_STATE);
    fails_plainly(dds_comm_barrier(stale), DDS_ERR_STATE);
    dds_comm_t other = NULL; /* which may take the place of the freed one */
    ok(dds_comm_self(&other));
    fails_plainly(dds_comm_rank(stale, &rank), DDS_ERR_STATE);
    ok(dds_comm_free(&other));
}

static void many_communicators_leave_no_descriptor(void **state)
{
    (void)state;
    const int before = open_descriptors();
    for (int i = 0; i < 20; i++) {
        dds_comm_t comm = NULL;
        ok(dds_comm_file(test_dir(), NULL, my_rank, ranks, 20000, &comm));
        ok(dds_comm_barrier(comm));
        ok(dds_comm_free(&comm));
    }
    assert_int_equal(open_descriptors(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(impossible_ranks_and_sizes_are_refused),
        cmocka_unit_test(without_a_directory_ranks_meet_in_the_usual_one),
        cmocka_unit_test(null_buffers_are_refused),
        cmocka_unit_test(a_freed_communicator_is_told_and_freeing_again_is_harmless),
        cmocka_unit_test(self_is_rank_0_of_1),
        cmocka_unit_test(a_file_communicator_knows_its_ranks),
        cmocka_unit_test(the_directory_is_made_for_its_owner_alone),
        cmocka_unit_test(allgather_is_in_rank_order),
        cmocka_unit_test(allgatherv_takes_any_length_from_each),
        cmocka_unit_test(one_small_buffer_is_truncated_on_every_rank),
        cmocka_unit_test(a_missing_rank_is_named_when_the_time_is_over),
        cmocka_unit_test(many_communicators_leave_no_descriptor),
    };
    return run_group(tests);
}
