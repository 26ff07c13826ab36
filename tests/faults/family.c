#include "family.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

long long now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

uint64_t seed_of_test(void)
{
    uint64_t seed;
    const char *given = getenv("DDS_TEST_SEED");
    if (given)
        seed = strtoull(given, NULL, 0);
    else
        assert_int_equal(getrandom(&seed, sizeof seed, 0), sizeof seed);
    printf("DDS_TEST_SEED=%#llx\n", (unsigned long long)seed);
    fflush(stdout);
    return seed;
}

int faulty_rank(void)
{
    const char *rank = getenv("DDS_TEST_POINT_RANK");
    return rank ? atoi(rank) : 1;
}

static void be_rank(const family_t *family, int rank, void (*body)(shared_t *))
{
    my_rank = rank;
    ranks = family->n;
    setenv("CMOCKA_TEST_ABORT", "1", 1); /* a failed check ends this process */
    const char *point = getenv("DDS_TEST_POINT"), *trace = getenv("DDS_TEST_TRACE");
    char text[4096];
    if (point && rank == faulty_rank())
        setenv("DDSTORE_FAILPOINT", point, 1);
    if (trace) {
        snprintf(text, sizeof text, "%s.%d", trace, rank);
        setenv("DDSTORE_FAILPOINT_TRACE", text, 1);
    }
    if (!family->bare)
        ok(dds_comm_file(family->shared->dir, "family", rank, family->n, 20000, &world));
    body(family->shared);
    ok(dds_comm_free(&world));
    _exit(0);
}

void family_start(family_t *family, int n, void (*body)(shared_t *))
{
    static int families;
    family->n = n;
    family->shared = mmap(NULL, sizeof *family->shared, PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(family->shared != MAP_FAILED);
    snprintf(family->dir, sizeof family->dir, "%s/family%d", test_dir(), families++);
    strcpy(family->shared->dir, family->dir);
    family->shared->victim = -1;
    fflush(stdout);
    for (int rank = 0; rank < n; rank++) {
        family->pid[rank] = fork();
        assert_true(family->pid[rank] >= 0);
        if (family->pid[rank] == 0)
            be_rank(family, rank, body);
    }
}

void family_await_ready(family_t *family, int n)
{
    for (const double end = seconds() + 30; family->shared->ready < n;) {
        assert_true(seconds() < end);
        sleep_ms(1);
    }
}

void family_strike(family_t *family, int rank, int signal)
{
    family->shared->victim = rank;
    assert_int_equal(kill(family->pid[rank], signal), 0);
    family->shared->struck_at = now_ns();
}

void family_end(family_t *family, int killed)
{
    for (int rank = 0; rank < family->n; rank++) {
        int status = -1;
        assert_int_equal(waitpid(family->pid[rank], &status, 0), family->pid[rank]);
        const bool well = rank == killed ? WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL
                                         : WIFEXITED(status) && WEXITSTATUS(status) == 0;
        if (!well)
            print_error("rank %d ended with %#x; killed: %d\n", rank, (unsigned)status, killed);
        assert_true(well);
    }
    if (killed >= 0)
        remove_meeting(family->dir);
    munmap(family->shared, sizeof *family->shared);
}
