#include "transport/fabric_info.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "transport/fabric_fork.hpp"

namespace dds {
namespace {

// Above all those whose cards read without the target's processor, then by what was measured.
constexpr std::string_view kPreferred[] = {"cxi",  "efa", "verbs;ofi_rxm", "opx",
                                           "psm3", "tcp", "tcp;ofi_rxm",   "net"};

bool known(std::string_view provider)
{
    return std::ranges::find(kPreferred, provider) != std::end(kPreferred);
}

// First without what lets providers choose keys, which would be easy to guess, and have addresses of
// the heap go round.  cxi's own keys are better than the 32 bits that it takes from others.
constexpr int kModest = FI_MR_LOCAL | FI_MR_ALLOCATED | FI_MR_ENDPOINT;
constexpr int kAll = kModest | FI_MR_PROV_KEY | FI_MR_VIRT_ADDR;

FabricInfo ask(const Fabric& library, int mr_mode, int& code)
{
    FabricInfo hints(library.dupinfo(nullptr), {&library});
    fi_info* found = nullptr;
    if (!hints) {
        code = -FI_ENOMEM;
        return {nullptr, {&library}};
    }
    hints->caps = FI_RMA | FI_READ | FI_REMOTE_READ;
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->ep_attr->type = FI_EP_RDM;
    hints->domain_attr->mr_mode = mr_mode;
    hints->domain_attr->threading = FI_THREAD_SAFE;
    // Automatic progress is promised and not kept, so that it is ours anyway.
    hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
    hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
    code = library.getinfo(library.api, nullptr, nullptr, 0, hints.get(), &found);
    return {code ? nullptr : found, {&library}};
}

bool link_local(const sockaddr* address)
{
    return address->sa_family == AF_INET6 &&
           IN6_IS_ADDR_LINKLOCAL(&reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr);
}

bool loopback(const sockaddr* address)
{
    if (address->sa_family == AF_INET6)
        return IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr);
    return ntohl(reinterpret_cast<const sockaddr_in*>(address)->sin_addr.s_addr) >> 24 == 127;
}

// One that could be opened here and read from elsewhere, or nothing.
bool describe(const fi_info& info, FabricEntry& entry)
{
    const char* provider = info.fabric_attr->prov_name;
    if (!provider || !known(provider) || info.domain_attr->mr_mode & FI_MR_RAW)
        return false;
    entry.offer = {{},
                   info.ep_attr->protocol,
                   info.addr_format,
                   static_cast<uint32_t>(info.domain_attr->mr_mode),
                   0};
    strncpy(entry.offer.provider, provider, sizeof entry.offer.provider - 1);
    entry.interface = info.domain_attr->name ? info.domain_attr->name : "";
    const auto* source = static_cast<const sockaddr*>(info.src_addr);
    const bool ip = info.addr_format == FI_SOCKADDR || info.addr_format == FI_SOCKADDR_IN ||
                    info.addr_format == FI_SOCKADDR_IN6;
    if (!ip)
        return true;
    char text[NI_MAXHOST];
    if (!source || link_local(source) ||
        getnameinfo(source, static_cast<socklen_t>(info.src_addrlen), text, sizeof text, nullptr, 0,
                    NI_NUMERICHOST) != 0)
        return false;
    entry.address = text;
    entry.loopback = loopback(source);
    return true;
}

void gather(const Fabric& library, const fi_info* all, bool modest, std::vector<FabricEntry>& to)
{
    const size_t before = to.size();
    for (const fi_info* info = all; info; info = info->next) {
        FabricEntry entry{{nullptr, {&library}}, {}, {}, {}};
        if (!describe(*info, entry))
            continue;
        const bool cxi = strcmp(entry.offer.provider, "cxi") == 0;
        const auto end = to.begin() + static_cast<ptrdiff_t>(before);
        if ((cxi && modest) || std::any_of(to.begin(), end, [&](const FabricEntry& known) {
                return strcmp(known.offer.provider, entry.offer.provider) == 0;
            }))
            continue;
        entry.info.reset(library.dupinfo(info));
        if (!entry.info)
            continue;
        // Some providers preset FI_INJECT, whose limit then holds for reads.
        entry.info->tx_attr->op_flags = 0;
        to.push_back(std::move(entry));
    }
}

}  // namespace

int FabricEntry::rank() const
{
    const auto* at = std::ranges::find(kPreferred, std::string_view(offer.provider));
    // Four bytes of address before sixteen: what all ranks have where any is set up at all.
    return static_cast<int>(at - kPreferred) * 2 + (offer.addr_format == FI_SOCKADDR_IN6 ? 1 : 0);
}

bool FabricEntry::is(const std::string& name) const
{
    const auto number = [](const std::string& of, const char* kind) {
        return of.starts_with(kind) ? of.substr(strlen(kind)) : std::string();
    };
    if (interface == name || (!address.empty() && address == name))
        return true;
    const std::string here = number(interface, "cxi"), there = number(interface, "hsn");
    return (!here.empty() && number(name, "hsn") == here) ||
           (!there.empty() && number(name, "cxi") == there);
}

Result<std::vector<FabricEntry>> fabric_entries(const Fabric& library)
{
    DDS_TRY(prepare_for_forks());
    std::vector<FabricEntry> entries;
    int code = 0, last = 0;
    for (const int mr_mode : {kModest, kAll}) {
        const FabricInfo found = ask(library, mr_mode, code);
        gather(library, found.get(), mr_mode == kModest, entries);
        last = code ? code : last;
    }
    if (entries.empty())
        return fail(DDS_ERR_UNSUPPORTED,
                    "libfabric %u.%u has no provider here that reads from remote memory (%s): "
                    "look with `fi_info -t FI_EP_RDM -c FI_RMA`, or use method 0",
                    FI_MAJOR(library.version()), FI_MINOR(library.version()),
                    library.strerror(-last));
    std::ranges::stable_sort(entries, {}, &FabricEntry::rank);
    return entries;
}

std::string provider_of(const std::string& wished)
{
    return wished == "hsn" ? "tcp;ofi_rxm" : wished;
}

}  // namespace dds
