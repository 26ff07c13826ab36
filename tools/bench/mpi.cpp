#include "mpi.hpp"

#include <dlfcn.h>

#include <cstring>

#include "control.hpp"

namespace bench {
namespace {

template <class Function>
void find(Function*& function, const char* name)
{
    function = reinterpret_cast<Function*>(mpi_function(name));
}

// MPICH's numbers have been its ABI since 2013.
void constants(Mpi<int>& mpi)
{
    memcpy(&mpi.world, mpi_world()->comm, sizeof mpi.world);
    mpi.byte = 0x4c00010d;
    mpi.no_info = 0x1c000000;
    mpi.status_ignore = mpi.statuses_ignore = reinterpret_cast<void*>(1);
    mpi.no_check = 1024;
}

void constants(Mpi<void*>& mpi)
{
    memcpy(&mpi.world, mpi_world()->comm, sizeof mpi.world);
    mpi.byte = mpi_function("ompi_mpi_byte");
    mpi.no_info = mpi_function("ompi_mpi_info_null");
    mpi.status_ignore = mpi.statuses_ignore = nullptr;
    mpi.no_check = 1;
}

template <class H>
void probe(int any_source)
{
    static const Mpi<H> mpi;
    static int (*iprobe)(int source, int tag, H comm, int* flag, void* status) = nullptr;
    if (!iprobe)
        find(iprobe, "MPI_Iprobe");
    int there;
    iprobe(any_source, -1, mpi.world, &there, mpi.status_ignore);
}

template <class H>
int rank()
{
    const Mpi<H> mpi;
    int (*comm_rank)(H comm, int* rank);
    find(comm_rank, "MPI_Comm_rank");
    int me;
    comm_rank(mpi.world, &me);
    return me;
}

// "Open MPI v4.1.4, package: ..." and "MPICH Version:      4.0.2\n..."
std::string name()
{
    int (*version)(char* text, int* n);
    find(version, "MPI_Get_library_version");
    char text[8192] = "";
    int n;
    version(text, &n);
    std::string name(text, strcspn(text, ",\n"));
    if (const size_t at = name.find(" Version:"); at != std::string::npos)
        name.replace(at, name.find_first_not_of(" \t", at + 9) - at, " ");
    return name;
}

}  // namespace

template <class H>
Mpi<H>::Mpi()
{
    constants(*this);
    find(allgatherv, "MPI_Allgatherv");
    find(alltoallv, "MPI_Alltoallv");
    find(waitall, "MPI_Waitall");
    find(win_create, "MPI_Win_create");
    find(win_free, "MPI_Win_free");
    find(win_lock_all, "MPI_Win_lock_all");
    find(win_unlock_all, "MPI_Win_unlock_all");
    find(win_flush, "MPI_Win_flush");
    find(get, "MPI_Get");
    find(rget, "MPI_Rget");
}
template struct Mpi<int>;
template struct Mpi<void*>;

int start_mpi(const std::string& library, int level)
{
    mpi_use(library.c_str(), level);
    if (mpi_world()->level < level)
        die("%s gives threads of level %d, not %d", mpi_name().c_str(), mpi_world()->level, level);
    return mpi_is_mpich() ? rank<int>() : rank<void*>();
}

bool mpi_is_mpich() { return mpi_world()->comm_size == sizeof(int); }

const std::string& mpi_name()
{
    static const std::string text = name();
    return text;
}

void mpi_progress() { mpi_is_mpich() ? probe<int>(-2) : probe<void*>(-1); }

}  // namespace bench
