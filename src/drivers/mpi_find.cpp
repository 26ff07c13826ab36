// Looks through what is loaded for objects that define MPI_Initialized themselves.  mpi4py loads its
// MPI RTLD_LOCAL, so that no search in the global scope would find it.
#include "drivers/mpi_find.hpp"

#include <algorithm>
#include <vector>

namespace dds::mpi {
namespace {

// In this order: MPICH 5's libmpi has MPI_Abi_get_version, too, with the handles of its family.
Flavour flavour_of(const Dynlib& so)
{
    if (so.find_own("ompi_mpi_comm_world"))
        return Flavour::openmpi;
    if (so.find_own("MPIR_Dup_fn"))  // MPI_COMM_DUP_FN of that family
        return Flavour::mpich;
    if (so.find_own("MPI_Abi_get_version"))
        return Flavour::abi;
    return Flavour::none;
}

// Both may be called before MPI_Init and after MPI_Finalize.
bool asks(const Dynlib& so, const char* name)
{
    int yes = 0;
    const auto ask = reinterpret_cast<int (*)(int*)>(so.find_own(name));
    return ask && ask(&yes) == 0 && yes;
}

Library look_at(Dynlib so, std::string path)
{
    const Flavour flavour = flavour_of(so);
    const bool initialized = asks(so, "MPI_Initialized"), finalized = asks(so, "MPI_Finalized");
    return {std::move(so), std::move(path), flavour, initialized, finalized};
}

Error not_live(const Library& library)
{
    if (library.finalized)
        return fail(DDS_ERR_STATE, "MPI was finalised (%s)", library.path.c_str());
    return fail(DDS_ERR_STATE, "MPI is not initialised (%s): call MPI_Init first",
                library.path.c_str());
}

Result<Library> only_live()
{
    std::vector<Library> found = loaded();
    if (found.empty())
        return fail(DDS_ERR_STATE,
                    "there is no MPI in this process: call MPI_Init first; for one that is linked "
                    "statically, or that is neither of the MPICH family nor Open MPI nor of the "
                    "ABI of MPI 5, use <ddstore_mpi.h>");
    const auto live = std::partition(found.begin(), found.end(),
                                     [](const Library& library) { return library.live(); });
    if (live == found.begin())
        return not_live(found.front());
    if (live != found.begin() + 1)
        return fail(DDS_ERR_STATE,
                    "two MPIs are initialised in this process, %s and %s: name a file that is "
                    "bound to the one that is meant (mpi4py: MPI.__file__)",
                    found[0].path.c_str(), found[1].path.c_str());
    return std::move(found.front());
}

}  // namespace

// Those that are known; what only passes MPI's calls on, as profilers do, has no flavour.
std::vector<Library> loaded()
{
    std::vector<Library> found;
    const auto see = [&](const char* name) {
        auto so = Dynlib::held(name);
        void* defined = so ? so->find_own("MPI_Initialized") : nullptr;
        if (!defined)
            return;
        Library library = look_at(std::move(*so), Dynlib::file_of(defined));
        if (library.flavour != Flavour::none)
            found.push_back(std::move(library));
    };
    see(nullptr);
    for (const std::string& name : Dynlib::all_held())
        see(name.c_str());
    return found;
}

Result<Library> find(const char* object)
{
    if (!object)
        return only_live();
    const auto user = Dynlib::held(object);
    if (!user)
        return fail(DDS_ERR_ARG, "object %s is not loaded in this process", object);
    void* bound = user->find("MPI_Initialized");
    if (!bound)
        return fail(DDS_ERR_ARG, "object %s is not bound to an MPI", object);
    std::string path = Dynlib::file_of(bound);
    auto so = Dynlib::held(path.c_str());
    if (!so || !so->find_own("MPI_Initialized"))
        so = Dynlib::held(nullptr);  // the program has it, and its name is no file's
    Library library = look_at(std::move(*so), std::move(path));
    if (library.flavour == Flavour::none)
        return only_live();  // a profiler stands between
    if (!library.live())
        return not_live(library);
    return library;
}

}  // namespace dds::mpi
