// A map of CPUs to network interfaces, "hsn0=0-15,64-79;hsn1=16-31": what DDSTORE_NIC_MAP and the
// option nic_map hold, and what `cpu_nic_map --env` writes.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "transport/cpus.hpp"

namespace dds {

struct NicMap {
    std::map<std::string, Cpus> cpus;  // by interface
    std::string from;                  // where it comes from, in words: "DDSTORE_NIC_MAP"
};

// ARG tells which piece is wrong, where it begins and what it takes.  Two interfaces of one CPU are
// wrong, too.  An empty text is an empty map.
Result<NicMap> parse_nic_map(std::string_view text, const char* from);

}  // namespace dds
