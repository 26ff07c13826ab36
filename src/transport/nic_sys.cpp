// What /sys tells of the machine's network interfaces: class/net, class/cxi (Slingshot) and
// class/infiniband, whose RDMA devices are joined to the network device in the same slot.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "transport/nic.hpp"

namespace dds {
namespace {

namespace fs = std::filesystem;

std::string line_of(const fs::path& path)
{
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

std::vector<fs::path> entries(const fs::path& folder)
{
    std::error_code error;
    std::vector<fs::path> found;
    for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
        if (std::error_code ignored; at->is_directory(ignored))  // bonding_masters is a file
            found.push_back(at->path());
    std::ranges::sort(found);
    return found;
}

bool is_there(const fs::path& path)
{
    std::error_code error;
    return fs::exists(path, error);
}

// hsn2 comes before hsn10.
bool before(const std::string& a, const std::string& b)
{
    const auto stem = [](const std::string& name) {
        const size_t last = name.find_last_not_of("0123456789");
        return last == std::string::npos ? 0 : last + 1;
    };
    const size_t i = stem(a), j = stem(b);
    if (a.substr(0, i) != b.substr(0, j) || a.size() == b.size())
        return a < b;
    return a.size() < b.size();
}

// Where the device sits, links resolved; empty for a virtual one.
fs::path slot_of(const fs::path& interface)
{
    std::error_code error;
    const fs::path slot = fs::canonical(interface / "device", error);
    return error ? fs::path() : slot;
}

// The device's own file, or that of the bus it hangs on: a virtio device has it in its PCI parent.
std::string up_the_tree(fs::path slot, const char* file)
{
    constexpr int kLevels = 4;
    for (int level = 0; level < kLevels && slot.has_relative_path(); level++) {
        if (std::string line = line_of(slot / file); !line.empty())
            return line;
        slot = slot.parent_path();
    }
    return {};
}

void place(Nic& nic, const fs::path& slot, const fs::path& sys)
{
    const fs::path nodes = sys / "devices/system/node";
    const std::string number = up_the_tree(slot, "numa_node");
    nic.near = parse_cpus(up_the_tree(slot, "local_cpulist"));
    if (number.empty() || number.front() == '-')  // -1: the firmware does not say
        return;
    const fs::path own = nodes / ("node" + number);
    if (nic.near.empty())
        nic.near = parse_cpus(line_of(own / "cpulist"));
    // The kernel lists the distances of the nodes that are online, in their order.
    std::ifstream distances(own / "distance");
    for (const CpuRange& range : parse_cpus(line_of(nodes / "online")))
        for (int node = range.first, far; node <= range.last && distances >> far; node++) {
            const fs::path folder = nodes / ("node" + std::to_string(node));
            nic.nodes.push_back({parse_cpus(line_of(folder / "cpulist")), far});
        }
}

bool net_is_up(const fs::path& net)
{
    constexpr unsigned long kUp = 1;  // IFF_UP
    const std::string state = line_of(net / "operstate");
    if (state != "unknown")  // of drivers that do not say, such as those of loopback and tun
        return state == "up";
    return strtoul(line_of(net / "flags").c_str(), nullptr, 16) & kUp &&
           line_of(net / "carrier") != "0";
}

Nic read_net(const fs::path& net, const fs::path& slot)
{
    Nic nic;
    nic.net = net.filename();
    nic.up = net_is_up(net);
    nic.megabits = std::max<int64_t>(0, strtoll(line_of(net / "speed").c_str(), nullptr, 10));
    if (!slot.empty() && !is_there(net / "master"))  // part of a bond has no address of its own
        nic.kind = twin_of(nic.net).empty() ? NicKind::ethernet : NicKind::slingshot;
    return nic;
}

// "4: ACTIVE" and "200 Gb/sec (4X HDR)" of the ports.
void read_ports(Nic& nic, const fs::path& device)
{
    nic.up = false;
    for (const fs::path& port : entries(device / "ports")) {
        if (line_of(port / "state").find("ACTIVE") == std::string::npos)
            continue;
        const double gigabits = strtod(line_of(port / "rate").c_str(), nullptr);
        nic.up = true;
        nic.megabits = std::max(nic.megabits, static_cast<int64_t>(gigabits * 1000));
    }
}

}  // namespace

std::vector<Nic> read_nics(const std::string& sys)
{
    const fs::path classes = fs::path(sys) / "class";
    std::vector<Nic> nics;
    std::vector<fs::path> slots;
    for (const fs::path& net : entries(classes / "net")) {
        slots.push_back(slot_of(net));
        nics.push_back(read_net(net, slots.back()));
    }
    const auto join = [&](const fs::path& device) -> Nic& {
        const fs::path slot = slot_of(device);
        const std::string twin = twin_of(device.filename());
        size_t at = 0;
        while (at < nics.size() && (twin.empty() || nics[at].net != twin) &&
               (slot.empty() || slots[at] != slot))
            at++;
        if (at == nics.size()) {
            slots.push_back(slot);
            nics.emplace_back().up = true;  // for want of a network device that says otherwise
        }
        nics[at].device = device.filename();
        return nics[at];
    };
    for (const fs::path& device : entries(classes / "infiniband")) {
        Nic& nic = join(device);
        nic.kind = NicKind::infiniband;
        read_ports(nic, device);
    }
    for (const fs::path& device : entries(classes / "cxi"))
        join(device).kind = NicKind::slingshot;
    for (size_t i = 0; i < nics.size(); i++)
        if (!slots[i].empty())
            place(nics[i], slots[i], fs::path(sys));
    std::ranges::sort(nics, [](const Nic& a, const Nic& b) {
        return before(a.net.empty() ? a.device : a.net, b.net.empty() ? b.device : b.net);
    });
    return nics;
}

}  // namespace dds
