#include "transport/cpus.hpp"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

namespace dds {
namespace {

std::optional<int> parse_cpu(std::string_view text)
{
    int cpu = 0;
    const char* end = text.data() + text.size();
    if (text.empty() || text.front() == '-')
        return std::nullopt;
    const auto [stopped, error] = std::from_chars(text.data(), end, cpu);
    if (error != std::errc() || stopped != end || cpu > kMostCpu)
        return std::nullopt;
    return cpu;
}

}  // namespace

Cpus unite(std::vector<CpuRange> ranges)
{
    std::ranges::sort(ranges, {}, &CpuRange::first);
    Cpus united;
    for (const CpuRange& range : ranges)
        if (!united.empty() && range.first <= united.back().last + 1)
            united.back().last = std::max(united.back().last, range.last);
        else
            united.push_back(range);
    return united;
}

bool has(const Cpus& cpus, int cpu)
{
    const auto after = std::ranges::upper_bound(cpus, cpu, {}, &CpuRange::first);
    return after != cpus.begin() && cpu <= std::prev(after)->last;
}

size_t count(const Cpus& cpus)
{
    size_t n = 0;
    for (const CpuRange& range : cpus)
        n += static_cast<size_t>(range.last - range.first + 1);
    return n;
}

size_t overlap(const Cpus& a, const Cpus& b)
{
    size_t n = 0;
    for (auto left = a.begin(), right = b.begin(); left != a.end() && right != b.end();) {
        const int first = std::max(left->first, right->first);
        const int last = std::min(left->last, right->last);
        if (first <= last)
            n += static_cast<size_t>(last - first + 1);
        (left->last < right->last ? left : right)++;
    }
    return n;
}

std::string words(const Cpus& cpus)
{
    std::string text;
    for (const CpuRange& range : cpus) {
        text += (text.empty() ? "" : ",") + std::to_string(range.first);
        if (range.last > range.first)
            text += "-" + std::to_string(range.last);
    }
    return text;
}

std::optional<CpuRange> parse_range(std::string_view text)
{
    const size_t dash = text.find('-');
    const auto first = parse_cpu(text.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : parse_cpu(text.substr(dash + 1));
    if (!first || !last || *last < *first)
        return std::nullopt;
    return CpuRange{*first, *last};
}

Cpus parse_cpus(std::string_view text)
{
    std::vector<CpuRange> ranges;
    while (!text.empty()) {
        const size_t comma = std::min(text.find(','), text.size());
        if (const auto range = parse_range(text.substr(0, comma)))
            ranges.push_back(*range);
        text.remove_prefix(std::min(comma + 1, text.size()));
    }
    return unite(std::move(ranges));
}

Result<Cpus> allowed_cpus()
{
    // The kernel refuses a set that is smaller than its own, and tells its size in no other way.
    for (size_t most = CPU_SETSIZE; most <= kMostCpu + 1; most *= 2) {
        std::vector<cpu_set_t> set(most / CPU_SETSIZE);
        const size_t bytes = set.size() * sizeof(cpu_set_t);
        if (sched_getaffinity(0, bytes, set.data()) != 0) {
            if (errno == EINVAL)
                continue;
            break;
        }
        std::vector<CpuRange> ranges;
        for (int cpu = 0; cpu < static_cast<int>(most); cpu++)
            if (CPU_ISSET_S(static_cast<size_t>(cpu), bytes, set.data()))
                ranges.push_back({cpu, cpu});
        return unite(std::move(ranges));
    }
    return fail_errno(errno, "sched_getaffinity");
}

}  // namespace dds
