// Which interface is near: maps of CPUs, machines that a tree of files plays, and the choice.
#include "transport/nic.hpp"

#include <sched.h>

#include <filesystem>
#include <fstream>

#include "unit.hpp"

namespace {

using namespace dds;
namespace fs = std::filesystem;

// A tree with the shape of /sys.
class Machine {
public:
    void node(int node, const char* cpus, const char* distances)
    {
        const std::string at = "devices/system/node/node" + std::to_string(node);
        write(at + "/cpulist", cpus);
        write(at + "/distance", distances);
        online_ += (online_.empty() ? "" : ",") + std::to_string(node);
        write("devices/system/node/online", online_);
    }
    // A PCI function; what hangs on it is linked to from class/.
    void slot(const std::string& slot, const char* cpus, const char* node)
    {
        write("devices/pci0000:00/" + slot + "/local_cpulist", cpus);
        write("devices/pci0000:00/" + slot + "/numa_node", node);
    }
    void net(const std::string& name, const std::string& slot, const char* state = "up",
             const char* speed = "200000")
    {
        const std::string at = link("net", name, slot);
        write(at + "/operstate", state);
        write(at + "/speed", speed);
    }
    void cxi(const std::string& name, const std::string& slot) { link("cxi", name, slot); }
    void infiniband(const std::string& name, const std::string& slot, const char* state,
                    const char* rate)
    {
        const std::string at = link("infiniband", name, slot);
        write(at + "/ports/1/state", state);
        write(at + "/ports/1/rate", rate);
    }
    void loopback()
    {
        write("class/net/lo/operstate", "unknown");
        write("class/net/lo/flags", "0x9");
    }
    void write(const std::string& file, const std::string& line)
    {
        const fs::path path = scratch_.at(file);
        fs::create_directories(path.parent_path());
        std::ofstream(path) << line << "\n";
    }
    std::string root() const { return scratch_.path(); }
    std::vector<Nic> nics() const { return read_nics(root()); }

private:
    std::string link(const std::string& kind, const std::string& name, const std::string& slot)
    {
        const std::string device = "devices/pci0000:00/" + slot;
        const std::string at = device + "/" + kind + "/" + name;
        fs::create_directories(scratch_.at(at));
        fs::create_directories(scratch_.at("class/" + kind));
        fs::create_symlink(scratch_.at(device), scratch_.at(at + "/device"));
        fs::create_directory_symlink(scratch_.at(at), scratch_.at("class/" + kind + "/" + name));
        return at;
    }
    unit::Scratch scratch_;
    std::string online_;
};

// Two sockets of 16 cores and 32 threads, each with two interfaces of Slingshot.
void two_sockets(Machine& machine, const char* state_of_hsn1 = "up")
{
    machine.loopback();
    machine.node(0, "0-15,32-47", "10 32");
    machine.node(1, "16-31,48-63", "32 10");
    for (int i = 0; i < 4; i++) {
        const std::string slot = "0000:0" + std::to_string(i) + ":00.0";
        machine.slot(slot, i < 2 ? "0-15,32-47" : "16-31,48-63", i < 2 ? "0" : "1");
        machine.net("hsn" + std::to_string(i), slot, i == 1 ? state_of_hsn1 : "up");
        machine.cxi("cxi" + std::to_string(i), slot);
    }
    machine.slot("0000:09:00.0", "0-15,32-47", "0");
    machine.net("eth0", "0000:09:00.0", "up", "1000");
}

NicChoice choose(const Machine& machine, const char* allowed, int local_rank = 0,
                 const char* map = "", const char* iface = "")
{
    return choose_nic(
        {iface, *parse_nic_map(map, "DDSTORE_NIC_MAP"), parse_cpus(allowed), local_rank},
        machine.nics());
}

void assert_choice(const NicChoice& choice, const char* net, const char* device, const char* why,
                   bool other_than_asked = false)
{
    assert_string_equal(choice.net.c_str(), net);
    assert_string_equal(choice.device.c_str(), device);
    unit::assert_says(choice.why, why);
    assert_int_equal(choice.other_than_asked, other_than_asked);
}

void assert_junk(const std::string& map, const char* words)
{
    const auto parsed = parse_nic_map(map, "DDSTORE_NIC_MAP");
    if (parsed)
        fail_msg("'%.60s' was taken", map.c_str());
    assert_int_equal(parsed.error().code, DDS_ERR_ARG);
    unit::assert_says(parsed.error().text, "DDSTORE_NIC_MAP: piece ");
    unit::assert_says(parsed.error().text, words);
    assert_true(parsed.error().text.size() < 400);
    assert_null(strpbrk(parsed.error().text.c_str(), "\n\t\x1b"));
}

void a_map_tells_the_cpus_of_each_interface(void**)
{
    const auto map = parse_nic_map("hsn0=0-15,64-79;hsn1=16-31;hsn0=32,33;mlx5_0=7000", "here");
    assert_true(bool(map));
    assert_int_equal(map->cpus.size(), 3);
    assert_true(map->cpus.at("hsn0") == (Cpus{{0, 15}, {32, 33}, {64, 79}}));
    assert_true(map->cpus.at("mlx5_0") == (Cpus{{7000, 7000}}));
    assert_string_equal(map->from.c_str(), "here");
    assert_true(bool(parse_nic_map("hsn0=0-3,2-5;", "here")));
    assert_true(parse_nic_map("", "here")->cpus.empty());
}

void junk_in_a_map_is_named_with_its_place(void**)
{
    assert_junk("hsn0", "piece 1, 'hsn0' at byte 0: it has no '='");
    assert_junk("hsn0=0;hsn1", "piece 2, 'hsn1' at byte 7: it has no '='");
    assert_junk(";hsn0=0", "piece 1, '' at byte 0");
    assert_junk("hsn0=0;;hsn1=1", "piece 2, '' at byte 7");
    assert_junk("=0", "'' is no interface's name");
    assert_junk("a b=0", "'a b' is no interface's name");
    assert_junk("../x=0", "'../x' is no interface's name");
    assert_junk(std::string(64, 'n') + "=0", "1 to 63 printable bytes");
    for (const char* cpus :
         {"",        ",",     "0,",  ",0", "0,,1", "x",   "-1",  "1-",    "-",
          "3-2",     "1--2",  "0 ",  " 0", "+1",   "1.5", "0x1", "65536", "99999999999999999999",
          "1-65536", "0-3:2", "all", "\n", "0\t",  "\xff"})
        assert_junk(std::string("hsn0=1;hsn1=") + cpus, "piece 2, 'hsn1=");
    assert_junk("hsn0=0-3,x,5", "'x' is neither a CPU, 0 to 65535, nor an ascending range");
}

void a_cpu_with_two_interfaces_is_refused(void**)
{
    assert_junk("hsn0=0-15;hsn1=8-31",
                "piece 2, 'hsn1=8-31' at byte 10: CPU 8 has 'hsn0' already, by piece 1");
    assert_junk("hsn1=8-31;hsn0=0-15", "piece 2, 'hsn0=0-15' at byte 10: CPU 8 has 'hsn1'");
    assert_junk("a=0-99;a=3;b=50",
                "piece 3, 'b=50' at byte 11: CPU 50 has 'a' already, by piece 1");
}

void a_map_of_a_megabyte_is_read_or_refused_at_once(void**)
{
    std::string map, junk(1 << 20, ';');
    for (int cpu = 0; map.size() < 1 << 20; cpu++)
        map += "hsn" + std::to_string(cpu % 8) + "=" + std::to_string(cpu % 65'536) + ";";
    const double begun = unit::now();
    assert_int_equal(parse_nic_map(map, "here")->cpus.size(), 8);
    assert_junk(junk, "piece 1");
    assert_junk(std::string(1 << 20, 'x'), "xxx...' at byte 0: it has no '='");
    assert_junk("hsn0=" + std::string(1 << 20, '9'), "99...' is neither");
    assert_junk(map + "eth0=5", "CPU 5 has ");
    assert_true(unit::now() - begun < 5);
}

void a_process_of_one_socket_gets_an_interface_of_it(void**)
{
    Machine machine;
    two_sockets(machine);
    assert_choice(choose(machine, "0-7"), "hsn0", "cxi0", "near CPUs 0-7, one of 2");
    assert_choice(choose(machine, "0-7", 1), "hsn1", "cxi1", "near CPUs 0-7");
    assert_choice(choose(machine, "0-7", 2), "hsn0", "cxi0", "near");
    assert_choice(choose(machine, "48-51"), "hsn2", "cxi2", "near CPUs 48-51");
    assert_choice(choose(machine, "48-51", 7), "hsn3", "cxi3", "near");
    assert_string_equal(words(choose(machine, "16", 1)).c_str(),
                        "hsn3 (cxi3): near CPUs 16, one of 2 by rank of the node");
}

void a_process_across_sockets_goes_by_where_most_of_it_is(void**)
{
    Machine machine;
    two_sockets(machine);
    assert_choice(choose(machine, "12-17"), "hsn0", "cxi0", "nearest to CPUs 12-17, one of 2");
    assert_choice(choose(machine, "15-20"), "hsn2", "cxi2", "nearest to CPUs 15-20");
    for (int rank = 0; rank < 8; rank++) {
        const std::string number = std::to_string(rank % 4);
        assert_choice(choose(machine, "0-63", rank), ("hsn" + number).c_str(),
                      ("cxi" + number).c_str(), "one of 4 by rank of the node");
    }
}

void an_interface_that_is_down_is_passed_over(void**)
{
    Machine machine;
    two_sockets(machine, "down");
    assert_choice(choose(machine, "0-7", 1), "hsn0", "cxi0", "near CPUs 0-7");
    assert_choice(choose(machine, "0", 0, "hsn1=0-7"), "hsn0", "cxi0",
                  "DDSTORE_NIC_MAP: hsn1 is down; near CPUs 0", true);
    assert_choice(choose(machine, "0", 0, "", "cxi1"), "hsn0", "cxi0",
                  "FABRIC_IFACE: cxi1 is down; near", true);
}

void without_one_near_the_distance_of_the_nodes_decides(void**)
{
    Machine machine;
    machine.node(0, "0-3", "10 12 32 32");
    machine.node(1, "4-7", "12 10 32 32");
    machine.node(2, "8-11", "32 32 10 12");
    machine.node(3, "12-15", "32 32 12 10");
    machine.slot("a", "0-3", "0");
    machine.slot("b", "8-11", "2");
    machine.net("hsn0", "a");
    machine.net("hsn1", "b");
    assert_choice(choose(machine, "4-7"), "hsn0", "", "nearest to CPUs 4-7");
    assert_choice(choose(machine, "12-15"), "hsn1", "", "nearest to CPUs 12-15");
}

void names_are_in_the_order_of_their_numbers(void**)
{
    Machine machine;
    for (int i = 0; i < 12; i++)
        machine.net("hsn" + std::to_string(i), "slot" + std::to_string(i));
    for (int rank = 0; rank < 12; rank++)
        assert_choice(choose(machine, "0", rank), ("hsn" + std::to_string(rank)).c_str(), "",
                      "where it is near is not known, one of 12");
}

void a_machine_without_interfaces_gets_none(void**)
{
    Machine machine;
    assert_true(machine.nics().empty());
    assert_choice(choose(machine, "0-3"), "", "", "no interface of a device is up");
    machine.loopback();
    machine.write("class/net/bonding_masters", "");
    assert_int_equal(machine.nics().size(), 1);
    assert_choice(choose(machine, "0-3"), "", "", "no interface of a device is up");
    assert_choice(choose(machine, "0-3", 0, "hsn0=0-3"), "", "", "hsn0 is not here", true);
    assert_string_equal(words(choose(machine, "0-3", 0, "", "hsn0")).c_str(),
                        "no interface: FABRIC_IFACE: hsn0 is not here; no interface of a device "
                        "is up");
    assert_choice(choose(machine, "0", 0, "", "lo"), "lo", "", "FABRIC_IFACE");
}

void without_sys_what_is_named_is_believed(void**)
{
    Machine machine;
    assert_choice(choose(machine, "0", 0, "", "cxi3"), "hsn3", "cxi3", "FABRIC_IFACE");
    assert_choice(choose(machine, "9", 0, "hsn0=0;hsn1=9"), "hsn1", "cxi1", "that of CPUs 9");
    assert_choice(choose(machine, "0", 0, "mlx5_0=0"), "mlx5_0", "mlx5_0", "DDSTORE_NIC_MAP");
}

void infiniband_is_joined_to_its_network_device(void**)
{
    Machine machine;
    machine.loopback();
    machine.node(0, "0-3", "10 20");
    machine.node(1, "4-7", "20 10");
    machine.slot("a", "0-3", "0");
    machine.slot("b", "4-7", "1");
    machine.slot("c", "4-7", "1");
    machine.net("ib0", "a", "up", "-1");
    machine.infiniband("mlx5_0", "a", "4: ACTIVE", "200 Gb/sec (4X HDR)");
    machine.net("ib1", "b", "up", "-1");
    machine.infiniband("mlx5_1", "b", "1: DOWN", "200 Gb/sec (4X HDR)");
    machine.infiniband("mlx5_2", "c", "4: ACTIVE", "200 Gb/sec (4X HDR)");
    assert_choice(choose(machine, "0-3"), "ib0", "mlx5_0", "near CPUs 0-3");
    assert_choice(choose(machine, "4-7"), "", "mlx5_2", "near CPUs 4-7");
    assert_choice(choose(machine, "4-7", 0, "", "mlx5_0"), "ib0", "mlx5_0", "FABRIC_IFACE");
    assert_string_equal(words(choose(machine, "5")).c_str(), "mlx5_2: near CPUs 5");
}

void a_slow_port_is_no_choice_beside_a_fast_one(void**)
{
    Machine machine;
    machine.slot("a", "0-3", "0");
    machine.slot("b", "4-7", "1");
    machine.net("eth0", "a", "up", "1000");
    machine.net("eth1", "b", "up", "100000");
    assert_choice(choose(machine, "0-3"), "eth1", "", "the fastest that is up");
}

void of_equal_ethernets_none_is_chosen(void**)
{
    Machine machine;
    machine.net("eth0", "a", "up", "10000");
    assert_choice(choose(machine, "0"), "eth0", "", "the only one of its kind that is up");
    machine.net("eth1", "b", "up", "10000");
    assert_choice(choose(machine, "0"), "", "", "2 Ethernets are equally fast: FABRIC_IFACE");
    machine.write("devices/pci0000:00/b/net/eth1/master/ifindex", "7");  // it went into a bond
    assert_choice(choose(machine, "0"), "eth0", "", "the only one");
}

void a_virtio_device_is_where_its_pci_parent_is(void**)
{
    Machine machine;
    machine.node(0, "0-3", "10");
    machine.slot("a", "0-3", "0");
    machine.net("eth0", "a/virtio0");
    const auto nics = machine.nics();
    assert_int_equal(nics.size(), 1);
    assert_true(nics[0].near == (Cpus{{0, 3}}));
}

void without_a_list_of_cpus_the_node_tells_them(void**)
{
    Machine machine;
    machine.node(0, "0-3", "10");
    machine.slot("a", "", "0");
    machine.slot("b", "", "-1");
    machine.net("hsn0", "a");
    machine.net("hsn1", "b");
    assert_true(machine.nics()[0].near == (Cpus{{0, 3}}));
    assert_true(machine.nics()[1].near.empty());
    assert_choice(choose(machine, "2", 1), "hsn0", "", "near CPUs 2");
}

void a_map_comes_before_sys_and_fabric_iface_before_the_map(void**)
{
    Machine machine;
    two_sockets(machine);
    const char* map = "hsn3=0-7;cxi2=8-15;hsn9=16-31";
    assert_choice(choose(machine, "0-3", 0, map), "hsn3", "cxi3", "DDSTORE_NIC_MAP: that of CPUs");
    assert_choice(choose(machine, "6-10", 0, map), "hsn2", "cxi2", "DDSTORE_NIC_MAP");
    assert_choice(choose(machine, "6-9", 1, map), "hsn3", "cxi3", "one of 2 by rank of the node");
    assert_choice(choose(machine, "16-20", 0, map), "hsn2", "cxi2", "hsn9 is not here; near", true);
    assert_choice(choose(machine, "48", 0, map), "hsn2", "cxi2", "no interface for CPUs 48", true);
    assert_choice(choose(machine, "0-3", 0, map, "hsn1"), "hsn1", "cxi1", "FABRIC_IFACE");
    assert_choice(choose(machine, "0-3", 0, map, "eth0"), "eth0", "", "FABRIC_IFACE");
    assert_choice(choose(machine, "0-3", 0, map, "ib7"), "hsn3", "cxi3",
                  "FABRIC_IFACE: ib7 is not here; DDSTORE_NIC_MAP: that of CPUs 0-3", true);
}

void the_environment_and_the_affinity_of_this_process_count(void**)
{
    const Cpus mine = *allowed_cpus();
    cpu_set_t set;
    assert_int_equal(sched_getaffinity(0, sizeof set, &set), 0);
    assert_int_equal(count(mine), CPU_COUNT(&set));
    const int cpu = mine.front().first;
    Machine machine;
    machine.slot("a", std::to_string(cpu).c_str(), "0");
    machine.slot("b", "65000", "1");
    machine.net("hsn0", "b");
    machine.net("hsn1", "a");
    machine.net("hsn2", "b");
    assert_choice(*near_nic("", 0, machine.root()), "hsn1", "", "near");
    setenv("DDSTORE_NIC_MAP", ("hsn2=" + words(mine)).c_str(), 1);
    assert_choice(*near_nic("", 0, machine.root()), "hsn2", "", "DDSTORE_NIC_MAP");
    assert_choice(*near_nic("hsn0=" + words(mine), 0, machine.root()), "hsn0", "",
                  "option nic_map");
    setenv("FABRIC_IFACE", "hsn1", 1);
    assert_choice(*near_nic("hsn0=" + words(mine), 0, machine.root()), "hsn1", "", "FABRIC_IFACE");
    setenv("DDSTORE_NIC_MAP", "hsn2=-1", 1);
    unit::assert_says(near_nic("", 0, machine.root()).error().text, "DDSTORE_NIC_MAP: piece 1");
    unit::assert_says(near_nic("x", 0, machine.root()).error().text, "option nic_map: piece 1");
    unsetenv("DDSTORE_NIC_MAP");
    unsetenv("FABRIC_IFACE");
}

void this_machine_can_be_asked(void**)
{
    const auto choice = near_nic("", 0);
    assert_true(bool(choice));
    print_message("%s\n", words(*choice).c_str());
    assert_false(choice->why.empty());
}

}  // namespace

int main()
{
    unsetenv("DDSTORE_NIC_MAP");
    unsetenv("FABRIC_IFACE");
    const CMUnitTest tests[] = {
        cmocka_unit_test(a_map_tells_the_cpus_of_each_interface),
        cmocka_unit_test(junk_in_a_map_is_named_with_its_place),
        cmocka_unit_test(a_cpu_with_two_interfaces_is_refused),
        cmocka_unit_test(a_map_of_a_megabyte_is_read_or_refused_at_once),
        cmocka_unit_test(a_process_of_one_socket_gets_an_interface_of_it),
        cmocka_unit_test(a_process_across_sockets_goes_by_where_most_of_it_is),
        cmocka_unit_test(an_interface_that_is_down_is_passed_over),
        cmocka_unit_test(without_one_near_the_distance_of_the_nodes_decides),
        cmocka_unit_test(names_are_in_the_order_of_their_numbers),
        cmocka_unit_test(a_machine_without_interfaces_gets_none),
        cmocka_unit_test(without_sys_what_is_named_is_believed),
        cmocka_unit_test(infiniband_is_joined_to_its_network_device),
        cmocka_unit_test(a_slow_port_is_no_choice_beside_a_fast_one),
        cmocka_unit_test(of_equal_ethernets_none_is_chosen),
        cmocka_unit_test(a_virtio_device_is_where_its_pci_parent_is),
        cmocka_unit_test(without_a_list_of_cpus_the_node_tells_them),
        cmocka_unit_test(a_map_comes_before_sys_and_fabric_iface_before_the_map),
        cmocka_unit_test(the_environment_and_the_affinity_of_this_process_count),
        cmocka_unit_test(this_machine_can_be_asked),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
