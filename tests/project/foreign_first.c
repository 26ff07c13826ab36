/* A process that loaded a foreign dds_free first, for everybody to see, is still served by ours:
 * linked in the normal way, or (BY_HANDLE) bound through the handle of dlopen, as wrappers do.
 * Usage: foreign_first FOREIGN_LIBRARY [OUR_LIBRARY] */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "ddstore.h"

#ifdef BY_HANDLE
static void *ours;
/* The one cast that C wants here and POSIX allows: an object pointer becomes a function's. */
#define BIND(name) (*(void **)&name##_ = dlsym(ours, #name))
#else
#define BIND(name) (name##_ = name)
#endif
#define FUNCTION(result, name, ...) static result (*name##_)(__VA_ARGS__)
FUNCTION(int, dds_comm_self, dds_comm_t *);
FUNCTION(int, dds_init, dds_comm_t, const dds_options_t *, dds_store_t *);
FUNCTION(int, dds_add, dds_store_t, const char *, int64_t, int64_t, int, const void *,
         const dds_var_options_t *);
FUNCTION(int, dds_get, dds_store_t, const char *, int64_t, int64_t, void *, size_t);
FUNCTION(int, dds_free, dds_store_t *);
FUNCTION(int, dds_comm_free, dds_comm_t *);
FUNCTION(const char *, dds_strerror, int);

#define CHECK(what)                                                      \
    do {                                                                 \
        if (!(what)) {                                                   \
            fprintf(stderr, "line %d: not true: %s\n", __LINE__, #what); \
            return 1;                                                    \
        }                                                                \
    } while (0)

int main(int argc, char **argv)
{
    CHECK(argc >= 2);
    void *foreign = dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL);
    CHECK(foreign);
    const int *foreign_calls = dlsym(foreign, "foreign_calls");
    CHECK(foreign_calls);
#ifdef BY_HANDLE
    CHECK(argc == 3);
    ours = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
    CHECK(ours);
#endif
    CHECK(BIND(dds_comm_self) && BIND(dds_init) && BIND(dds_add) && BIND(dds_get));
    CHECK(BIND(dds_free) && BIND(dds_comm_free) && BIND(dds_strerror));

    dds_comm_t comm = NULL;
    dds_store_t store = NULL;
    const int32_t rows[3] = {7, 8, 9};
    int32_t got = 0;
    CHECK(dds_comm_self_(&comm) == DDS_SUCCESS);
    CHECK(dds_init_(comm, NULL, &store) == DDS_SUCCESS);
    CHECK(dds_add_(store, "x", 3, 1, DDS_INT32, rows, NULL) == DDS_SUCCESS);
    CHECK(dds_get_(store, "x", 1, 1, &got, sizeof got) == DDS_SUCCESS);
    CHECK(got == 8);
    CHECK(strcmp(dds_strerror_(DDS_ERR_RANGE), "foreign") != 0);
    CHECK(dds_free_(&store) == DDS_SUCCESS);
    CHECK(store == NULL);
    CHECK(dds_comm_free_(&comm) == DDS_SUCCESS);
    CHECK(*foreign_calls == 0);
    return 0;
}
