// How much memory is left: the limits of the cgroups this process is in, and the machine's own.
#include <algorithm>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include "memory/fill.hpp"

namespace dds {
namespace {

constexpr uint64_t kUnknown = UINT64_MAX;

uint64_t read_number(const std::string& path)
{
    std::ifstream file(path);
    std::string word;
    if (!(file >> word) || word.empty() ||
        word.find_first_not_of("0123456789") != std::string::npos)
        return kUnknown;  // missing, or "max"
    return strtoull(word.c_str(), nullptr, 10);
}

// The value of `key` in a file of "key value" lines, such as memory.stat and /proc/meminfo.
uint64_t read_field(const std::string& path, const char* key)
{
    std::ifstream file(path);
    std::string word;
    while (file >> word) {
        uint64_t value;
        if (word == key)
            return file >> value ? value : kUnknown;
        file.ignore(LONG_MAX, '\n');
    }
    return kUnknown;
}

std::string cgroup_path()
{
    std::ifstream file("/proc/self/cgroup");
    for (std::string line; std::getline(file, line);)
        if (line.rfind("0::", 0) == 0)
            return line.substr(3);
    return {};
}

uint64_t cached_in(const std::string& cgroup)
{
    uint64_t cached = 0;
    for (const char* key : {"inactive_file", "active_file"})
        if (const uint64_t value = read_field(cgroup + "/memory.stat", key); value != kUnknown)
            cached += value;
    return cached;
}

}  // namespace

std::vector<MemoryLimit> memory_limits()
{
    std::vector<MemoryLimit> limits;
    for (std::string path = cgroup_path();;) {
        const std::string dir = "/sys/fs/cgroup" + path;
        const uint64_t most = read_number(dir + "/memory.max");
        const uint64_t now = read_number(dir + "/memory.current");
        if (most != kUnknown && now != kUnknown)
            limits.push_back({dir, most, now - std::min(now, cached_in(dir))});
        const size_t slash = path.rfind('/');
        if (slash == std::string::npos)
            return limits;
        path.resize(slash);
    }
}

Result<void> check_room(size_t bytes)
{
    constexpr size_t kSmall = size_t{16} << 20;  // not worth four files
    if (bytes < kSmall)
        return {};
    for (const MemoryLimit& limit : memory_limits())
        if (bytes > limit.most - std::min(limit.most, limit.used))
            return fail(DDS_ERR_LIMIT,
                        "%zu bytes do not fit: the memory cgroup %s allows %llu and %llu "
                        "are in use; raise its memory.max or give each rank fewer rows",
                        bytes, limit.cgroup.c_str(), static_cast<unsigned long long>(limit.most),
                        static_cast<unsigned long long>(limit.used));
    const uint64_t free = read_field("/proc/meminfo", "MemAvailable:");
    const uint64_t swap = read_field("/proc/meminfo", "SwapFree:");
    if (free != kUnknown && swap != kUnknown && bytes > (free + swap) * 1024)
        return fail(DDS_ERR_LIMIT,
                    "%zu bytes do not fit: the machine has %llu left; give each rank "
                    "fewer rows",
                    bytes, static_cast<unsigned long long>((free + swap) * 1024));
    return {};
}

}  // namespace dds
