// Sets of CPUs as the kernel writes them, "0-15,64-79", and the one that this process may run on.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace dds {

constexpr int kMostCpu = 65'535;  // eight times what Linux can be built for

struct CpuRange {
    int first, last;
    bool operator==(const CpuRange&) const = default;
};

// In order, and neither overlapping nor touching: what unite() makes.
using Cpus = std::vector<CpuRange>;

Cpus unite(std::vector<CpuRange> ranges);
bool has(const Cpus& cpus, int cpu);
size_t count(const Cpus& cpus);
size_t overlap(const Cpus& a, const Cpus& b);  // how many are in both
std::string words(const Cpus& cpus);

// "7" or "4-7", digits and nothing else; nullopt for anything that is neither.
std::optional<CpuRange> parse_range(std::string_view text);
// A list of them; what is no range counts as none: the kernel's files, which have no junk.
Cpus parse_cpus(std::string_view text);

// Those that this thread may run on.
Result<Cpus> allowed_cpus();

}  // namespace dds
