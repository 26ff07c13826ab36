/* mpi_groups.c - a store for each group of ranks: every group holds all rows, and reads stay in it.
 *
 *     mpicc -std=c11 -o mpi_groups mpi_groups.c $(pkg-config --cflags --libs ddstore)
 *     mpirun -n 4 ./mpi_groups        # a group for each host: all reads are of shared memory
 *     mpirun -n 4 ./mpi_groups 2      # groups of two ranks: less traffic, more memory
 *
 * The smaller the groups, the nearer the rows and the more copies of them there are. */
#include <ddstore_mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 1200 };

static int my_rank;

static void check(int code, const char *what)
{
    if (code == DDS_SUCCESS)
        return;
    fprintf(stderr, "rank %d: %s: %s: %s\n", my_rank, what, dds_error_name(code), dds_last_error());
    MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
}

static MPI_Comm group_of(const char *width)
{
    MPI_Comm group;
    if (width && atoi(width) > 0)
        MPI_Comm_split(MPI_COMM_WORLD, my_rank / atoi(width), my_rank, &group);
    else
        MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, my_rank, MPI_INFO_NULL, &group);
    return group;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &my_rank);

    MPI_Comm group = group_of(argc > 1 ? argv[1] : NULL);
    dds_store_t store = NULL;
    check(dds_init_mpi(group, NULL, &store), "store");
    MPI_Comm_free(&group); /* the store has a duplicate */

    int me, width;
    check(dds_rank(store, &me), "rank"); /* within the group */
    check(dds_size(store, &width), "size");

    /* All rows are split over the ranks of the group. */
    const int64_t first = (int64_t)ROWS * me / width, end = (int64_t)ROWS * (me + 1) / width;
    static int64_t squares[ROWS], out[ROWS];
    for (int64_t row = first; row < end; row++)
        squares[row] = row * row;
    check(dds_add(store, "squares", end - first, 1, DDS_INT64, squares + first, NULL), "add");

    /* One call of all ranks of the group: each gets what it asks for, or all get the same error. */
    static int64_t rows[ROWS];
    for (int64_t i = 0; i < ROWS; i++)
        rows[i] = (i * 7 + my_rank) % ROWS;
    check(dds_get_batch_all(store, "squares", ROWS, rows, out, sizeof out), "read");
    int wrong = 0;
    for (int64_t i = 0; i < ROWS; i++)
        wrong += out[i] != rows[i] * rows[i];

    printf("rank %d is %d of %d in its group and has %lld of %d rows\n", my_rank, me, width,
           (long long)(end - first), ROWS);
    check(dds_free(&store), "free");
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return wrong ? EXIT_FAILURE : EXIT_SUCCESS;
}
