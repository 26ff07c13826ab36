/* mpi_epochs.c - rows that change between epochs: each rank rewrites its own, then all read.
 *
 *     mpicc -std=c11 -o mpi_epochs mpi_epochs.c $(pkg-config --cflags --libs ddstore)
 *     mpirun -n 4 ./mpi_epochs
 *
 * dds_epoch_begin makes what was written before it seen by every rank, on whatever node it is; after
 * dds_epoch_end no rank reads any more, and rows may be written again. */
#include <ddstore_mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { EPOCHS = 5, MINE = 200, WIDTH = 8, BATCH = 50 };

static int my_rank;

static void check(int code, const char *what)
{
    if (code == DDS_SUCCESS)
        return;
    fprintf(stderr, "rank %d: %s: %s: %s\n", my_rank, what, dds_error_name(code), dds_last_error());
    MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
}

/* What a row is in an epoch. */
static double value(int64_t row, int epoch) { return (double)row + 1e-3 * epoch; }

int main(int argc, char **argv)
{
    int size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &my_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);

    dds_store_t store = NULL;
    check(dds_init_mpi(MPI_COMM_WORLD, NULL, &store), "store");
    check(dds_create(store, "state", MINE, WIDTH, DDS_FLOAT64, NULL), "create"); /* zeros */

    const int64_t first = (int64_t)my_rank * MINE, all = (int64_t)size * MINE;
    static double mine[MINE][WIDTH], out[BATCH][WIDTH];
    int64_t wrong = 0;
    for (int epoch = 0; epoch < EPOCHS; epoch++) {
        for (int i = 0; i < MINE; i++)
            for (int c = 0; c < WIDTH; c++)
                mine[i][c] = value(first + i, epoch);
        /* Rows of the own shard, counted from its begin. */
        check(dds_update(store, "state", 0, MINE, mine), "update");

        check(dds_epoch_begin(store), "begin of epoch");
        for (int64_t row = my_rank % BATCH; row + BATCH <= all; row += BATCH) {
            /* A range may cross from one rank's rows to the next one's. */
            check(dds_get(store, "state", row, BATCH, out, sizeof out), "read");
            for (int i = 0; i < BATCH; i++)
                for (int c = 0; c < WIDTH; c++)
                    wrong += out[i][c] != value(row + i, epoch);
        }
        check(dds_epoch_end(store), "end of epoch"); /* now the next update may come */
    }
    if (my_rank == 0)
        printf("%d epochs over %lld rows of %d ranks\n", EPOCHS, (long long)all, size);

    int64_t sum = 0;
    MPI_Allreduce(&wrong, &sum, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    check(dds_free(&store), "free");
    MPI_Finalize();
    return sum ? EXIT_FAILURE : EXIT_SUCCESS;
}
