// Nothing here reads the machine but near_nic(): the choice is made from what it is given.
#include "transport/nic.hpp"

#include <algorithm>
#include <climits>
#include <optional>

#include "base/env.hpp"

namespace dds {
namespace {

constexpr int kLocal = 10, kNowhere = 255;  // the kernel's: of a node to itself, and not at all

const Nic* find(std::span<const Nic> here, const std::string& name)
{
    const std::string twin = twin_of(name);
    const auto is = [&](const Nic& nic) {
        return nic.net == name || nic.device == name ||
               (!twin.empty() && (nic.net == twin || nic.device == twin));
    };
    const auto at = std::ranges::find_if(here, is);
    return at == here.end() ? nullptr : &*at;
}

// What keeps an interface that was asked for from being used; empty: nothing.  Where nothing is
// known of the machine it is taken at its word.
std::string obstacle(std::span<const Nic> here, const std::string& name)
{
    const Nic* nic = find(here, name);
    if (here.empty() || (nic && nic->up))
        return {};
    return name + (nic ? " is down" : " is not here");
}

NicChoice named(std::span<const Nic> here, const std::string& name)
{
    if (const Nic* nic = find(here, name))
        return {nic->net, nic->device, ""};
    const std::string twin = twin_of(name);
    if (twin.empty())
        return {name, name, ""};
    return name.starts_with("hsn") ? NicChoice{name, twin, ""} : NicChoice{twin, name, ""};
}

std::string allowed_words(const NicWish& wish)
{
    constexpr size_t kMost = 40;
    const std::string text = words(wish.allowed);
    return "CPUs " + (text.size() > kMost ? text.substr(0, kMost) + "..." : text);
}

NicChoice take(std::vector<NicChoice> equals, const NicWish& wish, std::string why)
{
    const size_t turn = static_cast<size_t>(std::max(wish.local_rank, 0)) % equals.size();
    if (equals.size() > 1)
        why += ", one of " + std::to_string(equals.size()) + " by rank of the node";
    equals[turn].why = std::move(why);
    return std::move(equals[turn]);
}

// Those of the map that have most of the allowed CPUs.  nullopt: none; `problem` says why.
std::optional<NicChoice> by_map(const NicWish& wish, std::span<const Nic> here,
                                std::string& problem)
{
    size_t most = 1;
    std::vector<NicChoice> equals;
    problem = "it has no interface for " + allowed_words(wish);
    for (const auto& [name, cpus] : wish.map.cpus) {
        const size_t share = overlap(cpus, wish.allowed);
        if (share < most)
            continue;
        if (const std::string what = obstacle(here, name); !what.empty()) {
            problem = what;
            continue;
        }
        if (share > most)
            equals.clear();
        most = share;
        equals.push_back(named(here, name));
    }
    if (equals.empty())
        return std::nullopt;
    return take(std::move(equals), wish, wish.map.from + ": that of " + allowed_words(wish));
}

int distance(const Nic& nic, int cpu)
{
    if (has(nic.near, cpu))
        return kLocal;
    for (const Nic::Node& node : nic.nodes)
        if (has(node.cpus, cpu))
            return std::max(node.distance, kLocal + 1);  // of the node, but another part of it
    return kNowhere;
}

int64_t distance(const Nic& nic, const Cpus& cpus)
{
    int64_t sum = 0;
    for (const CpuRange& range : cpus)
        for (int cpu = range.first; cpu <= range.last; cpu++)
            sum += distance(nic, cpu);
    return sum;
}

// Keep those for which `cost` is least.
template <class Cost>
void keep_least(std::vector<const Nic*>& nics, Cost cost)
{
    if (nics.empty())
        return;
    int64_t least = INT64_MAX;
    for (const Nic* nic : nics)
        least = std::min(least, static_cast<int64_t>(cost(*nic)));
    std::erase_if(nics, [&](const Nic* nic) { return static_cast<int64_t>(cost(*nic)) > least; });
}

NicChoice by_place(const NicWish& wish, std::span<const Nic> here)
{
    std::vector<const Nic*> nics;
    for (const Nic& nic : here)
        if (nic.up && nic.kind != NicKind::other)
            nics.push_back(&nic);
    if (nics.empty())
        return {"", "", "no interface of a device is up"};
    keep_least(nics, [](const Nic& nic) { return nic.kind; });
    const bool only = nics.size() == 1;
    keep_least(nics, [](const Nic& nic) { return -nic.megabits; });
    // Interfaces of a fast network all lead to all nodes; of Ethernets each may be its own net.
    if (nics.front()->kind == NicKind::ethernet && nics.size() > 1)
        return {"", "",
                std::to_string(nics.size()) + " Ethernets are equally fast: FABRIC_IFACE "
                                              "can name the one that leads to the other ranks"};
    const bool alone = nics.size() == 1;
    keep_least(nics, [&](const Nic& nic) { return distance(nic, wish.allowed); });
    const int64_t cpus = static_cast<int64_t>(count(wish.allowed));
    const int64_t sum = distance(*nics.front(), wish.allowed);
    std::string why = only                    ? "the only one of its kind that is up"
                      : alone                 ? "the fastest that is up"
                      : sum == kLocal * cpus  ? "near " + allowed_words(wish)
                      : sum < kNowhere * cpus ? "nearest to " + allowed_words(wish)
                                              : "where it is near is not known";
    std::vector<NicChoice> equals;
    for (const Nic* nic : nics)
        equals.push_back({nic->net, nic->device, ""});
    return take(std::move(equals), wish, std::move(why));
}

}  // namespace

std::string twin_of(const std::string& name)
{
    const std::string kind = name.substr(0, 3);
    const std::string digits = name.substr(std::min<size_t>(3, name.size()));
    if (digits.empty() || digits.find_first_not_of("0123456789") != std::string::npos)
        return {};
    return kind == "hsn" ? "cxi" + digits : kind == "cxi" ? "hsn" + digits : "";
}

NicChoice choose_nic(const NicWish& wish, std::span<const Nic> here)
{
    std::string problem;
    if (!wish.iface.empty()) {
        const std::string what = obstacle(here, wish.iface);
        NicChoice choice = named(here, wish.iface);
        choice.why = "FABRIC_IFACE";
        if (what.empty())
            return choice;
        problem = "FABRIC_IFACE: " + what + "; ";
    }
    std::optional<NicChoice> choice;
    if (!wish.map.cpus.empty()) {
        std::string what;
        choice = by_map(wish, here, what);
        if (!choice)
            problem += wish.map.from + ": " + what + "; ";
    }
    if (!choice)
        choice = by_place(wish, here);
    choice->other_than_asked = !problem.empty();
    choice->why = problem + choice->why;
    return *choice;
}

std::string words(const NicChoice& choice)
{
    std::string name = choice.net.empty() ? choice.device : choice.net;
    if (name.empty())
        name = "no interface";
    else if (!choice.device.empty() && choice.device != name)
        name += " (" + choice.device + ")";
    return name + ": " + choice.why;
}

Result<NicChoice> near_nic(const std::string& map, int local_rank, const std::string& sys)
{
    NicWish wish;
    wish.iface = env::text("FABRIC_IFACE").value_or("");
    wish.local_rank = local_rank;
    const auto set = env::text("DDSTORE_NIC_MAP");
    DDS_LET(parsed, map.empty() ? parse_nic_map(set.value_or(""), "DDSTORE_NIC_MAP")
                                : parse_nic_map(map, "option nic_map"));
    wish.map = std::move(parsed);
    DDS_LET(allowed, allowed_cpus());
    wish.allowed = std::move(allowed);
    return choose_nic(wish, read_nics(sys));
}

}  // namespace dds
