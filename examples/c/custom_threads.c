/* custom_threads.c - four threads of one process as four ranks, over an allgather of our own.
 *
 *     cc -std=c11 -pthread -o custom_threads custom_threads.c \
 *         $(pkg-config --cflags --libs ddstore)
 *     ./custom_threads
 *
 * A communicator needs one function: give my bytes to all, get the bytes of all.  What is done here
 * with a mutex is done elsewhere with torch.distributed, PMIx or any launcher's own means. */
#define _XOPEN_SOURCE 700
#include <ddstore.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { RANKS = 4, ROWS = 300 };

/* What the ranks share: a place to meet, and where each one's bytes are. */
struct group {
    pthread_mutex_t lock;
    pthread_cond_t all_here;
    int here;         /* ranks that have come to this meeting */
    unsigned meeting; /* its number */
    const void *bytes_of[RANKS];
};

struct member {
    struct group *group;
    int rank;
    int failures;
};

/* Until all are here, or the deadline. */
static int meet(struct group *group, const struct timespec *deadline)
{
    int error = 0;
    pthread_mutex_lock(&group->lock);
    const unsigned mine = group->meeting;
    if (++group->here == RANKS) {
        group->here = 0;
        group->meeting++;
        pthread_cond_broadcast(&group->all_here);
    }
    while (mine == group->meeting && !error)
        error = pthread_cond_timedwait(&group->all_here, &group->lock, deadline);
    pthread_mutex_unlock(&group->lock);
    return error == 0 ? DDS_SUCCESS : error == ETIMEDOUT ? DDS_ERR_TIMEOUT : DDS_ERR_INTERNAL;
}

/* The store calls this on every rank, with the same number of bytes.  It must not wait longer than
 * it is told, or a rank that never comes would hang the others. */
static int allgather(void *ctx, const void *in, size_t bytes, void *out, int timeout_ms)
{
    const struct member *me = ctx;
    struct timespec deadline;
    clock_gettime(CLOCK_REALTIME, &deadline);
    deadline.tv_sec += timeout_ms / 1000;
    deadline.tv_nsec += timeout_ms % 1000 * 1000000L;
    if (deadline.tv_nsec >= 1000000000L) {
        deadline.tv_sec++;
        deadline.tv_nsec -= 1000000000L;
    }

    me->group->bytes_of[me->rank] = in;
    int code = meet(me->group, &deadline); /* all places are known */
    if (code != DDS_SUCCESS)
        return code;
    for (int rank = 0; rank < RANKS && bytes > 0; rank++)
        memcpy((char *)out + (size_t)rank * bytes, me->group->bytes_of[rank], bytes);
    return meet(me->group, &deadline); /* all have copied: `in` may change again */
}

/* A thread must not exit() the process for an error of its own: it counts and goes on. */
static int check(struct member *me, int code, const char *what)
{
    if (code != DDS_SUCCESS) {
        fprintf(stderr, "rank %d: %s: %s: %s\n", me->rank, what, dds_error_name(code),
                dds_last_error());
        me->failures++;
    }
    return code == DDS_SUCCESS;
}

static void use(struct member *me, dds_store_t store)
{
    int64_t mine[ROWS], rows[ROWS], out[ROWS];
    for (int i = 0; i < ROWS; i++)
        mine[i] = (int64_t)me->rank * ROWS + i;
    if (!check(me, dds_add(store, "number", ROWS, 1, DDS_INT64, mine, NULL), "add"))
        return;

    /* Rows of all ranks, each rank another selection; all read together. */
    for (int i = 0; i < ROWS; i++)
        rows[i] = (int64_t)i * 7919 * (me->rank + 1) % (ROWS * RANKS);
    if (!check(me, dds_get_batch_all(store, "number", ROWS, rows, out, sizeof out), "read"))
        return;
    for (int i = 0; i < ROWS; i++)
        me->failures += out[i] != rows[i];
    printf("rank %d: %d rows, %d wrong\n", me->rank, ROWS, me->failures);
}

static void *run(void *argument)
{
    struct member *me = argument;
    dds_comm_ops_t ops = DDS_COMM_OPS_INIT;
    ops.rank = me->rank;
    ops.size = RANKS;
    ops.allgather = allgather; /* ops.free stays NULL: the group lives in main() */

    dds_comm_t comm = NULL;
    dds_store_t store = NULL;
    if (check(me, dds_comm_custom(&ops, me, &comm), "communicator") &&
        check(me, dds_init(comm, NULL, &store), "store"))
        use(me, store);
    check(me, dds_free(&store), "free"); /* NULL is fine */
    check(me, dds_comm_free(&comm), "free");
    return NULL;
}

int main(void)
{
    struct group group = {.here = 0};
    pthread_mutex_init(&group.lock, NULL);
    pthread_cond_init(&group.all_here, NULL);

    struct member members[RANKS];
    pthread_t threads[RANKS];
    for (int rank = 0; rank < RANKS; rank++) {
        members[rank] = (struct member){&group, rank, 0};
        if (pthread_create(&threads[rank], NULL, run, &members[rank]) != 0) {
            perror("pthread_create");
            return EXIT_FAILURE; /* ends the other threads, too */
        }
    }
    int failures = 0;
    for (int rank = 0; rank < RANKS; rank++) {
        pthread_join(threads[rank], NULL);
        failures += members[rank].failures;
    }
    pthread_cond_destroy(&group.all_here);
    pthread_mutex_destroy(&group.lock);
    return failures ? EXIT_FAILURE : EXIT_SUCCESS;
}
