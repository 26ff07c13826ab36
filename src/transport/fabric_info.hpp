// What libfabric finds on this machine, an entry for each provider, interface and address.
#pragma once

#include <vector>

#include "drivers/fabric.hpp"
#include "transport/fabric.hpp"

namespace dds {

struct FabricEntry {
    FabricInfo info;
    FabricOffer offer;
    std::string interface;
    std::string address;  // in numbers; empty where it is none of IP
    bool loopback = false;

    int rank() const;  // in the order of preference
    // The interface of that name; hsnN and cxiN are two names of one card.
    bool is(const std::string& name) const;
};

// In the order of preference.
Result<std::vector<FabricEntry>> fabric_entries(const Fabric& library);

// "hsn" is a word of its own.
std::string provider_of(const std::string& wished);

}  // namespace dds
