/* What the MPI at DDS_TEST_MPI does across hosts, without this library: ranks of one host are a
 * shared-memory group, an allgather and MPI_Rget bring the right bytes.  Where this fails, no test
 * of the library over that MPI can pass.  Needs no mpi.h: a handle of MPICH is an int, which is the
 * lower half of a word and comes back so in memory; one of Open MPI is a pointer. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef uintptr_t handle_t;

enum { kSerialized = 2, kBytes = 1 << 20, kName = 64, kMost = 16 };

static void *library;
static int my_rank;
static handle_t world, byte, info_null;
static int shared_type, no_check;
static void *status_ignore;

static void require(int holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "rank %d: not so: %s\n", my_rank, what);
    _exit(1); /* no MPI_Finalize: the launcher ends the others */
}

static void *symbol(const char *name)
{
    void *found = dlsym(library, name);
    require(found != NULL, name);
    return found;
}

/* Call a function of the MPI with parameters of these types; it must succeed. */
#define mpi(name, types, ...)                                      \
    do {                                                           \
        int(*call) types;                                          \
        *(void **)&call = symbol("MPI_" #name);                    \
        require(call(__VA_ARGS__) == 0, "MPI_" #name " succeeds"); \
    } while (0)

static void open_mpi(void)
{
    const char *path = getenv("DDS_TEST_MPI");
    require(path && (library = dlopen(path, RTLD_NOW | RTLD_GLOBAL)), "DDS_TEST_MPI is a library");
    world = (handle_t)dlsym(library, "ompi_mpi_comm_world");
    if (world) {
        byte = (handle_t)dlsym(library, "ompi_mpi_byte");
        info_null = (handle_t)dlsym(library, "ompi_mpi_info_null");
        shared_type = 0, no_check = 1, status_ignore = NULL;
    } else {
        world = 0x44000000, byte = 0x4c00010d, info_null = 0x1c000000;
        shared_type = 1, no_check = 1024, status_ignore = (void *)1;
    }
}

static unsigned char content(int rank, int at) { return (unsigned char)(rank * 31 + at / 7 + at); }

static void ranks_of_a_host_share_memory(int size)
{
    char name[kName] = {0}, names[kMost][kName];
    handle_t host = 0;
    int expected = 0, found = 0;
    require(gethostname(name, sizeof name) == 0, "this host has a name");
    mpi(Allgather, (const void *, int, handle_t, void *, int, handle_t, handle_t), name, kName,
        byte, names, kName, byte, world);
    for (int rank = 0; rank < size; rank++)
        expected += strcmp(names[rank], name) == 0;
    mpi(Comm_split_type, (handle_t, int, int, handle_t, handle_t *), world, shared_type, my_rank,
        info_null, &host);
    mpi(Comm_size, (handle_t, int *), host, &found);
    mpi(Comm_free, (handle_t *), &host);
    require(found == expected, "those who share memory are the ranks of this host");
    require(found < size, "there are other hosts");
    printf("rank %d of %d is on %s with %d\n", my_rank, size, name, found);
}

static void every_rank_is_read(int size)
{
    unsigned char *mine = malloc(kBytes), *theirs = malloc(kBytes);
    handle_t window = 0, request = 0;
    require(mine && theirs, "there is memory");
    for (int i = 0; i < kBytes; i++)
        mine[i] = content(my_rank, i);
    mpi(Win_create, (void *, intptr_t, int, handle_t, handle_t, handle_t *), mine, kBytes, 1,
        info_null, world, &window);
    mpi(Win_lock_all, (int, handle_t), no_check, window);
    mpi(Barrier, (handle_t), world);
    for (int rank = 0; rank < size; rank++) {
        memset(theirs, 0xee, kBytes);
        mpi(Rget, (void *, int, handle_t, int, intptr_t, int, handle_t, handle_t, handle_t *),
            theirs, kBytes, byte, rank, 0, kBytes, byte, window, &request);
        mpi(Wait, (handle_t *, void *), &request, status_ignore);
        for (int i = 0; i < kBytes; i++)
            require(theirs[i] == content(rank, i), "what was read is what is there");
    }
    mpi(Barrier, (handle_t), world);
    mpi(Win_unlock_all, (handle_t), window);
    mpi(Win_free, (handle_t *), &window);
    free(mine);
    free(theirs);
}

int main(void)
{
    int size = 0, level;
    open_mpi();
    mpi(Init_thread, (int *, char ***, int, int *), NULL, NULL, kSerialized, &level);
    mpi(Comm_rank, (handle_t, int *), world, &my_rank);
    mpi(Comm_size, (handle_t, int *), world, &size);
    require(size <= kMost, "there are few ranks");
    ranks_of_a_host_share_memory(size);
    every_rank_is_read(size);
    mpi(Finalize, (void));
    return 0;
}
