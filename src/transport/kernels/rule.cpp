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

// Intel's with AVX-512 FP16 (48 KiB L1, 2 MiB L2): the last cache is one for dozens of cores and gets
// what the L2 throws out, so a batch of twice the L2 is better written past both.
constexpr Rule kRapidsBatch[] = {
    {2048, DDS_COPY_VECTOR, 8192},
    {4096, DDS_COPY_STRING, 16384},
    {65536, DDS_COPY_STRING | block(4096), 2048},
    {kAny, DDS_COPY_VECTOR | block(4096), 2048},
};

constexpr Streaming kLastTwice{65537, &Processor::last_cache, 2.0, 0, 0};
constexpr Streaming kZenLast{16385, &Processor::last_cache, 0.4, 0, 0};
constexpr Streaming kOwnTwice{65536, &Processor::own_cache, 1.5, block(4096), 2048};

constexpr RuleSet kStrings{"fast short strings", kStringsOne, kStringsBatch, kLastTwice};
constexpr RuleSet kRapids{"Sapphire, Emerald and Granite Rapids", kStringsOne, kRapidsBatch,
                          kOwnTwice};
constexpr RuleSet kZen3{"Zen 3", kZen3One, kZen3Batch, kZenLast};
constexpr RuleSet kZen4{"Zen 4", kZen3One, kZen4Batch, kZenLast};
constexpr RuleSet kLoops{"no fast short strings", kLoopsOne, kLoopsBatch, kLastTwice};

struct Entry {
    bool (*fits)(const Processor&);
    const RuleSet& rules;
};
bool is_zen3(const Processor& cpu)
{
    return cpu.vendor == Processor::Vendor::amd && cpu.family == 25;
}
bool is_zen4(const Processor& cpu) { return is_zen3(cpu) && cpu.avx512 && cpu.fast_short_strings; }
bool is_rapids(const Processor& cpu)
{
    return cpu.vendor == Processor::Vendor::intel && cpu.avx512_half;
}
bool has_strings(const Processor& cpu) { return cpu.fast_short_strings; }
bool is_any(const Processor&) { return true; }

constexpr Entry kTable[] = {{is_zen4, kZen4},
                            {is_zen3, kZen3},
                            {is_rapids, kRapids},
                            {has_strings, kStrings},
                            {is_any, kLoops}};

}  // namespace

const RuleSet& rules_for(const Processor& cpu)
{
    const Entry* entry = kTable;  // the first that fits
    while (!entry->fits(cpu))
        entry++;
    return entry->rules;
}

}  // namespace dds
