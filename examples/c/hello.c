/* hello.c - a store in one process: add a table, read rows, look at an error.
 *
 *     cc -std=c11 -o hello hello.c $(pkg-config --cflags --libs ddstore)
 *     ./hello
 *
 * The same calls work for any number of processes; file_ranks.c shows how they find each other. */
#include <ddstore.h>
#include <stdio.h>
#include <stdlib.h>

/* Every call returns 0 or a class of error; the text tells which row, rank or value it is about. */
static void check(int code, const char *what)
{
    if (code == DDS_SUCCESS)
        return;
    fprintf(stderr, "%s: %s: %s\n", what, dds_error_name(code), dds_last_error());
    exit(EXIT_FAILURE);
}

int main(void)
{
    /* Who the ranks are: this process alone. */
    dds_comm_t comm = NULL;
    check(dds_comm_self(&comm), "communicator");

    dds_store_t store = NULL;
    check(dds_init(comm, NULL, &store), "store"); /* NULL: all defaults */
    dds_comm_free(&comm);                         /* the store keeps what it needs */

    /* A variable: 1000 rows of three floats, a point of a grid each.  The rows are copied, so
     * `points` could be freed now. */
    static float points[1000][3];
    for (int i = 0; i < 1000; i++) {
        points[i][0] = (float)(i % 10);
        points[i][1] = (float)(i / 10 % 10);
        points[i][2] = (float)(i / 100);
    }
    check(dds_add(store, "points", 1000, 3, DDS_FLOAT32, points, NULL), "add");

    /* Rows in any order, also more than once: they arrive in the order in which they are named. */
    const int64_t rows[] = {999, 0, 512, 512};
    float out[4][3];
    check(dds_get_batch(store, "points", 4, rows, out, sizeof out), "read");
    for (int i = 0; i < 4; i++)
        printf("point %3d: %g %g %g\n", (int)rows[i], out[i][0], out[i][1], out[i][2]);

    /* A mistake is an answer, not a crash.  Nothing is read then. */
    const int64_t wrong = 1000;
    const int code = dds_get_batch(store, "points", 1, &wrong, out, sizeof out);
    printf("row 1000: %s: %s\n", dds_error_name(code), dds_last_error());

    check(dds_free(&store), "free");
    return code == DDS_ERR_RANGE && out[0][2] == 9.0f && out[3][1] == 1.0f ? EXIT_SUCCESS
                                                                           : EXIT_FAILURE;
}
