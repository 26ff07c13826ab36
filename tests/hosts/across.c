/* Any rank reads any row, on its own host and on others; each row comes the way that it should. */
#include <inttypes.h>
#include <string.h>

#include "places.h"

enum { kBatch = 200, kRounds = 20 };

static const size_t row_sizes[] = {1, 8, 200, 12800};

/* How many rows should have come each way. */
typedef struct ways_s {
    int64_t rows[8];
} ways_t;

static int way_to(int rank)
{
    return rank == my_rank                        ? DDS_PATH_SELF
           : host_of(rank) == host_of(my_rank)    ? DDS_PATH_SHM
           : path_under_test() == DDS_PATH_FABRIC ? DDS_PATH_FABRIC
                                                  : DDS_PATH_MPI;
}

static void expect_rows(ways_t *expected, const shards_t *shards, int64_t n, const int64_t *rows)
{
    for (int64_t i = 0; i < n; i++)
        expected->rows[way_to(owner_of(shards, rows[i]))]++;
}

static void check_ways_(dds_store_t of, const dds_stats_t *before, const ways_t *expected,
                        size_t row_bytes, const char *file, int line)
{
    dds_stats_t now;
    stats_of(of, &now);
    for (int way = 0; way < 8; way++) {
        const int64_t rows = (int64_t)(now.rows[way] - before->rows[way]);
        const int64_t bytes = (int64_t)(now.bytes[way] - before->bytes[way]);
        if (rows == expected->rows[way] && bytes == rows * (int64_t)row_bytes)
            continue;
        print_error("%s:%d: rank %d: path %d has %" PRId64 " rows and %" PRId64
                    " bytes more, not %" PRId64 " rows of %zu bytes\n",
                    file, line, my_rank, way, rows, bytes, expected->rows[way], row_bytes);
        _fail(file, line);
    }
}

#define check_ways(of, before, expected, row_bytes) \
    check_ways_(of, before, expected, row_bytes, __FILE__, __LINE__)

static void the_path_says_who_is_on_this_host(void **state)
{
    (void)state;
    for (int rank = 0; rank < ranks; rank++) {
        char text[128];
        ok(dds_path(store, rank, text, sizeof text));
        switch (way_to(rank)) {
        case DDS_PATH_SELF: assert_string_equal(text, "self"); break;
        case DDS_PATH_SHM: assert_string_equal(text, "shm"); break;
        case DDS_PATH_FABRIC: assert_int_equal(strncmp(text, "fabric ", 7), 0); break;
        default: assert_int_equal(strncmp(text, "mpi", 3), 0);
        }
    }
}

static void each_row_comes_its_way(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof row_sizes / sizeof *row_sizes; i++) {
        shards_t shards;
        ways_t expected = {{0}};
        dds_stats_t before;
        add_shards(store, &shards, "x", row_sizes[i], 60, 1 + i);
        unsigned char *out = guarded_new(shards.row_bytes, 0);
        stats_of(store, &before);
        for (int64_t row = 0; row < total_rows(&shards); row++) {
            ok(dds_get(store, "x", row, 1, out, shards.row_bytes));
            check_row(out, shards.variable, 0, row, shards.row_bytes);
            expect_rows(&expected, &shards, 1, &row);
        }
        check_ways(store, &before, &expected, shards.row_bytes);
        guarded_free(out);
        drop_shards(store, &shards);
    }
}

static void a_range_crosses_hosts(void **state)
{
    (void)state;
    shards_t shards;
    add_shards(store, &shards, "x", 200, 300, 11);
    const int64_t all = total_rows(&shards);
    unsigned char *out = guarded_new((size_t)all * 200, 0);
    ok(dds_get(store, "x", 0, all, out, (size_t)all * 200));
    for (int64_t row = 0; row < all; row++)
        check_row(out + row * 200, shards.variable, 0, row, 200);
    guarded_free(out);
    drop_shards(store, &shards);
}

static void a_batch_mixes_hosts(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof row_sizes / sizeof *row_sizes; i++) {
        shards_t shards;
        int64_t rows[kBatch];
        uint64_t random = (uint64_t)my_rank + 1;
        add_shards(store, &shards, "x", row_sizes[i], 500, 21 + i);
        unsigned char *out = guarded_new(kBatch * shards.row_bytes, 1);
        for (int round = 0; round < kRounds; round++) {
            ways_t expected = {{0}};
            dds_stats_t before;
            random_rows(&shards, &random, kBatch, rows);
            expect_rows(&expected, &shards, kBatch, rows);
            stats_of(store, &before);
            ok(dds_get_batch(store, "x", kBatch, rows, out, kBatch * shards.row_bytes));
            check_batch(&shards, kBatch, rows, out);
            check_ways(store, &before, &expected, shards.row_bytes);
        }
        guarded_free(out);
        drop_shards(store, &shards);
    }
}

