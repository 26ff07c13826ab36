// Which network interface is near this process: the one that FABRIC_IFACE names, else by a map of
// CPUs, else by what /sys tells of the machine.  Chosen once, when a wire is opened.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "transport/nic_map.hpp"

namespace dds {

enum class NicKind {
    slingshot,
    infiniband,
    ethernet,
    other
};  // the best first; other: only by name

struct Nic {
    NicKind kind = NicKind::other;
    std::string net;     // "hsn0", "ib0", "eth0": the one with an address; may be empty
    std::string device;  // "cxi0", "mlx5_0": the domain of RDMA providers; may be empty
    bool up = false;
    int64_t megabits = 0;  // a second; 0: unknown
    Cpus near;             // empty: unknown
    struct Node {
        Cpus cpus;
        int distance;  // from this interface's node, the kernel's numbers
    };
    std::vector<Node> nodes;
};

struct NicWish {
    std::string iface;  // FABRIC_IFACE
    NicMap map;
    Cpus allowed;        // where this process may run
    int local_rank = 0;  // spreads the ranks of a node over interfaces that are equally near
};

struct NicChoice {
    std::string net, device;  // both empty: none, so that the provider chooses
    std::string why;
    bool other_than_asked = false;  // what was asked for is not to be had: worth a line in the log
};

// Slingshot's network device hsnN and its RDMA device cxiN are one interface; "" for other names.
std::string twin_of(const std::string& name);

NicChoice choose_nic(const NicWish& wish, std::span<const Nic> here);
std::string words(const NicChoice& choice);

// Under `sys`, in the order of their names (hsn2 before hsn10); empty where nothing can be read.
std::vector<Nic> read_nics(const std::string& sys = "/sys");

// `map`: the option nic_map; empty: DDSTORE_NIC_MAP.
Result<NicChoice> near_nic(const std::string& map, int local_rank, const std::string& sys = "/sys");

}  // namespace dds
