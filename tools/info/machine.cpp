// The machine: node, processor, memory and limits, as far as they matter to a store.
#include <sched.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "base/env.hpp"
#include "ddstore.h"
#include "facts.hpp"
#include "memory/fill.hpp"
#include "node/identity.hpp"
#include "transport/gather.hpp"
#include "transport/kernels/rule.hpp"

namespace info {
namespace {

// The value of `key` in a file of "key : value" lines.
std::string field_of(const char* path, const std::string& key)
{
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);)
        if (line.starts_with(key)) {
            const size_t at = line.find_first_not_of(" \t:", key.size());
            return at == std::string::npos ? "" : line.substr(at);
        }
    return {};
}

Value kibi_of(const char* key)
{
    const std::string text = field_of("/proc/meminfo", key);
    return text.empty() ? Value() : bytes(strtoull(text.c_str(), nullptr, 10) * 1024);
}

// "always [madvise] never": the word in brackets.
std::string chosen(const std::string& words)
{
    const size_t from = words.find('['), to = words.find(']');
    return from == std::string::npos || to < from ? words : words.substr(from + 1, to - from - 1);
}

Value limit_of(rlim_t value, bool in_bytes)
{
    if (value == RLIM_INFINITY)
        return Value("unlimited");
    return in_bytes ? bytes(value) : Value(value);
}

void tell_limit(Sheet& sheet, const char* name, int which, bool in_bytes, const char* words)
{
    rlimit limit;
    if (getrlimit(static_cast<__rlimit_resource_t>(which), &limit) != 0)
        return;
    const Value soft = limit_of(limit.rlim_cur, in_bytes),
                hard = limit_of(limit.rlim_max, in_bytes);
    sheet.fact(name, object({{"soft", soft}, {"hard", hard}}),
               "at most " + hard.text + "; " + words);
}

// Of the cgroups around this process the one that has the least left.
void tell_cgroup(Sheet& sheet)
{
    const auto limits = dds::memory_limits();
    const auto left = [](const dds::MemoryLimit& limit) {
        return limit.most - std::min(limit.most, limit.used);
    };
    const auto least = std::ranges::min_element(limits, {}, left);
    if (least == limits.end()) {
        sheet.fact("cgroup", Value(), "no limit but the machine's");
        return;
    }
    const Value used = bytes(least->used), most = bytes(least->most);
    sheet.fact("cgroup",
               object({{"directory", least->cgroup}, {"most_bytes", most}, {"used_bytes", used}}),
               used.text + " of " + most.text + " in use; shards are charged to it");
}

}  // namespace

