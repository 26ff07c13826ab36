#include "transport/registry.hpp"

#include <cstring>

namespace dds {
namespace {

constexpr TransportRow kTransports[] = {
    {"shm", false, false, open_shm},    {"cma", false, false, open_cma},
    {"mpi", true, true, open_mpi_wire}, {"fabric", true, false, open_fabric},
#if DDS_TESTING
    {"fault", true, false, open_fault}, {"slow", true, false, open_slow},
#endif
};

}  // namespace

std::span<const TransportRow> transports() { return kTransports; }

Result<std::unique_ptr<Transport>> open_transport(const char* name, const TransportConfig& config)
{
    for (const TransportRow& row : kTransports)
        if (strcmp(row.name, name) == 0)
            return row.open(config);
    return fail(DDS_ERR_UNSUPPORTED, "no transport is called \"%s\"", name);
}

}  // namespace dds
