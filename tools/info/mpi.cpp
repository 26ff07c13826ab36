#include "mpi.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>

#include "base/env.hpp"
#include "drivers/mpi.hpp"

namespace info {
namespace {

namespace mpi = dds::mpi;

const char* flavour_of(mpi::Flavour flavour)
{
    switch (flavour) {
    case mpi::Flavour::mpich: return "mpich";
    case mpi::Flavour::openmpi: return "openmpi";
    case mpi::Flavour::abi: return "mpi5";
    case mpi::Flavour::none: break;
    }
    return "none";
}

const char* state_of(const mpi::Library& library)
{
    return library.finalized ? "finalised" : library.initialized ? "initialised" : "loaded";
}

template <class Function>
Function* function_of(const mpi::Library& library, const char* name)
{
    return reinterpret_cast<Function*>(library.so.find_own(name));
}

// The file that defines the MPI of the library that was asked for, which may be another.
std::string load(Sheet& sheet, const std::string& name)
{
    // For all to see: Open MPI's plugins of old do not name what they need.
    void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (!handle) {
        sheet.problem(std::string("--mpi ") + name + ": " + dlerror());
        return {};
    }
    void* at = dlsym(handle, "MPI_Initialized");
    if (!at)
        sheet.problem("--mpi " + name + " is no MPI: it has no MPI_Initialized");
    return at ? dds::Dynlib::file_of(at) : "";
}

int number(const char* name, int otherwise)
{
    const char* text = getenv(name);
    return text && *text ? atoi(text) : otherwise;
}

}  // namespace

Launch launch()
{
    const struct {
        const char *by, *rank, *size;
    } known[] = {
        {"Open MPI's mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
        {"mpirun (PMI)", "PMI_RANK", "PMI_SIZE"},
        {"Slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS"},
    };
    for (const auto& way : known)
        if (const int size = number(way.size, 0); size > 0)
            return {way.by, number(way.rank, 0), size};
    return {};
}

Mpi::Mpi(Sheet& sheet, const std::string& name)
{
    sheet.section("mpi");
    const Launch started = launch();
    sheet.fact("launcher",
               started.by.empty()
                   ? Value()
                   : object({{"name", started.by}, {"rank", started.rank}, {"size", started.size}}),
               started.by.empty() ? ""
                                  : "rank " + std::to_string(started.rank) + " of " +
                                        std::to_string(started.size));
    const auto allowed = dds::env::flag("DDSTORE_MPI");
    const bool off = allowed && !allowed->value_or(true);
    if (!off)
        choose(sheet, name);
    std::vector<Value> all;
    for (const mpi::Library& library : mpi::loaded())
        all.push_back(object({{"path", library.path},
                              {"flavour", flavour_of(library.flavour)},
                              {"state", state_of(library)}}));
    sheet.fact("found", list(all), "in this process");
    if (!library_) {
        sheet.fact("bound", Value(),
                   off            ? "DDSTORE_MPI is 0"
                   : !all.empty() ? "none that can be used"
                   : started.size > 1
                       ? "so the processes that were started do not know each other; "
                         "--mpi LIBRARY loads one"
                       : "a program brings its own; --mpi LIBRARY loads one");
        return;
    }
    if (const auto begun = start(); !begun) {
        sheet.problem(begun.error().text);
        return;
    }
    const auto opened = dds::Mpi::open(*table_);
    const std::string called = opened ? (*opened)->name() : "an MPI without a name";
    sheet.fact("bound",
               object({{"name", called},
                       {"path", library_->path},
                       {"flavour", flavour_of(library_->flavour)}}),
               library_->path + ", flavour " + flavour_of(library_->flavour));
    sheet.fact("thread_level", level(),
               "granted where MPI_THREAD_MULTIPLE was asked for; below it the library makes one "
               "call at a time");
}

Mpi::~Mpi()
{
    if (started_)
        function_of<int()>(*library_, "MPI_Finalize")();
}

// The one that was asked for, or the only one; of several the live one.
void Mpi::choose(Sheet& sheet, const std::string& name)
{
    const std::string path = name.empty() ? "" : load(sheet, name);
    if (path.empty() && !name.empty())
        return;
    auto found = mpi::loaded();
    if (path.empty() && found.size() > 1) {
        auto live = mpi::find(nullptr);
        if (live)
            library_ = std::move(*live);
        else
            sheet.problem(live.error().text);
        return;
    }
    for (mpi::Library& library : found)
        if (path.empty() || library.path == path)
            library_ = std::move(library);
    if (!library_ && !path.empty())
        sheet.problem(path +
                      " is neither of the MPICH family nor Open MPI nor of the ABI of MPI 5");
}

dds::Result<void> Mpi::start()
{
    DDS_LET(table, mpi::table_of(*library_));
    DDS_LET(world, mpi::comm_world(*library_));
    if (!library_->live()) {
        int granted = 0;
        const auto init = function_of<int(int*, char***, int, int*)>(*library_, "MPI_Init_thread");
        if (!init || init(nullptr, nullptr, table.thread_multiple, &granted) != 0)
            return dds::fail(DDS_ERR_IO, "MPI_Init_thread of %s failed", library_->path.c_str());
        started_ = true;
    }
    table_ = table;
    world_ = world;
    return {};
}

std::string Mpi::level() const
{
    const char* const names[] = {"MPI_THREAD_SINGLE", "MPI_THREAD_FUNNELED",
                                 "MPI_THREAD_SERIALIZED", "MPI_THREAD_MULTIPLE"};
    int granted = 0;
    reinterpret_cast<int (*)(int*)>(table_->Query_thread)(&granted);
    const int unit =
        table_->thread_multiple > 3 ? 1024 : 1;  // the ABI of MPI 5: 0, 1024, 2048, 4096
    return names[std::min(granted / unit, 3)];
}

}  // namespace info
