#include "mpi_world.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static mpi_world_t world;
static bool finished;
static const char *chosen;
static int chosen_level = -1;

bool under_mpi(void) { return getenv("DDS_TEST_MPI") != NULL; }

void mpi_use(const char *library, int level)
{
    chosen = library;
    chosen_level = level;
}

static const char *library(void) { return chosen ? chosen : getenv("DDS_TEST_MPI"); }

static void must(bool right, const char *what, const char *detail)
{
    if (right)
        return;
    fprintf(stderr, "%s: %s: %s\n", library() ? library() : "no MPI", what,
            detail ? detail : "failed");
    exit(1);
}

static void load(void)
{
    const char *path = library();
    must(path != NULL, "DDS_TEST_MPI", "is not set");
    world.library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    must(world.library != NULL, "dlopen", dlerror());
}

void *mpi_function(const char *name)
{
    if (!world.library)
        load();
    void *at = dlsym(world.library, name);
    must(at != NULL, name, "is not there");
    return at;
}

/* MPI_COMM_WORLD, and what MPI_THREAD_MULTIPLE is in levels of 1. */
static int flavour(void)
{
    void *object = dlsym(world.library, "ompi_mpi_comm_world");
    if (object) {
        memcpy(world.comm, &object, sizeof object);
        world.comm_size = sizeof object;
        return 1;
    }
    if (dlsym(world.library, "MPIR_Dup_fn")) {
        const int number = 0x44000000;
        memcpy(world.comm, &number, sizeof number);
        world.comm_size = sizeof number;
        return 1;
    }
    const uintptr_t number = 0x101; /* the ABI of MPI 5 */
    memcpy(world.comm, &number, sizeof number);
    world.comm_size = sizeof number;
    return 1024;
}

void mpi_finish(void)
{
    int (*finalize)(void) = NULL;
    if (finished || !world.comm_size)
        return;
    finished = true;
    *(void **)&finalize = mpi_function("MPI_Finalize");
    must(finalize() == 0, "MPI_Finalize", NULL);
}

const mpi_world_t *mpi_world(void)
{
    if (world.comm_size)
        return &world;
    int (*init)(int *, char ***, int, int *) = NULL;
    *(void **)&init = mpi_function("MPI_Init_thread");
    const int unit = flavour();
    const char *text = getenv("DDS_TEST_MPI_LEVEL");
    const int wanted = chosen_level >= 0 ? chosen_level : text ? atoi(text) : 3;
    must(init(NULL, NULL, wanted * unit, &world.level) == 0, "MPI_Init_thread", NULL);
    world.level = unit == 1024 ? world.level >> 10 > 2 ? 3 : world.level >> 10 : world.level;
    atexit(mpi_finish);
    return &world;
}
