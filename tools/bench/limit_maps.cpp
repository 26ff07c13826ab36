#include "limit_maps.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "content.hpp"
#include "control.hpp"

namespace bench {
namespace {

constexpr size_t kAlignment = 8;  // of a shard, at least
constexpr size_t kProof = 256;    // bytes compared at its begin and its end

std::vector<Mapped> shared_mappings()
{
    std::vector<Mapped> list;
    unsigned long last = 0;
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
        uintptr_t begin, end;
        unsigned long file;
        char access[5];
        if (sscanf(line.c_str(), "%lx-%lx %4s %*s %*s %lu", &begin, &end, access, &file) != 4)
            continue;
        if (access[0] != 'r' || access[3] != 's' || line.find("memfd:") == std::string::npos)
            continue;
        const auto* from = reinterpret_cast<const char*>(begin);
        const auto* to = reinterpret_cast<const char*>(end);
        // The kernel splits a mapping whose parts were advised of different things.
        if (!list.empty() && list.back().end == from && last == file)
            list.back().end = to;
        else
            list.push_back({from, to});
        last = file;
    }
    return list;
}

struct Proof {
    std::string first, last;
};

bool holds(const char* at, size_t bytes, const Proof& proof)
{
    return !memcmp(at, proof.first.data(), proof.first.size()) &&
           !memcmp(at + bytes - proof.last.size(), proof.last.data(), proof.last.size());
}

// Only pages that are there: to look at a hole would fill it.
std::vector<unsigned char> pages_of(const Mapped& mapping, size_t page)
{
    const size_t bytes = static_cast<size_t>(mapping.end - mapping.begin);
    std::vector<unsigned char> there(bytes / page);
    if (mincore(const_cast<char*>(mapping.begin), bytes, there.data()))
        there.clear();
    return there;
}

const char* search(const Mapped& mapping, size_t bytes, const Proof& proof)
{
    static const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    const auto there = pages_of(mapping, page);
    uint64_t word;
    memcpy(&word, proof.first.data(), sizeof word);
    for (size_t p = 0; p < there.size(); p++) {
        if (!(there[p] & 1))
            continue;
        for (const char* at = mapping.begin + p * page; at < mapping.begin + (p + 1) * page;
             at += kAlignment) {
            if (static_cast<size_t>(mapping.end - at) < bytes)
                return nullptr;
            uint64_t here;
            memcpy(&here, at, sizeof here);
            if (here == word && holds(at, bytes, proof))
                return at;
        }
    }
    return nullptr;
}

}  // namespace

const char* find_shard(uint64_t seed, uint64_t from, size_t bytes, const char* own,
                       size_t own_bytes)
{
    if (bytes < 8)
        return nullptr;
    const size_t part = std::min(bytes, kProof);
    Proof proof{std::string(part, '\0'), std::string(part, '\0')};
    fill(seed, from, part, proof.first.data());
    fill(seed, from + bytes - part, part, proof.last.data());
    for (const Mapped& mapping : shared_mappings()) {
        if (own >= mapping.begin && own + own_bytes <= mapping.end)
            continue;
        if (const char* at = search(mapping, bytes, proof))
            return at;
    }
    return nullptr;
}

size_t mappings() { return shared_mappings().size(); }

Mapped mapping_of(const char* at)
{
    for (const Mapped& mapping : shared_mappings())
        if (at >= mapping.begin && at < mapping.end)
            return mapping;
    die("the rows of this rank are in no shared mapping");
}

}  // namespace bench
