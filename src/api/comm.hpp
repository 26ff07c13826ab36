// Communicator handles, for the calls that take one.
#pragma once

#include "api/handles.hpp"
#include "comm/comm.hpp"

namespace dds {

Handles<Comm, dds_comm_t, 2>& comm_handles();
Result<void> hand_out(Result<std::unique_ptr<Comm>> opened, dds_comm_t* out);

// Without a store there is no other place for this deadline than the environment.
Result<int> collective_ms();

}  // namespace dds