std::string line_of(const char* path)
{
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

std::string host()
{
    char name[256] = "";
    gethostname(name, sizeof name - 1);
    return name;
}

std::string node()
{
    const auto id = dds::node_identity();
    if (!id)
        return "unknown";
    std::string digits;
    for (const unsigned char byte : *id)
        for (const int half : {byte >> 4, byte & 15})
            digits += "0123456789abcdef"[half];
    return digits;
}

void tell_library(Sheet& sheet)
{
    int major, minor, patch;
    dds_version(&major, &minor, &patch);
    const auto of = [](int a, int b, int c) {
        return std::to_string(a) + "." + std::to_string(b) + "." + std::to_string(c);
    };
    sheet.section("library");
    sheet.fact("version", of(major, minor, patch));
    sheet.fact("pid", getpid());
    sheet.fact("user", getuid());
}

void tell_node(Sheet& sheet)
{
    utsname system;
    sheet.section("node");
    sheet.fact("host", host());
    if (uname(&system) == 0)
        sheet.fact("kernel", std::string(system.sysname) + " " + system.release);
    const bool named = dds::env::text("DDSTORE_NODE").has_value();
    if (const auto id = dds::node_identity(); !id)
        sheet.problem(id.error().text);
    sheet.fact("identity", node(),
               std::string(named ? "DDSTORE_NODE" : "boot id and network namespace") +
                   "; ranks with the same one share memory");
    sheet.fact("boot_id", line_of("/proc/sys/kernel/random/boot_id"));
    const std::string scope = line_of("/proc/sys/kernel/yama/ptrace_scope");
    sheet.fact("ptrace_scope", scope.empty() ? Value() : Value(scope),
               scope.empty() || scope == "0"
                   ? "DDS_NOCOPY shards can be read where they are"
                   : "process_vm_readv may be refused: DDS_NOCOPY shards are then copied");
}

void tell_processor(Sheet& sheet)
{
    const dds::Processor cpu = dds::ask_processor();
    cpu_set_t allowed;
    sheet.section("processor");
    sheet.fact("model", field_of("/proc/cpuinfo", "model name"));
    sheet.fact("family", cpu.family);
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0)
        sheet.fact("cores_allowed", CPU_COUNT(&allowed),
                   "of " + std::to_string(sysconf(_SC_NPROCESSORS_ONLN)) + " that are online");
    const std::pair<const char*, bool> features[] = {
        {"avx2", cpu.avx2},
        {"avx512f", cpu.avx512},
        {"erms", cpu.fast_strings},
        {"fsrm", cpu.fast_short_strings},
    };
    std::vector<Value> has;
    for (const auto& [name, there] : features)
        if (there)
            has.push_back(name);
    sheet.fact("features", list(has), "of those that concern copies");
    sheet.fact("last_cache_bytes", bytes(cpu.last_cache));
    std::vector<Value> kernels;
    for (const char* name : dds::gather_kernels())
        kernels.push_back(name);
    sheet.fact("kernels", list(kernels), "row copies that run here");
    const auto asked = dds::env::text("DDSTORE_KERNEL");
    sheet.fact("kernel", dds::gather_kernel(),
               asked ? "in use: DDSTORE_KERNEL is " + *asked : std::string("in use: the best"));
    sheet.fact("rules", dds::rules_for(cpu).processor, "for which row which copy");
}

void tell_memory(Sheet& sheet)
{
    const std::string pages = "/sys/kernel/mm/transparent_hugepage/";
    sheet.section("memory");
    sheet.fact("total_bytes", kibi_of("MemTotal"));
    sheet.fact("available_bytes", kibi_of("MemAvailable"));
    tell_cgroup(sheet);
    const std::string shared = chosen(line_of((pages + "shmem_enabled").c_str()));
    const bool huge =
        shared == "advise" || shared == "always" || shared == "within_size" || shared == "force";
    sheet.fact("shmem_enabled", shared,
               huge ? "DDS_HUGEPAGES and arenas of 128 MiB or more get huge pages"
                    : "no huge pages for shards: " + pages + "shmem_enabled must say advise");
    sheet.fact("transparent_hugepage", chosen(line_of((pages + "enabled").c_str())),
               "for the caller's own memory");
    sheet.fact("page_bytes", bytes(static_cast<uint64_t>(sysconf(_SC_PAGESIZE))));
}

void tell_limits(Sheet& sheet)
{
    sheet.section("limits");
    tell_limit(sheet, "memlock_bytes", RLIMIT_MEMLOCK, true,
               "ulimit -l: what a network may register");
    tell_limit(sheet, "nofile", RLIMIT_NOFILE, false,
               "ulimit -n: a descriptor for each rank of the node and each own arena");
    tell_limit(sheet, "nproc", RLIMIT_NPROC, false, "ulimit -u: processes and threads of the user");
    tell_limit(sheet, "address_space_bytes", RLIMIT_AS, true,
               "ulimit -v: shards of all ranks of the node are mapped");
    sheet.fact("max_map_count", strtoll(line_of("/proc/sys/vm/max_map_count").c_str(), nullptr, 10),
               "mappings: one for each arena of each rank of the node");
}

}  // namespace info
