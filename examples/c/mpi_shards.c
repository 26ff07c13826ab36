/* mpi_shards.c - each rank of an MPI program brings its rows, and reads anybody's.
 *
 *     mpicc -std=c11 -o mpi_shards mpi_shards.c $(pkg-config --cflags --libs ddstore)
 *     mpirun -n 4 ./mpi_shards
 *
 * The library is linked with no MPI: <ddstore_mpi.h> hands it the one that mpicc brings. */
#include <ddstore_mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { BATCH = 64, WIDTH = 16 };

static int my_rank; /* for messages */

/* Whoever fails ends the job: MPI knows of no rank that may be missing. */
static void check(int code, const char *what)
{
    if (code == DDS_SUCCESS)
        return;
    fprintf(stderr, "rank %d: %s: %s: %s\n", my_rank, what, dds_error_name(code), dds_last_error());
    MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
}

/* What row `row` holds, whoever has it: so any rank can check what it reads. */
static float value(int64_t row, int column) { return (float)(row % 4096 * WIDTH + column); }

/* A shard: `n` rows from global row `first` on. */
static float *load(int64_t first, int64_t n)
{
    float *rows = malloc((size_t)n * WIDTH * sizeof *rows);
    if (!rows)
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    for (int64_t i = 0; i < n; i++)
        for (int c = 0; c < WIDTH; c++)
            rows[i * WIDTH + c] = value(first + i, c);
    return rows;
}

int main(int argc, char **argv)
{
    int size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &my_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);

    /* The communicator is duplicated: the program's messages and the store's never meet. */
    dds_store_t store = NULL;
    check(dds_init_mpi(MPI_COMM_WORLD, NULL, &store), "store");

    /* Shares may differ.  The global rows are the shards in rank order. */
    const int64_t mine = 1000 + my_rank, before = my_rank * 1000 + my_rank * (my_rank - 1) / 2;
    float *shard = load(before, mine);
    check(dds_add(store, "x", mine, WIDTH, DDS_FLOAT32, shard, NULL), "add");
    free(shard); /* it was copied */

    dds_info_t info = DDS_INFO_INIT;
    check(dds_info(store, "x", &info), "info");

    /* Batches of rows in any order.  The ranks that have them do nothing for it. */
    static float out[BATCH][WIDTH];
    int64_t rows[BATCH], wrong = 0;
    uint64_t seed = (uint64_t)my_rank + 1;
    for (int batch = 0; batch < 100; batch++) {
        for (int i = 0; i < BATCH; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            rows[i] = (int64_t)((seed >> 33) % (uint64_t)info.rows);
        }
        check(dds_get_batch(store, "x", BATCH, rows, out, sizeof out), "read");
        for (int i = 0; i < BATCH; i++)
            for (int c = 0; c < WIDTH; c++)
                wrong += out[i][c] != value(rows[i], c);
    }

    char path[80];
    check(dds_path(store, (my_rank + 1) % size, path, sizeof path), "path");
    printf("rank %d of %d: %lld of %lld rows are mine; next rank: %s\n", my_rank, size,
           (long long)mine, (long long)info.rows, path);

    int64_t all = 0;
    MPI_Allreduce(&wrong, &all, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    check(dds_free(&store), "free"); /* before MPI_Finalize, so that MPI can end its windows */
    MPI_Finalize();
    return all ? EXIT_FAILURE : EXIT_SUCCESS;
}
