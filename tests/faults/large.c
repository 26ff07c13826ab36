/* Large things: a row past 2^31 bytes, rows past 2^31, many variables, and what memory they take.
 * The argument is one of their names.  Skipped where the machine has not enough memory. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "support.h"

static bool skipped;

static void need_gib(long gib)
{
    char line[128];
    long available = 0;
    FILE *file = fopen("/proc/meminfo", "r");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "MemAvailable: %ld", &available) == 1)
            break;
    if (file)
        fclose(file);
    meet();
    int enough = available >> 20 >= gib, all[64];
    ok(dds_comm_allgather(world, &enough, sizeof enough, all));
    for (int rank = 0; rank < ranks; rank++)
        if (!all[rank]) {
            print_message("not enough memory: %ld GiB wanted\n", gib);
            skipped = true;
            skip();
        }
}

static void *map(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    return memory;
}

static void a_row_of_2_2_gib_is_read_whole(void **state)
{
    (void)state;
    need_gib(6);
    const size_t row = (size_t)2362232013; /* 2.2 GiB, and odd */
    const bool holder = my_rank == 0;
    int64_t nrows;
    void *place;
    ok(dds_create(store, "wide", holder, (int64_t)row, DDS_UINT8, NULL));
    if (holder) {
        ok(dds_local(store, "wide", &nrows, &place));
        fill_rows(place, 7, 0, 0, 1, row);
        ok(dds_release_local(place));
    }
    meet();
    if (my_rank == ranks - 1) {
        const int64_t rows[] = {0};
        char *out = map(row);
        ok(dds_get(store, "wide", 0, 1, out, row));
        check_row(out, 7, 0, 0, row);
        memset(out + row / 2, 0, 1 << 20);
        ok(dds_get_batch(store, "wide", 1, rows, out, row));
        check_row(out, 7, 0, 0, row);
        munmap(out, row);
    }
    meet();
    ok(dds_drop(store, "wide"));
}

static unsigned char byte_of(int64_t row)
{
    uint64_t state = (uint64_t)row >> 12; /* a page has one seed: quick to make, and told apart */
    return (unsigned char)(random_next(&state) + (uint64_t)row);
}

static void rows_of_1_byte_are_read_across_2_to_the_31(void **state)
{
    (void)state;
    need_gib(6);
    const int64_t total = (int64_t)3 << 30, mine = total / ranks;
    int64_t nrows;
    unsigned char *place, out[4096];
    int64_t rows[4096];
    void *view = NULL;
    ok(dds_create(store, "long", mine, 1, DDS_UINT8, NULL));
    ok(dds_local(store, "long", &nrows, &view));
    place = view;
    for (int64_t page = 0; page < mine; page += 4096) {
        const unsigned char first = byte_of(my_rank * mine + page);
        for (int i = 0; i < 4096; i++)
            place[page + i] = (unsigned char)(first + i);
    }
    ok(dds_release_local(view));
    meet();
    const int64_t edges[] = {0, (int64_t)1 << 31, mine, total - 4096, ((int64_t)1 << 31) - 4096};
    for (size_t i = 0; i < sizeof edges / sizeof *edges; i++) {
        int64_t first = edges[i] - 2048;
        if (first < 0)
            first = 0;
        ok(dds_get(store, "long", first, 4096, out, sizeof out));
        for (int k = 0; k < 4096; k++)
            assert_int_equal(out[k], byte_of(first + k));
    }
    uint64_t random = (uint64_t)my_rank;
    for (int i = 0; i < 50; i++) {
        for (int k = 0; k < 4096; k++)
            rows[k] = k % 2 ? random_below(&random, total)
                            : ((int64_t)1 << 31) - 2048 + k; /* across 2^31 */
        ok(dds_get_batch(store, "long", 4096, rows, out, sizeof out));
        for (int k = 0; k < 4096; k++)
            assert_int_equal(out[k], byte_of(rows[k]));
    }
    if (my_rank == 0) { /* one read of more than 2^31 bytes, over both shards */
        const int64_t n = ((int64_t)1 << 31) + 10;
        unsigned char *all = map((size_t)n);
        ok(dds_get(store, "long", 1000, n, all, (size_t)n));
        for (int64_t row = 0; row < n; row += 4093)
            assert_int_equal(all[row], byte_of(1000 + row));
        assert_int_equal(all[n - 1], byte_of(1000 + n - 1));
        munmap(all, (size_t)n);
    }
    meet();
    ok(dds_drop(store, "long"));
}

static void a_hundred_thousand_variables_need_few_descriptors(void **state)
{
    (void)state;
    enum { kMany = 100000 };
    struct rlimit old, few = {1024, 1024};
    getrlimit(RLIMIT_NOFILE, &old);
    few.rlim_max = old.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    dds_store_t opened = open_store();
    char name[32];
    const int before = open_descriptors();
    const double begin = seconds();
    for (int i = 0; i < kMany; i++) {
        const int64_t mine[2] = {i, my_rank};
        snprintf(name, sizeof name, "variable/%d", i);
        ok(dds_add(opened, name, 1, 2, DDS_INT64, mine, NULL));
    }
    const double added = seconds();
    uint64_t random = (uint64_t)my_rank;
    for (int i = 0; i < kMany; i++) {
        const int64_t which = random_below(&random, kMany);
        const int64_t rank = random_below(&random, ranks);
        int64_t out[2] = {-1, -1};
        snprintf(name, sizeof name, "variable/%d", (int)which);
        ok(dds_get(opened, name, rank, 1, out, sizeof out));
        assert_int_equal(out[0], which);
        assert_int_equal(out[1], rank);
    }
    dds_stats_t stats;
    stats_of(opened, &stats);
    assert_true(stats.arenas <= 16);
    assert_true(open_descriptors() - before <= 2 * 16 * ranks);
    print_message("%.1f us an add, %.1f us a look-up and read, %d descriptors, %d arenas\n",
                  1e6 * (added - begin) / kMany, 1e6 * (seconds() - added) / kMany,
                  open_descriptors() - before, (int)stats.arenas);
    close_store(&opened);
    setrlimit(RLIMIT_NOFILE, &old);
}

static void a_created_and_filled_shard_is_in_memory_once(void **state)
{
    (void)state;
    need_gib(3);
    enum { kMiB = 512 };
    static char block[1 << 20];
    memset(block, 1, sizeof block);
    const long before = resident_kib();
    ok(dds_create(store, "x", kMiB, 1 << 20, DDS_UINT8, NULL));
    for (int i = 0; i < kMiB; i++) {
        block[0] = (char)i;
        ok(dds_update(store, "x", i, 1, block));
    }
    const long more = resident_kib() - before;
    print_message("resident: %.4f of the shard\n", (double)more / (kMiB << 10));
    assert_true(more <= (kMiB << 10) * 1.02);
    assert_true(more >= (kMiB << 10) * 0.98);
    meet();
    ok(dds_drop(store, "x"));
    assert_true(resident_kib() - before < 16 << 10); /* and not at all after the drop */
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_hundred_thousand_variables_need_few_descriptors),
        cmocka_unit_test(a_created_and_filled_shard_is_in_memory_once),
        cmocka_unit_test(a_row_of_2_2_gib_is_read_whole),
        cmocka_unit_test(rows_of_1_byte_are_read_across_2_to_the_31),
    };
    cmocka_set_test_filter(argc > 1 ? argv[1] : NULL);
    const int failed = run_group_with_store(tests);
    return failed ? failed : skipped ? 77 : 0;
}
