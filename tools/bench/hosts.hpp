// Hosts of this machine's own, which tools of the source tree make, and ranks on them without an
// MPI: the launcher makes the hosts, and a starter on their login node is what an mpirun would be.
#pragma once

#include "options.hpp"
#include "process.hpp"

namespace bench {

// How a program of tests/hosts is called, or exits: it needs root, and the source tree around us.
Words hosts_program(const char* name);

Words hosts_command(const Options& options);  // up to the starter
// The starter's life: starts each rank on its host and waits for all; its exit status.
int start_on_hosts(const Options& options, const Words& words);

}  // namespace bench
