/* A program whose MPI nobody can find: it is linked statically, or (with no static one) hidden from
 * the rest of the process.  The library says so, and works over the table of <ddstore_mpi.h>. */
#include <ddstore_mpi.h>
#include <stdio.h>

#define CHECK(what)                                                                            \
    do {                                                                                       \
        if (!(what)) {                                                                         \
            fprintf(stderr, "line %d: not true: %s: %s\n", __LINE__, #what, dds_last_error()); \
            return 1;                                                                          \
        }                                                                                      \
    } while (0)

int main(int argc, char **argv)
{
    dds_comm_t comm = NULL;
    dds_store_t store = NULL;
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm world = MPI_COMM_WORLD;
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &size);
    CHECK(dds_comm_mpi(&world, sizeof world, NULL, &comm) == DDS_ERR_STATE);
    CHECK(strstr(dds_last_error(), "no MPI") && strstr(dds_last_error(), "ddstore_mpi.h"));

    MPI_Comm copy;
    MPI_Comm_dup(world, &copy);
    CHECK(dds_init_mpi(copy, NULL, &store) == DDS_SUCCESS);
    MPI_Comm_free(&copy); /* the library has its own */
    const int64_t mine = 7 * rank, last = size - 1;
    int64_t got = -1;
    CHECK(dds_add(store, "x", 1, 1, DDS_INT64, &mine, NULL) == DDS_SUCCESS);
    CHECK(dds_get_batch_all(store, "x", 1, &last, &got, sizeof got) == DDS_SUCCESS);
    CHECK(got == 7 * last);
    CHECK(dds_free(&store) == DDS_SUCCESS);
    CHECK(dds_init_mpi(MPI_COMM_NULL, NULL, &store) == DDS_ERR_ARG);
    MPI_Finalize();
    return 0;
}
