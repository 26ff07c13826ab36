#include "transport/kernels/rule.hpp"

#include "transport/kernels/kernel.h"

namespace dds {
namespace {

constexpr size_t kAny = size_t{1} << 63;
constexpr uint32_t block(uint32_t bytes) { return bytes << DDS_BLOCK_SHIFT; }

// Measured on Zen 5 (48 KiB L1, 1 MiB L2, AVX-512, FSRM).
constexpr Rule kStringsOne[] = {
    {4096, DDS_COPY_VECTOR, 0},
    {65536, DDS_COPY_STRING | block(4096), 4096},
    {kAny, DDS_COPY_STRING, 0},
};
constexpr Rule kStringsBatch[] = {
    {4096, DDS_COPY_VECTOR, 8192},
    {65536, DDS_COPY_STRING | block(4096), 4096},
    {kAny, DDS_COPY_STRING, 0},
};
constexpr Rule kLoopsOne[] = {
    {4096, DDS_COPY_VECTOR, 0},
    {65536, DDS_COPY_VECTOR | block(1024), 4096},
    {kAny, DDS_COPY_MEMCPY, 0},
};
constexpr Rule kLoopsBatch[] = {
    {4096, DDS_COPY_VECTOR, 8192},
    {65536, DDS_COPY_VECTOR | block(1024), 4096},
    {kAny, DDS_COPY_MEMCPY, 0},
};

constexpr RuleSet kStrings{"fast short strings", kStringsOne, kStringsBatch, 65537, 2.0};
constexpr RuleSet kLoops{"no fast short strings", kLoopsOne, kLoopsBatch, 65537, 2.0};

struct Entry {
    bool (*fits)(const Processor&);
    const RuleSet& rules;
};
constexpr Entry kTable[] = {
    // the first that fits
    {[](const Processor& cpu) { return cpu.fast_short_strings; }, kStrings},
    {[](const Processor&) { return true; }, kLoops},
};

}  // namespace

const RuleSet& rules_for(const Processor& cpu)
{
    const Entry* entry = kTable;
    while (!entry->fits(cpu))
        entry++;
    return entry->rules;
}

}  // namespace dds
