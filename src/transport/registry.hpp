// The table of transports.  A new one is a file, a line in meson.build and a row in registry.cpp.
#pragma once

#include <span>

#include "comm/comm.hpp"
#include "transport/transport.hpp"

namespace dds {

struct FabricChoice;

struct TransportConfig {
    Node* node;
    int rank;
    const char* argument;                  // what follows the name in DDSTORE_TEST_WIRE, or ""
    std::shared_ptr<Comm> comm = nullptr;  // for a wire that is the communicator's own
    // For libfabric, as all ranks agreed; NULL: the best that works here, on this node alone.
    const FabricChoice* fabric = nullptr;
    SegmentSource* source = nullptr;  // of a store that only reads, which has no node
};

struct TransportRow {
    const char* name;
    bool wire;  // may be chosen for a rank whose memory cannot be mapped
    bool mpi;   // needs ranks of an MPI
    Result<std::unique_ptr<Transport>> (*open)(const TransportConfig&);
};

std::span<const TransportRow> transports();
Result<std::unique_ptr<Transport>> open_transport(const char* name, const TransportConfig& config);

// In the place of one that cannot be had: reads are UNSUPPORTED and say `why`.
std::unique_ptr<Transport> unreachable(const char* why);

Result<std::unique_ptr<Transport>> open_shm(const TransportConfig& config);
Result<std::unique_ptr<Transport>> open_cma(const TransportConfig& config);
Result<std::unique_ptr<Transport>> open_mpi_wire(const TransportConfig& config);
Result<std::unique_ptr<Transport>> open_fabric(const TransportConfig& config);
#if DDS_TESTING
Result<std::unique_ptr<Transport>> open_fault(const TransportConfig& config);
Result<std::unique_ptr<Transport>> open_slow(const TransportConfig& config);
#endif

}  // namespace dds
