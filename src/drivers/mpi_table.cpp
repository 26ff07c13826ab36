// The table of each flavour: constants are what its mpi.h says, which the tests hold against the real
// headers; functions come by name.
#include "drivers/mpi_find.hpp"

namespace dds::mpi {
namespace {

void* constant(uintptr_t value) { return reinterpret_cast<void*>(value); }

void mpich_constants(dds_mpi_table_t& table)
{
    table.handle_size = 4;
    table.status_size = 20;
    table.status_error = 16;
    table.thread_multiple = 3;
    table.mode_nocheck = 1024;
    table.byte = 0x4c00010d;
    table.comm_null = 0x04000000;
    table.comm_self = 0x44000001;
    table.win_null = 0x20000000;
    table.info_null = 0x1c000000;
    table.request_null = 0x2c000000;
    table.errors_return = 0x54000001;
    table.in_place = constant(UINTPTR_MAX);
    table.status_ignore = table.statuses_ignore = constant(1);
}

void abi_constants(dds_mpi_table_t& table)
{
    table.handle_size = 8;
    table.status_size = 32;
    table.status_error = 8;
    table.thread_multiple = 4096;
    table.mode_nocheck = 1024;
    table.byte = 0x247;
    table.comm_null = 0x100;
    table.comm_self = 0x102;
    table.win_null = 0x110;
    table.info_null = 0x130;
    table.request_null = 0x180;
    table.errors_return = 0x143;
    table.in_place = constant(1);
    table.status_ignore = table.statuses_ignore = nullptr;
}

// Handles are addresses of data.  A program that names one may hold the object itself (a copy
// relocation), and the library then uses the program's, which its own symbol does not lead to.
Result<uint64_t> object_of(const Library& library, const char* name)
{
    const auto program = Dynlib::held(nullptr);
    void* at = program ? program->find_own(name) : nullptr;
    if (!at)
        at = library.so.find_own(name);
    if (!at)
        return fail(DDS_ERR_UNSUPPORTED, "%s has no %s: use <ddstore_mpi.h>", library.path.c_str(),
                    name);
    return reinterpret_cast<uint64_t>(at);
}

Result<void> openmpi_constants(const Library& library, dds_mpi_table_t& table)
{
    table.handle_size = 8;
    table.status_size = 24;
    table.status_error = 8;
    table.thread_multiple = 3;
    table.mode_nocheck = 1;
    table.in_place = constant(1);
    table.status_ignore = table.statuses_ignore = nullptr;
    const struct {
        uint64_t& to;
        const char* name;
    } objects[] = {
        {table.byte, "ompi_mpi_byte"},
        {table.comm_null, "ompi_mpi_comm_null"},
        {table.comm_self, "ompi_mpi_comm_self"},
        {table.win_null, "ompi_mpi_win_null"},
        {table.info_null, "ompi_mpi_info_null"},
        {table.request_null, "ompi_request_null"},
        {table.errors_return, "ompi_mpi_errors_return"},
    };
    for (const auto& object : objects) {
        DDS_LET(at, object_of(library, object.name));
        object.to = at;
    }
    return {};
}

Result<void> functions(const Library& library, dds_mpi_table_t& table)
{
    const struct {
        dds_mpi_fn_t& to;
        const char* name;
    } entries[] = {
        {table.Initialized, "MPI_Initialized"},
        {table.Finalized, "MPI_Finalized"},
        {table.Query_thread, "MPI_Query_thread"},
        {table.Get_library_version, "MPI_Get_library_version"},
        {table.Error_class, "MPI_Error_class"},
        {table.Error_string, "MPI_Error_string"},
        {table.Comm_rank, "MPI_Comm_rank"},
        {table.Comm_size, "MPI_Comm_size"},
        {table.Comm_idup, "MPI_Comm_idup"},
        {table.Comm_free, "MPI_Comm_free"},
        {table.Comm_set_errhandler, "MPI_Comm_set_errhandler"},
        {table.Comm_create_keyval, "MPI_Comm_create_keyval"},
        {table.Comm_free_keyval, "MPI_Comm_free_keyval"},
        {table.Comm_set_attr, "MPI_Comm_set_attr"},
        {table.Ibarrier, "MPI_Ibarrier"},
        {table.Iallgather, "MPI_Iallgather"},
        {table.Iallgatherv, "MPI_Iallgatherv"},
        {table.Ialltoallv, "MPI_Ialltoallv"},
        {table.Test, "MPI_Test"},
        {table.Testsome, "MPI_Testsome"},
        {table.Win_create, "MPI_Win_create"},
        {table.Win_free, "MPI_Win_free"},
        {table.Win_set_errhandler, "MPI_Win_set_errhandler"},
        {table.Win_lock_all, "MPI_Win_lock_all"},
        {table.Win_unlock_all, "MPI_Win_unlock_all"},
        {table.Win_sync, "MPI_Win_sync"},
        {table.Rget, "MPI_Rget"},
    };
    for (const auto& entry : entries) {
        entry.to = reinterpret_cast<dds_mpi_fn_t>(library.so.find_own(entry.name));
        if (!entry.to)
            return fail(DDS_ERR_UNSUPPORTED, "%s has no %s: MPI 3.1 is needed",
                        library.path.c_str(), entry.name);
    }
    return {};
}

}  // namespace

Result<dds_mpi_table_t> table_of(const Library& library)
{
    dds_mpi_table_t table{};
    table.struct_size = sizeof table;
    if (library.flavour == Flavour::mpich)
        mpich_constants(table);
    else if (library.flavour == Flavour::abi)
        abi_constants(table);
    else
        DDS_TRY(openmpi_constants(library, table));
    DDS_TRY(functions(library, table));
    return table;
}

Result<uint64_t> comm_world(const Library& library)
{
    switch (library.flavour) {
    case Flavour::mpich: return uint64_t{0x44000000};
    case Flavour::openmpi: return object_of(library, "ompi_mpi_comm_world");
    case Flavour::abi: return uint64_t{0x101};
    case Flavour::none: break;
    }
    return fail(DDS_ERR_UNSUPPORTED, "%s is no MPI that is known", library.path.c_str());
}

// In the MPICH family it is the handle, and MPI_Comm_f2c a macro.  The ABI of MPI 5 has numbers of
// its own up to 0xfff, which are the same in Fortran, and a function for the rest.
Result<uint64_t> from_fortran(const Library& library, int handle)
{
    if (library.flavour == Flavour::mpich ||
        (library.flavour == Flavour::abi && handle >= 0 && handle <= 0xfff))
        return uint64_t{static_cast<uint32_t>(handle)};
    const char* name = library.flavour == Flavour::abi ? "MPI_Comm_fromint" : "MPI_Comm_f2c";
    const auto convert = reinterpret_cast<void* (*)(int)>(library.so.find_own(name));
    if (!convert)
        return fail(DDS_ERR_UNSUPPORTED, "%s has no %s", library.path.c_str(), name);
    void* at = convert(handle);
    if (!at)
        return fail(DDS_ERR_ARG, "%d is no communicator of %s", handle, library.path.c_str());
    return reinterpret_cast<uint64_t>(at);
}

}  // namespace dds::mpi
