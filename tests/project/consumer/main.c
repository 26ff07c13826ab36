/* A program of somebody else's: built against the installed package, it opens a store and reads. */
#include <ddstore.h>

int main(void)
{
    dds_comm_t comm;
    dds_store_t store;
    const double rows[4] = {0.5, 1.5, 2.5, 3.5};
    double got = 0;
    if (dds_comm_self(&comm) || dds_init(comm, NULL, &store) ||
        dds_add(store, "x", 4, 1, DDS_FLOAT64, rows, NULL) ||
        dds_get(store, "x", 2, 1, &got, sizeof got) || dds_free(&store) || dds_comm_free(&comm))
        return 1;
    return got == 2.5 ? 0 : 2;
}
