#include "support.h"

#include <dirent.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "mpi_world.h"

int my_rank, ranks = 1;
dds_comm_t world;
dds_store_t store;

static int number(const char *name, int otherwise)
{
    const char *text = getenv(name);
    return text ? atoi(text) : otherwise;
}

const char *test_dir(void)
{
    const char *dir = getenv("DDS_TEST_DIR");
    return dir ? dir : "/tmp";
}

int open_world(void **state)
{
    (void)state;
    char dir[4096];
    if (under_mpi()) {
        const mpi_world_t *mpi = mpi_world();
        ok(dds_comm_mpi(mpi->comm, mpi->comm_size, NULL, &world));
        ok(dds_comm_rank(world, &my_rank));
        ok(dds_comm_size(world, &ranks));
        return 0;
    }
    my_rank = number("DDS_TEST_RANK", 0);
    ranks = number("DDS_TEST_SIZE", 1);
    snprintf(dir, sizeof dir, "%s/world", test_dir());
    ok(dds_comm_file(dir, "world", my_rank, ranks, 20000, &world));
    return 0;
}

int close_world(void **state)
{
    (void)state;
    meet();
    ok(dds_comm_free(&world));
    return 0;
}

int open_world_and_store(void **state)
{
    open_world(state);
    store = open_store();
    return 0;
}

int close_world_and_store(void **state)
{
    close_store(&store);
    return close_world(state);
}

int open_nothing(void **state)
{
    (void)state;
    return 0;
}

void meet(void) { ok(dds_comm_barrier(world)); }

dds_store_t open_store(void)
{
    dds_store_t opened = NULL;
    dds_options_t options = DDS_OPTIONS_INIT;
    if (path_under_test() == DDS_PATH_FABRIC && !wire_under_test())
        options.method = DDS_METHOD_FABRIC;
    ok(dds_init(world, &options, &opened));
    assert_non_null(opened);
    return opened;
}

void close_store(dds_store_t *open)
{
    meet();
    ok(dds_free(open));
    assert_null(*open);
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
    (void)status, (void)kind, (void)walk;
    return remove(path);
}

void remove_meeting(const char *dir)
{
    if (world)
        meet();
    if (my_rank == 0)
        nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

void check_ok(int code, const char *call, const char *file, int line)
{
    if (code == DDS_SUCCESS)
        return;
    print_error("%s:%d: rank %d: %s\n    is %s: %s\n", file, line, my_rank, call,
                dds_error_name(code), dds_last_error());
    _fail(file, line);
}

void check_fails(int code, int expected, const char *call, const char *file, int line, ...)
{
    bool right = code == expected;
    va_list parts;
    va_start(parts, line);
    for (const char *part; (part = va_arg(parts, const char *));) {
        if (strstr(dds_last_error(), part))
            continue;
        print_error("\"%s\" is not in the text:\n", part);
        right = false;
    }
    va_end(parts);
    if (right && code != DDS_SUCCESS && dds_last_error()[0] != '\0')
        return;
    print_error("%s:%d: rank %d: %s\n    is %s, not %s: %s\n", file, line, my_rank, call,
                dds_error_name(code), dds_error_name(expected), dds_last_error());
    _fail(file, line);
}

double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void sleep_ms(int ms)
{
    struct timespec left = {ms / 1000, ms % 1000 * 1000000L};
    while (nanosleep(&left, &left) != 0)
        continue;
}

long resident_kib(void)
{
    char line[128];
    long kib = 0;
    FILE *file = fopen("/proc/self/status", "re");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "VmRSS: %ld", &kib) == 1)
            break;
    if (file)
        fclose(file);
    return kib;
}

int open_descriptors(void)
{
    DIR *all = opendir("/proc/self/fd");
    int n = -1; /* the walk's own */
    for (struct dirent *entry; (entry = readdir(all));)
        n += entry->d_name[0] != '.';
    closedir(all);
    return n;
}

void *must_alloc(size_t bytes)
{
    void *memory = malloc(bytes ? bytes : 1);
    assert_non_null(memory);
    return memory;
}

