// Network interfaces, and the one that a wire would take from here.
#include "facts.hpp"
#include "transport/nic.hpp"

namespace info {
namespace {

const char* kind_of(const dds::Nic& nic)
{
    switch (nic.kind) {
    case dds::NicKind::slingshot: return "slingshot";
    case dds::NicKind::infiniband: return "infiniband";
    case dds::NicKind::ethernet: return "ethernet";
    case dds::NicKind::other: break;
    }
    return "other";
}

Value or_none(const std::string& text) { return text.empty() ? Value() : Value(text); }

void tell(Sheet& sheet, const dds::Nic& nic)
{
    const std::string cpus = words(nic.near);
    sheet.fact(nic.net.empty() ? nic.device : nic.net,
               object({{"kind", kind_of(nic)},
                       {"device", or_none(nic.device)},
                       {"up", nic.up},
                       {"megabits", nic.megabits ? Value(nic.megabits) : Value()},
                       {"cpus", or_none(cpus)}}),
               std::string(nic.up ? "up" : "down") +
                   (nic.device.empty() ? "" : "; RDMA device " + nic.device) +
                   (cpus.empty() ? "" : "; near CPUs " + cpus));
}

}  // namespace

void tell_network(Sheet& sheet)
{
    sheet.section("network");
    for (const dds::Nic& nic : dds::read_nics())
        tell(sheet, nic);
    const auto choice = dds::near_nic("", 0);
    if (!choice)
        return sheet.problem(choice.error().text);
    sheet.fact("chosen",
               object({{"net", or_none(choice->net)},
                       {"device", or_none(choice->device)},
                       {"why", choice->why}}),
               choice->why);
}

}  // namespace info
