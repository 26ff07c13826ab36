// What this rank offers, and what it opens of what all ranks agreed on: names, interfaces, routes.
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/fd.hpp"
#include "base/log.hpp"
#include "transport/fabric_info.hpp"

namespace dds {
namespace {

using Entries = std::vector<FabricEntry>;

// Those that the wish leaves: the interface that it names, where there is one; else for ranks of
// several nodes no loopback.
std::vector<const FabricEntry*> within(const Entries& entries, const FabricWish& wish)
{
    std::vector<const FabricEntry*> kept;
    for (const FabricEntry& entry : entries)
        if (!wish.interface.empty() && entry.is(wish.interface))
            kept.push_back(&entry);
    for (const FabricEntry& entry : entries)
        if (kept.empty() || !kept.front()->is(wish.interface))
            if (wish.one_node || !entry.loopback)
                kept.push_back(&entry);
    return kept;
}

bool ours(const FabricEntry& entry, const std::string& address) { return entry.address == address; }

std::string numbers(const sockaddr* address, socklen_t bytes)
{
    char text[NI_MAXHOST];
    return getnameinfo(address, bytes, text, sizeof text, nullptr, 0, NI_NUMERICHOST) ? "" : text;
}

// Our address on the way to `to`.  Nothing is sent.
std::string source_towards(const sockaddr* to, socklen_t bytes)
{
    const Fd probe(socket(to->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_storage own{};
    socklen_t size = sizeof own;
    if (!probe || connect(probe.get(), to, bytes) != 0 ||
        getsockname(probe.get(), reinterpret_cast<sockaddr*>(&own), &size) != 0)
        return "";
    return numbers(reinterpret_cast<const sockaddr*>(&own), size);
}

// Where the name of this host leads; asked only where there are several ways.
std::vector<std::string> routes(int family)
{
    std::vector<std::string> found;
    char name[256] = "";
    addrinfo hints{}, *list = nullptr;
    hints.ai_family = family;
    hints.ai_socktype = SOCK_DGRAM;
    if (gethostname(name, sizeof name - 1) == 0 && getaddrinfo(name, nullptr, &hints, &list) == 0)
        for (const addrinfo* at = list; at; at = at->ai_next) {
            found.push_back(source_towards(at->ai_addr, at->ai_addrlen));
            found.push_back(numbers(at->ai_addr, at->ai_addrlen));
        }
    if (list)
        freeaddrinfo(list);
    // Many hosts know their own name as a loopback address: then the way out, to a documentation
    // address that nobody has.
    sockaddr_in out{};
    out.sin_family = AF_INET;
    out.sin_port = htons(9);
    out.sin_addr.s_addr = htonl(0xc6336401);  // 198.51.100.1
    if (family == AF_INET)
        found.push_back(source_towards(reinterpret_cast<sockaddr*>(&out), sizeof out));
    return found;
}

const FabricEntry* nearest(const std::vector<const FabricEntry*>& fitting, bool one_node)
{
    if (one_node)
        for (const FabricEntry* entry : fitting)
            if (entry->loopback)
                return entry;
    if (fitting.size() == 1 || fitting.front()->address.empty())
        return fitting.front();
    const int family = fitting.front()->offer.addr_format == FI_SOCKADDR_IN6 ? AF_INET6 : AF_INET;
    for (const std::string& address : routes(family))
        for (const FabricEntry* entry : fitting)
            if (ours(*entry, address))
                return entry;
    return fitting.front();
}

void say_once(std::atomic<bool>& said, const char* what, const std::string& wished,
              const char* taken)
{
    if (!said.exchange(true))
        log(DDS_LOG_WARN, "%s is '%s', which is not here, or not on all ranks; taking %s", what,
            wished.c_str(), taken);
}

}  // namespace

Result<FabricOffers> fabric_offers(const FabricWish& wish)
{
    DDS_LET(library, Fabric::get());
    DDS_LET(entries, fabric_entries(*library));
    const std::string wished = provider_of(wish.provider);
    auto kept = within(entries, wish);
    std::stable_partition(kept.begin(), kept.end(), [&](const FabricEntry* entry) {
        return wished == entry->offer.provider;
    });
    FabricOffers offers{};
    for (const FabricEntry* entry : kept)
        if (offers.count < FabricOffers::kMost &&
            std::ranges::none_of(offers.all(),
                                 [&](const auto& its) { return its.same(entry->offer); }))
            offers.each[offers.count++] = entry->offer;
    if (offers.count == 0)
        return fail(DDS_ERR_UNSUPPORTED,
                    "libfabric has no provider on an interface that other nodes reach: bring one "
                    "up, name it in FABRIC_IFACE, or use method 0");
    return offers;
}

Result<FabricChoice> fabric_choose(const FabricOffer& agreed, const FabricWish& wish)
{
    static std::atomic<bool> said_provider{false}, said_interface{false};
    DDS_LET(library, Fabric::get());
    DDS_LET(entries, fabric_entries(*library));
    auto fitting = within(entries, wish);
    std::erase_if(fitting, [&](const FabricEntry* entry) { return !entry->offer.same(agreed); });
    if (fitting.empty())
        return fail(DDS_ERR_UNSUPPORTED, "libfabric's provider %s is not here any more",
                    agreed.provider);
    const auto near = std::ranges::find_if(fitting, [&](const FabricEntry* entry) {
        return wish.interface.empty() && !wish.one_node &&
               ((!wish.near_net.empty() && entry->is(wish.near_net)) ||
                (!wish.near_device.empty() && entry->is(wish.near_device)));
    });
    const FabricEntry& entry = near == fitting.end() ? *nearest(fitting, wish.one_node) : **near;
    if (!wish.provider.empty() && provider_of(wish.provider) != agreed.provider)
        say_once(said_provider, "DDSTORE_FABRIC", wish.provider, agreed.provider);
    if (!wish.interface.empty() && !entry.is(wish.interface))
        say_once(said_interface, "FABRIC_IFACE", wish.interface, entry.interface.c_str());
    return FabricChoice{entry.offer, entry.interface, entry.address};
}

}  // namespace dds