/* ---- Guarded memory: [page with the header][canary][bytes][canary of `shift`][no access] */

typedef struct header_s {
    unsigned char *start; /* of the mapping */
    size_t mapped;        /* all of it */
    size_t bytes, shift;
    void *memory;
} header_t;

enum { kPage = 4096, kCanary = 0xA5 };

static header_t *header_of(const void *memory)
{
    unsigned char *page = (unsigned char *)((uintptr_t)memory & ~(uintptr_t)(kPage - 1));
    header_t *header;
    memcpy(&header, page - sizeof header, sizeof header);
    assert_ptr_equal(header->memory, memory);
    return header;
}

void *guarded_new(size_t bytes, size_t shift)
{
    const size_t body = (bytes + shift + kPage - 1) / kPage * kPage + kPage;
    const size_t mapped = kPage + body + kPage;
    unsigned char *start =
        mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(start != MAP_FAILED);
    memset(start + kPage, kCanary, body);
    assert_int_equal(mprotect(start + kPage + body, kPage, PROT_NONE), 0);
    header_t *header = (header_t *)start;
    *header = (header_t){start, mapped, bytes, shift, start + kPage + body - shift - bytes};
    /* Just before the memory's own page there is a pointer to the header, for header_of. */
    unsigned char *page = (unsigned char *)((uintptr_t)header->memory & ~(uintptr_t)(kPage - 1));
    memcpy(page - sizeof header, &header, sizeof header);
    return header->memory;
}

void guarded_check(const void *memory)
{
    const header_t *header = header_of(memory);
    const unsigned char *at = memory;
    const unsigned char *page = (const unsigned char *)((uintptr_t)at & ~(uintptr_t)(kPage - 1));
    for (const unsigned char *before = page - kPage; before < at; before++) {
        if (before == page - sizeof(header_t *))
            before = page; /* the pointer to the header */
        if (before < at)
            assert_int_equal(*before, kCanary);
    }
    for (size_t i = 0; i < header->shift; i++)
        assert_int_equal(at[header->bytes + i], kCanary);
}

void guarded_free(void *memory)
{
    guarded_check(memory);
    const header_t *header = header_of(memory);
    munmap(header->start, header->mapped);
}

/* ---- Paths */

static const char *path_name(void)
{
    const char *name = getenv("DDS_TEST_PATH");
    return name ? name : "shm";
}

bool wire_under_test(void) { return getenv("DDSTORE_TEST_WIRE") != NULL; }

int path_under_test(void)
{
    if (strcmp(path_name(), "shm") == 0)
        return DDS_PATH_SHM;
    if (strcmp(path_name(), "cma") == 0)
        return DDS_PATH_CMA;
    if (strcmp(path_name(), "mpi") == 0)
        return DDS_PATH_MPI;
    assert_true(wire_under_test() || strcmp(path_name(), "fabric") == 0);
    return DDS_PATH_FABRIC;
}

void stats_of(dds_store_t of, dds_stats_t *stats)
{
    *stats = (dds_stats_t)DDS_STATS_INIT;
    ok(dds_stats(of, stats));
}

void check_traffic_(dds_store_t of, const dds_stats_t *before, int64_t own, int64_t others,
                    size_t row_bytes, const char *file, int line)
{
    dds_stats_t now;
    stats_of(of, &now);
    for (int path = 0; path < 8; path++) {
        const int64_t expected = path == DDS_PATH_SELF       ? own
                                 : path == path_under_test() ? others
                                                             : 0;
        const uint64_t rows = now.rows[path] - before->rows[path];
        const uint64_t bytes = now.bytes[path] - before->bytes[path];
        if (rows == (uint64_t)expected && bytes == rows * row_bytes)
            continue;
        print_error("%s:%d: rank %d: path %d has %" PRIu64 " rows and %" PRIu64
                    " bytes more, not %" PRId64 " rows of %zu bytes\n",
                    file, line, my_rank, path, rows, bytes, expected, row_bytes);
        _fail(file, line);
    }
}
