#include "transport/kernels/rule.hpp"

#include "transport/kernels/kernel.h"

namespace dds {
namespace {

constexpr size_t kAny = size_t{1} << 63;
constexpr uint32_t block(uint32_t bytes) { return bytes << DDS_BLOCK_SHIFT; }

// Zen 5 (48 KiB L1, 1 MiB L2, AVX-512): strings are the best from 4 KiB on.
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

// Zen 3 (32 KiB L1, 512 KiB L2, AVX2): strings lose 5 % although it has FSRM, short blocks win, and
// streaming does as soon as the batch is half of the last cache.
constexpr Rule kZen3One[] = {
    {65536, DDS_COPY_VECTOR, 0},
    {kAny, DDS_COPY_MEMCPY, 0},
};
constexpr Rule kZen3Batch[] = {
    {64, DDS_COPY_VECTOR, 4096},   {512, DDS_COPY_VECTOR, 16384},
    {2048, DDS_COPY_VECTOR, 8192}, {32768, DDS_COPY_VECTOR | block(1024), 2048},
    {kAny, DDS_COPY_MEMCPY, 0},
};

// Zen 4 (32 KiB L1, 1 MiB L2, AVX-512): what is prefetched early costs more than it saves.
constexpr Rule kZen4Batch[] = {
    {64, DDS_COPY_VECTOR, 2048},
    {2048, DDS_COPY_VECTOR, 4096},
    {8192, DDS_COPY_VECTOR | block(1024), 2048},
    {32768, DDS_COPY_STRING | block(1024), 4096},
    {kAny, DDS_COPY_MEMCPY, 0},
};

// Where rep movsb has a slow start: what came second on Zen 5.
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
constexpr RuleSet kZen3{"Zen 3", kZen3One, kZen3Batch, 16385, 0.4};
constexpr RuleSet kZen4{"Zen 4", kZen3One, kZen4Batch, 16385, 0.4};
constexpr RuleSet kLoops{"no fast short strings", kLoopsOne, kLoopsBatch, 65537, 2.0};

struct Entry {
    bool (*fits)(const Processor&);
    const RuleSet& rules;
};
bool is_zen3(const Processor& cpu)
{
    return cpu.vendor == Processor::Vendor::amd && cpu.family == 25;
}
bool is_zen4(const Processor& cpu) { return is_zen3(cpu) && cpu.avx512 && cpu.fast_short_strings; }
bool has_strings(const Processor& cpu) { return cpu.fast_short_strings; }
bool is_any(const Processor&) { return true; }

constexpr Entry kTable[] = {
    {is_zen4, kZen4}, {is_zen3, kZen3}, {has_strings, kStrings}, {is_any, kLoops}};

}  // namespace

const RuleSet& rules_for(const Processor& cpu)
{
    const Entry* entry = kTable;  // the first that fits
    while (!entry->fits(cpu))
        entry++;
    return entry->rules;
}

}  // namespace dds
