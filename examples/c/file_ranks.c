/* file_ranks.c - N processes that find each other through a directory and read each other's rows.
 *
 *     cc -std=c11 -o file_ranks file_ranks.c $(pkg-config --cflags --libs ddstore)
 *     for rank in 0 1 2 3; do ./file_ranks meet $rank 4 & done; wait
 *
 * or, on one node of a cluster, where Slurm tells each process its rank and their number:
 *
 *     srun --nodes 1 --ntasks 4 ./file_ranks meet
 *
 * The directory may be used again: what an earlier run left in it does no harm. */
#include <ddstore.h>
#include <stdio.h>
#include <stdlib.h>

static int my_rank; /* for messages */

static void check(int code, const char *what)
{
    if (code == DDS_SUCCESS)
        return;
    fprintf(stderr, "rank %d: %s: %s: %s\n", my_rank, what, dds_error_name(code), dds_last_error());
    /* The others notice that this process is gone: what they wait for ends with DDS_ERR_PEER. */
    exit(EXIT_FAILURE);
}

static int number(const char *argument, const char *variable)
{
    const char *text = argument ? argument : getenv(variable);
    if (text)
        return atoi(text);
    fprintf(stderr, "usage: file_ranks DIRECTORY RANK SIZE, or srun ... file_ranks DIRECTORY\n");
    exit(2);
}

/* How many rows this rank has: not the same for all, and none for one of them. */
static int64_t rows_of(int rank) { return rank == 1 ? 0 : 1000 + 10 * rank; }

int main(int argc, char **argv)
{
    const char *dir = argc > 1 ? argv[1] : "meet";
    my_rank = number(argc > 2 ? argv[2] : NULL, "SLURM_PROCID");
    const int size = number(argc > 3 ? argv[3] : NULL, "SLURM_NTASKS");

    /* Waits for the others, at most a minute here.  If some do not come, the text names them. */
    dds_comm_t comm = NULL;
    check(dds_comm_file(dir, NULL, my_rank, size, 60 * 1000, &comm), "meet");

    dds_store_t store = NULL;
    check(dds_init(comm, NULL, &store), "store");
    dds_comm_free(&comm);

    /* Each rank brings its own rows; all together they are rows 0, 1, ... of one variable, in
     * rank order.  A row here: who brought it, and its place there. */
    const int64_t mine = rows_of(my_rank);
    int32_t *data = malloc((size_t)mine * 2 * sizeof *data + 1);
    if (!data)
        return EXIT_FAILURE;
    for (int64_t i = 0; i < mine; i++) {
        data[2 * i] = my_rank;
        data[2 * i + 1] = (int32_t)i;
    }
    check(dds_add(store, "origin", mine, 2, DDS_INT32, data, NULL), "add");
    free(data);

    dds_info_t info = DDS_INFO_INIT;
    check(dds_info(store, "origin", &info), "info");

    /* Any rank reads any row; their owners do not take part.  Row and owner are checked against
     * what the partition says. */
    int64_t wrong = 0;
    for (int64_t row = my_rank; row < info.rows; row += 7) {
        int32_t out[2];
        int owner;
        int64_t place;
        check(dds_get(store, "origin", row, 1, out, sizeof out), "read");
        check(dds_owner(store, "origin", row, &owner, &place), "owner");
        wrong += out[0] != owner || out[1] != place;
    }

    char path[80];
    check(dds_path(store, (my_rank + 1) % size, path, sizeof path), "path");
    printf("rank %d of %d: %lld of %lld rows are mine; next rank: %s; %lld wrong\n", my_rank, size,
           (long long)info.nrows, (long long)info.rows, path, (long long)wrong);

    /* Local: the others may still be reading our rows, and keep the memory as long as they do. */
    check(dds_free(&store), "free");
    return wrong ? EXIT_FAILURE : EXIT_SUCCESS;
}
