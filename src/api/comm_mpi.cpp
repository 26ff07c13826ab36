// The three doors to a communicator of MPI: its bytes, Fortran's integer, or the caller's own table.
#include <cstring>

#include "api/comm.hpp"
#include "api/door.hpp"
#include "base/env.hpp"
#include "comm/mpi.hpp"
#include "drivers/mpi_find.hpp"

namespace dds {
namespace {

Result<void> allowed()
{
    DDS_TRY(env::check());
    DDS_LET(mpi, env::flag("DDSTORE_MPI"));
    if (!mpi.value_or(true))
        return fail(DDS_ERR_UNSUPPORTED, "DDSTORE_MPI is 0: communicators of MPI are switched off");
    return {};
}

Result<void> duplicate(const dds_mpi_table_t& table, uint64_t handle, dds_comm_t* out)
{
    DDS_LET(mpi, Mpi::open(table));
    DDS_LET(ms, collective_ms());
    return hand_out(open_mpi(*mpi, handle, ms), out);
}

// Over the MPI that was found, which stays loaded.
Result<void> duplicate(mpi::Library& library, uint64_t handle, dds_comm_t* out)
{
    DDS_LET(table, mpi::table_of(library));
    library.so.keep();
    return duplicate(table, handle, out);
}

uint64_t handle_at(const void* comm, size_t bytes)
{
    uint64_t handle = 0;  // little-endian
    memcpy(&handle, comm, bytes);
    return handle;
}

// What cannot be a table of an MPI.  Functions are all that follows the constants.
Result<void> check(const dds_mpi_table_t& table)
{
    if (table.flags || table.reserved)
        return fail(DDS_ERR_ARG, "dds_mpi_table_t: unknown flags %#x", table.flags);
    if (table.handle_size != 4 && table.handle_size != 8)
        return fail(DDS_ERR_ARG, "dds_mpi_table_t: handle_size is %d, not 4 or 8",
                    table.handle_size);
    if (table.status_size < 12 || table.status_size > 1024 || table.status_error < 0 ||
        table.status_error > table.status_size - 4)
        return fail(DDS_ERR_ARG, "dds_mpi_table_t: MPI_ERROR at %d of a status of %d bytes",
                    table.status_error, table.status_size);
    constexpr size_t first = offsetof(dds_mpi_table_t, Initialized);
    constexpr size_t functions = (sizeof table - first) / sizeof(dds_mpi_fn_t);
    dds_mpi_fn_t entries[functions];
    memcpy(entries, reinterpret_cast<const char*>(&table) + first, sizeof entries);
    for (size_t i = 0; i < functions; i++)
        if (!entries[i])
            return fail(DDS_ERR_ARG, "dds_mpi_table_t: function %zu of %zu is NULL", i, functions);
    return {};
}

}  // namespace
}  // namespace dds

using namespace dds;

extern "C" {

int dds_comm_mpi(const void* comm, size_t comm_size, const char* object, dds_comm_t* ddscomm)
{
    return guarded([&]() -> Result<void> {
        if (!comm || !ddscomm)
            return null_argument(comm ? "ddscomm" : "comm");
        DDS_TRY(allowed());
        DDS_LET(library, mpi::find(object));
        const size_t needed = library.flavour == mpi::Flavour::mpich ? 4 : 8;
        if (comm_size != needed)
            return fail(DDS_ERR_ARG,
                        "comm_size is %zu, an MPI_Comm of %s has %zu bytes: the communicator is "
                        "another MPI's",
                        comm_size, library.path.c_str(), needed);
        return duplicate(library, handle_at(comm, needed), ddscomm);
    });
}

int dds_comm_mpi_f(int fcomm, dds_comm_t* comm)
{
    return guarded([&]() -> Result<void> {
        if (!comm)
            return null_argument("comm");
        DDS_TRY(allowed());
        DDS_LET(library, mpi::find(nullptr));
        DDS_LET(handle, mpi::from_fortran(library, fcomm));
        return duplicate(library, handle, comm);
    });
}

int dds_comm_mpi_table(const dds_mpi_table_t* table, const void* comm, dds_comm_t* ddscomm)
{
    return guarded([&]() -> Result<void> {
        if (!table || !comm || !ddscomm)
            return null_argument(!table ? "table" : comm ? "ddscomm" : "comm");
        DDS_TRY(allowed());
        DDS_LET(ours, read_struct(table, "dds_mpi_table_t"));
        ours.struct_size = sizeof ours;
        DDS_TRY(check(ours));
        return duplicate(ours, handle_at(comm, static_cast<size_t>(ours.handle_size)), ddscomm);
    });
}
}
