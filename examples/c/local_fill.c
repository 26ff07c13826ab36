/* local_fill.c - a shard that is filled in place, and epochs: heat that flows along a rod.
 *
 *     cc -std=c11 -o local_fill local_fill.c $(pkg-config --cflags --libs ddstore)
 *     ./local_fill                              (alone)
 *     for rank in 0 1 2; do ./local_fill meet $rank 3 & done; wait
 *
 * The rod is cut into the ranks' shards.  In each step a rank reads one cell beyond either end of
 * its own shard, while nobody writes; then it writes its own cells, while nobody reads. */
#include <ddstore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CELLS = 1200, STEPS = 200 };

static void check(int code, const char *what)
{
    if (code == DDS_SUCCESS)
        return;
    fprintf(stderr, "%s: %s: %s\n", what, dds_error_name(code), dds_last_error());
    exit(EXIT_FAILURE);
}

static double at_start(int64_t cell) { return cell < CELLS / 3 ? 100.0 : 20.0; }

/* One explicit step of the heat equation; the ends of the rod keep their heat. */
static double flow(double left, double here, double right)
{
    return here + 0.25 * (left - 2 * here + right);
}

/* The whole rod on one processor, to compare with. */
static void solve(double *rod)
{
    static double next[CELLS];
    for (int i = 0; i < CELLS; i++)
        rod[i] = next[i] = at_start(i);
    for (int step = 0; step < STEPS; step++) {
        for (int i = 1; i < CELLS - 1; i++)
            next[i] = flow(rod[i - 1], rod[i], rod[i + 1]);
        memcpy(rod, next, sizeof next);
    }
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

    /* dds_create makes zeroed rows, and dds_local is this rank's part of them: no copy of the data
     * in memory of our own.  It is written by this rank only. */
    const int64_t first = (int64_t)CELLS * rank / size;
    const int64_t cells = (int64_t)CELLS * (rank + 1) / size - first;
    int64_t nrows;
    void *view;
    check(dds_create(store, "heat", cells, 1, DDS_FLOAT64, NULL), "create");
    check(dds_local(store, "heat", &nrows, &view), "local");
    double *heat = view;
    for (int64_t i = 0; i < nrows; i++)
        heat[i] = at_start(first + i);

    double *next = malloc((size_t)cells * sizeof *next + 1);
    if (!next)
        return EXIT_FAILURE;
    for (int step = 0; step < STEPS; step++) {
        /* Everybody sees everything that was written before this line ... */
        check(dds_epoch_begin(store), "epoch begin");
        double left = 0, right = 0;
        if (first > 0)
            check(dds_get(store, "heat", first - 1, 1, &left, sizeof left), "left");
        if (first + cells < CELLS)
            check(dds_get(store, "heat", first + cells, 1, &right, sizeof right), "right");
        /* ... and nobody reads after this one, so that all may write. */
        check(dds_epoch_end(store), "epoch end");

        for (int64_t i = 0; i < cells; i++) {
            const double before = i > 0 ? heat[i - 1] : left;
            const double after = i + 1 < cells ? heat[i + 1] : right;
            const int end = first + i == 0 || first + i == CELLS - 1;
            next[i] = end ? heat[i] : flow(before, heat[i], after);
        }
        memcpy(heat, next, (size_t)cells * sizeof *heat);
    }
    free(next);
    check(dds_release_local(view), "release"); /* the shard's memory goes with the store */

    /* The whole rod, from all ranks, must be what one processor finds: to the last bit, because
     * every cell was computed from the same numbers in the same way. */
    static double rod[CELLS], expected[CELLS];
    check(dds_epoch_begin(store), "epoch begin");
    check(dds_get(store, "heat", 0, CELLS, rod, sizeof rod), "read");
    check(dds_epoch_end(store), "epoch end");
    solve(expected);
    const int right = memcmp(rod, expected, sizeof rod) == 0;
    printf("rank %d of %d: %g in the middle of the step; %s\n", rank, size, rod[CELLS / 3],
           right ? "as on one processor" : "WRONG");

    check(dds_free(&store), "free");
    return right ? EXIT_SUCCESS : EXIT_FAILURE;
}
