// What is chosen of libfabric before a store opens its wire: each rank offers what works here, all
// take the first of rank 0's offers that every rank has, and each then picks its own interface.
// Needs no header of libfabric; without it, or in a build without it, all say UNSUPPORTED.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>

#include "base/result.hpp"

namespace dds {

// A way to read that works on a rank.  Goes round as it is.
struct FabricOffer {
    char provider[48];
    uint32_t protocol;  // of libfabric's FI_PROTO_*: two providers of one name may not understand
    uint32_t addr_format;  // each other
    uint32_t mr_mode;
    uint32_t reserved;

    bool same(const FabricOffer& other) const;
};
struct FabricOffers {
    static constexpr size_t kMost = 8;
    uint32_t count;
    uint32_t reserved;
    std::array<FabricOffer, kMost> each;  // the best first

    std::span<const FabricOffer> all() const
    {
        return std::span(each).first(count < kMost ? count : kMost);
    }
};
static_assert(std::is_trivially_copyable_v<FabricOffers>);

struct FabricWish {
    std::string provider;   // DDSTORE_FABRIC; empty: any
    std::string interface;  // FABRIC_IFACE; empty: any
    bool one_node = false;  // no rank is elsewhere: the loopback interface will do
    std::string near_net = {}, near_device = {};  // without `interface`: the nearest, where it fits

    static FabricWish of_environment(bool one_node);
};

// Local.  UNSUPPORTED where nothing works here.
Result<FabricOffers> fabric_offers(const FabricWish& wish);

// What all ranks have, by the offers of each; UNSUPPORTED names ranks and providers.
Result<FabricOffer> fabric_agree(std::span<const FabricOffers> by_rank);

// Where rows land: as the provider asks, as if it asked for registered memory, or in the library's
// memory first.
enum class FabricLands : uint8_t { as_asked, registered, staged };

// What this rank opens.
struct FabricChoice {
    FabricOffer offer{};
    std::string interface;  // or domain
    std::string address;    // of the interface; empty where the provider has addresses of its own
    FabricLands lands = FabricLands::as_asked;
};
// Local.  Tells the log where it is not what was wished for.
Result<FabricChoice> fabric_choose(const FabricOffer& agreed, const FabricWish& wish);

}  // namespace dds
