/* requests.c - read ahead: batches are fetched while the program computes on earlier ones.
 *
 *     cc -std=c11 -o requests requests.c $(pkg-config --cflags --libs ddstore)
 *     ./requests                                (alone)
 *     for rank in 0 1 2; do ./requests meet $rank 3 & done; wait
 *
 * DEPTH buffers go round: each is either being filled by a request or being used, never both. */
#include <ddstore.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 2000, WIDTH = 256, BATCH = 64, STEPS = 100, DEPTH = 3 };

static void check(int code, const char *what)
{
    if (code == DDS_SUCCESS)
        return;
    fprintf(stderr, "%s: %s: %s\n", what, dds_error_name(code), dds_last_error());
    exit(EXIT_FAILURE);
}

/* What a request needs until it has ended: nothing of it may be moved, freed or touched. */
struct slot {
    dds_request_t request;
    int64_t rows[BATCH];
    int32_t status[BATCH];
    int64_t out[BATCH][WIDTH];
};
static struct slot slots[DEPTH];

static void start(dds_store_t store, struct slot *slot, int64_t total)
{
    for (int i = 0; i < BATCH; i++)
        slot->rows[i] = rand() % total;
    check(dds_iget_batch(store, "table", BATCH, slot->rows, slot->out, sizeof slot->out,
                         slot->status, &slot->request),
          "start");
}

/* A time-out of the wait leaves the request as it is, and the handle tells so; NULL means that
 * the read has ended, and then the code is the read's own. */
static void finish(struct slot *slot)
{
    int code;
    do
        code = dds_wait(&slot->request, 100);
    while (code == DDS_ERR_TIMEOUT && slot->request);
    if (code == DDS_SUCCESS)
        return;
    for (int i = 0; i < BATCH; i++)
        if (slot->status[i] != DDS_SUCCESS)
            fprintf(stderr, "row %lld: %s\n", (long long)slot->rows[i],
                    dds_strerror(slot->status[i]));
    check(code, "read");
}

/* The work that hides the reads.  Element j of row i is i * WIDTH + j: count what is not. */
static int64_t compute(const struct slot *slot)
{
    int64_t wrong = 0;
    for (int i = 0; i < BATCH; i++)
        for (int j = 0; j < WIDTH; j++)
            wrong += slot->out[i][j] != slot->rows[i] * WIDTH + j;
    return wrong;
}

int main(int argc, char **argv)
{
    dds_comm_t comm = NULL;
    dds_store_t store = NULL;
    int rank, size;
    check(argc == 4 ? dds_comm_file(argv[1], NULL, atoi(argv[2]), atoi(argv[3]), 0, &comm)
                    : dds_comm_self(&comm),
          "communicator");
    check(dds_init(comm, NULL, &store), "store");
    check(dds_rank(store, &rank), "rank");
    check(dds_size(store, &size), "size");
    dds_comm_free(&comm);

    static int64_t mine[ROWS][WIDTH];
    for (int64_t i = 0; i < ROWS; i++)
        for (int64_t j = 0; j < WIDTH; j++)
            mine[i][j] = (rank * ROWS + i) * WIDTH + j;
    check(dds_add(store, "table", ROWS, WIDTH, DDS_INT64, mine, NULL), "add");

    /* The buffers are read into again and again: a wire registers them once. */
    for (int i = 0; i < DEPTH; i++)
        check(dds_register_recv(store, slots[i].out, sizeof slots[i].out), "register");

    srand((unsigned)rank + 1);
    const int64_t total = (int64_t)ROWS * size;
    for (int i = 0; i < DEPTH - 1; i++)
        start(store, &slots[i], total);
    int64_t wrong = 0;
    for (int step = 0; step < STEPS; step++) {
        start(store, &slots[(step + DEPTH - 1) % DEPTH], total);
        struct slot *now = &slots[step % DEPTH];
        finish(now);
        wrong += compute(now);
    }

    /* Those that were read ahead and are not needed.  A request must be waited for or cancelled;
     * after that its buffer is ours. */
    for (int i = 0; i < DEPTH; i++) {
        check(dds_cancel(&slots[i].request), "cancel");
        check(dds_unregister_recv(store, slots[i].out), "unregister");
    }
    printf("rank %d of %d: %d batches of %d rows, %lld wrong\n", rank, size, STEPS, BATCH,
           (long long)wrong);
    check(dds_free(&store), "free");
    return wrong ? EXIT_FAILURE : EXIT_SUCCESS;
}
