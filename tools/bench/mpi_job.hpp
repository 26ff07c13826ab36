// How a job of an MPI is started on this machine: its mpirun, and the library that its ranks load.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "options.hpp"

namespace bench {

struct MpiJob {
    std::vector<std::string> command;  // up to the program
    std::string library;               // of dlopen
};

constexpr const char* kMpis[] = {"openmpi", "mpich"};

// None: it is not here.
std::optional<MpiJob> find_mpi(const std::string& name, const Options& options);

}  // namespace bench
