// The MPI that is in the process already, and its constants and functions as a table.  None is ever
// loaded from here: whoever loads one first decides which MPI a program gets.
#pragma once

#include <string>
#include <vector>

#include "base/dynlib.hpp"

namespace dds::mpi {

// What is alike in binary form: the MPICH family (Intel MPI, Cray MPICH) with handles that are ints,
// Open MPI with pointers to its objects, the ABI of MPI 5 with pointers that are small numbers.
enum class Flavour { none, mpich, openmpi, abi };

struct Library {
    Dynlib so;
    std::string path;
    Flavour flavour;
    bool initialized, finalized;

    bool live() const { return initialized && !finalized; }
};

// Each MPI that is loaded, whether it is live or not.
std::vector<Library> loaded();

// The MPI that the file `object`, which is loaded, is bound to; or, with NULL, the only live one.
Result<Library> find(const char* object);

Result<dds_mpi_table_t> table_of(const Library& library);

Result<uint64_t> comm_world(const Library& library);

// Fortran's integer as a handle.
Result<uint64_t> from_fortran(const Library& library, int handle);

}  // namespace dds::mpi
