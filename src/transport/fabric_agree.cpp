// The choice that all ranks make alike: arithmetic on what they offered.
#include <algorithm>
#include <cstring>

#include "base/env.hpp"
#include "transport/fabric.hpp"

namespace dds {
namespace {

std::string names(const FabricOffers& offers)
{
    std::string text;
    for (const FabricOffer& offer : offers.all())
        text += (text.empty() ? "" : ", ") +
                std::string(offer.provider, strnlen(offer.provider, sizeof offer.provider));
    return text.empty() ? "nothing" : text;
}

const FabricOffers* lacks(const FabricOffer& offer, std::span<const FabricOffers> by_rank)
{
    const auto has = [&](const FabricOffers& offers) {
        return std::ranges::any_of(offers.all(), [&](const auto& its) { return its.same(offer); });
    };
    const auto at = std::ranges::find_if_not(by_rank, has);
    return at == by_rank.end() ? nullptr : &*at;
}

}  // namespace

bool FabricOffer::same(const FabricOffer& other) const
{
    return strncmp(provider, other.provider, sizeof provider) == 0 && protocol == other.protocol &&
           addr_format == other.addr_format;
}

FabricWish FabricWish::of_environment(bool one_node)
{
    return {env::text("DDSTORE_FABRIC").value_or(""), env::text("FABRIC_IFACE").value_or(""),
            one_node};
}

Result<FabricOffer> fabric_agree(std::span<const FabricOffers> by_rank)
{
    if (by_rank.empty())
        return fail(DDS_ERR_INTERNAL, "no rank offers a provider of libfabric");
    const FabricOffers* without = by_rank.data();
    for (const FabricOffer& offer : by_rank[0].all()) {
        const FabricOffers* its = lacks(offer, by_rank);
        if (!its)
            return offer;
        without = its;
    }
    const int rank = static_cast<int>(without - by_rank.data());
    return fail_rank(DDS_ERR_UNSUPPORTED, rank,
                     "no provider of libfabric works on all ranks: rank 0 has %s, rank %d has %s; "
                     "use one version of libfabric on all ranks and unset DDSTORE_FABRIC and "
                     "FABRIC_IFACE, or use method 0",
                     names(by_rank[0]).c_str(), rank, names(*without).c_str());
}

}  // namespace dds
