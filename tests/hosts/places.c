#include "places.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { kMost = 64, kName = 64 };

static int host[kMost];
static pthread_t cutter;

static void learn_places(void)
{
    char mine[kName] = {0};
    static char names[kMost][kName];
    int hosts = 0;
    assert_true(ranks <= kMost);
    assert_int_equal(gethostname(mine, sizeof mine - 1), 0);
    ok(dds_comm_allgather(world, mine, kName, names));
    for (int rank = 0; rank < ranks; rank++) {
        host[rank] = 0;
        for (int other = 0; other < rank && !host[rank]; other++)
            if (strcmp(names[other], names[rank]) == 0)
                host[rank] = host[other];
        if (!host[rank])
            host[rank] = ++hosts;
    }
}

int open_places(void **state)
{
    open_world(state);
    learn_places();
    assert_true(last_host() > 1);
    return 0;
}

int open_places_and_store(void **state)
{
    open_places(state);
    store = open_store();
    return 0;
}

int host_of(int rank) { return host[rank]; }

int last_host(void)
{
    int last = 0;
    for (int rank = 0; rank < ranks; rank++)
        last = host[rank] > last ? host[rank] : last;
    return last;
}

static void ask(const char *request)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char answer[256] = {0};
    const char *path = getenv("DDS_HOSTS");
    assert_non_null(path);
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    const int asker = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(asker >= 0);
    assert_int_equal(connect(asker, (const struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(write(asker, request, strlen(request)), strlen(request));
    assert_true(read(asker, answer, sizeof answer - 1) > 0);
    close(asker);
    if (strncmp(answer, "ok", 2) != 0)
        fail_msg("%s: %s", request, answer);
}

void ask_for_last_host(const char *verb)
{
    char request[32];
    snprintf(request, sizeof request, "%s %d", verb, last_host());
    ask(request);
}

void slow_last_host(const char *rate)
{
    char request[32];
    snprintf(request, sizeof request, "slow %d %s", last_host(), rate);
    ask(request);
}

static void *cut_and_heal(void *unused)
{
    sleep_ms(500);
    ask_for_last_host("cut");
    sleep_ms(3000);
    ask_for_last_host("heal");
    return unused;
}

void begin_cut(void)
{
    if (my_rank == 0)
        assert_int_equal(pthread_create(&cutter, NULL, cut_and_heal, NULL), 0);
}

void await_heal(void)
{
    if (my_rank == 0)
        assert_int_equal(pthread_join(cutter, NULL), 0);
}

_Noreturn void survive(void)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/survived.%d", test_dir(), my_rank);
    FILE *word = fopen(path, "we");
    assert_non_null(word);
    fclose(word);
    for (;;)
        pause();
}

static void (*see_the_end)(const char *verb);

static void a_cut_that_stays(void **state)
{
    (void)state;
    see_the_end("cut");
}

static void a_crash(void **state)
{
    (void)state;
    see_the_end("crash");
}

int run_breaks(int argc, char **argv, CMUnitTestFunction heals, void (*ends)(const char *verb))
{
    const struct CMUnitTest tests[] = {
        {"a_cut_that_heals_is_waited_out", heals, NULL, NULL, NULL},
        {"a_cut_that_stays_ends_everything_at_its_deadline", a_cut_that_stays, NULL, NULL, NULL},
        {"a_crashed_host_ends_everything_at_its_deadline", a_crash, NULL, NULL, NULL},
    };
    see_the_end = ends;
    cmocka_set_test_filter(argc > 1 ? argv[1] : NULL);
    return cmocka_run_group_tests(tests, open_places, close_world);
}
