// Communicator handles, for the calls that take one.
#pragma once

#include "api/handles.hpp"
#include "comm/comm.hpp"

namespace dds {

Handles<Comm, dds_comm_t, 2>& comm_handles();

}  // namespace dds
