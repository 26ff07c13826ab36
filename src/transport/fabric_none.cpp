// A build without the headers of libfabric.
#include "transport/fabric.hpp"
#include "transport/registry.hpp"

namespace dds {
namespace {

Error none()
{
    return fail(DDS_ERR_UNSUPPORTED,
                "this build has no libfabric: build with its headers (Debian: libfabric-dev) and "
                "-Dfabric=enabled, or use method 0");
}

}  // namespace

Result<FabricOffers> fabric_offers(const FabricWish&) { return none(); }
Result<FabricChoice> fabric_choose(const FabricOffer&, const FabricWish&) { return none(); }
Result<std::unique_ptr<Transport>> open_fabric(const TransportConfig&) { return none(); }

}  // namespace dds
