// Which node this process is on: processes with the same identity can share memory.
#pragma once

#include <array>
#include <cstdint>

#include "base/result.hpp"

namespace dds {

using NodeId = std::array<unsigned char, 16>;

// From the boot id and the network namespace (where abstract sockets live), or from DDSTORE_NODE.
Result<NodeId> node_identity();

}  // namespace dds