static void a_batch_of_all_ranks_mixes_hosts(void **state)
{
    (void)state;
    shards_t shards;
    int64_t rows[kBatch];
    uint64_t random = (uint64_t)my_rank + 1;
    add_shards(store, &shards, "x", 200, 500, 31);
    unsigned char *out = guarded_new(kBatch * shards.row_bytes, 0);
    for (int round = 0; round < kRounds; round++) {
        ways_t expected = {{0}};
        dds_stats_t before;
        const int64_t n = (my_rank + round) % 3 == 0 ? 0 : kBatch - round; /* nothing for some */
        random_rows(&shards, &random, n, rows);
        expect_rows(&expected, &shards, n, rows);
        stats_of(store, &before);
        ok(dds_get_batch_all(store, "x", n, rows, out, kBatch * shards.row_bytes));
        check_batch(&shards, n, rows, out);
        check_ways(store, &before, &expected, shards.row_bytes);
    }
    guarded_free(out);
    drop_shards(store, &shards);
}

static void requests_fly_together(void **state)
{
    (void)state;
    enum { kFlying = 8 };
    static int64_t rows[kFlying][kBatch];
    shards_t shards;
    dds_request_t requests[kFlying];
    unsigned char *out[kFlying];
    uint64_t random = (uint64_t)my_rank + 1;
    add_shards(store, &shards, "x", 3000, 500, 41);
    for (int i = 0; i < kFlying; i++) {
        out[i] = guarded_new(kBatch * shards.row_bytes, 0);
        random_rows(&shards, &random, kBatch, rows[i]);
        ok(dds_iget_batch(store, "x", kBatch, rows[i], out[i], kBatch * shards.row_bytes, NULL,
                          &requests[i]));
    }
    for (int done = 0; done < kFlying; done++) {
        int which = -1;
        ok(dds_waitany(kFlying, requests, 0, &which));
        assert_true(which >= 0 && requests[which] == NULL);
        check_batch(&shards, kBatch, rows[which], out[which]);
        guarded_free(out[which]);
    }
    drop_shards(store, &shards);
}

static void a_row_of_3_mib_is_read_whole(void **state)
{
    (void)state;
    shards_t shards;
    int64_t row = 0;
    add_shards(store, &shards, "x", (3 << 20) + 1, 6, 51);
    unsigned char *out = guarded_new(shards.row_bytes, 0);
    for (; row < total_rows(&shards); row++) {
        ok(dds_get_batch(store, "x", 1, &row, out, shards.row_bytes));
        check_row(out, shards.variable, 0, row, shards.row_bytes);
    }
    guarded_free(out);
    drop_shards(store, &shards);
}

static void a_row_past_the_end_is_refused_before_any_is_read(void **state)
{
    (void)state;
    shards_t shards;
    dds_stats_t before;
    const ways_t none = {{0}};
    add_shards(store, &shards, "x", 64, 50, 61);
    const int64_t rows[2] = {0, total_rows(&shards)};
    unsigned char out[128] = {0};
    stats_of(store, &before);
    fails(dds_get_batch(store, "x", 2, rows, out, sizeof out), DDS_ERR_RANGE, "past the end");
    check_ways(store, &before, &none, 64);
    drop_shards(store, &shards);
}

static void owners_on_other_hosts_need_not_call(void **state)
{
    (void)state;
    shards_t shards;
    unsigned char out[64];
    add_shards(store, &shards, "x", 64, 400, 71);
    for (int reader = 0; reader < ranks; reader++) { /* one reads, the others are in a barrier */
        for (int64_t row = 0; reader == my_rank && row < total_rows(&shards); row += 5) {
            ok(dds_get(store, "x", row, 1, out, sizeof out));
            check_row(out, shards.variable, 0, row, 64);
        }
        meet();
    }
    drop_shards(store, &shards);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_path_says_who_is_on_this_host),
        cmocka_unit_test(each_row_comes_its_way),
        cmocka_unit_test(a_range_crosses_hosts),
        cmocka_unit_test(a_batch_mixes_hosts),
        cmocka_unit_test(a_batch_of_all_ranks_mixes_hosts),
        cmocka_unit_test(requests_fly_together),
        cmocka_unit_test(a_row_of_3_mib_is_read_whole),
        cmocka_unit_test(a_row_past_the_end_is_refused_before_any_is_read),
        cmocka_unit_test(owners_on_other_hosts_need_not_call),
    };
    return cmocka_run_group_tests(tests, open_places_and_store, close_world_and_store);
}
