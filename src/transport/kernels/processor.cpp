#include "transport/kernels/processor.hpp"

#include <cpuid.h>

#include <algorithm>

namespace dds {
namespace {

constexpr size_t kUsualCache = size_t{32} << 20;
constexpr unsigned kLast = 7;  // of levels

Processor::Vendor vendor_of(uint32_t ebx)
{
    if (ebx == signature_AMD_ebx)
        return Processor::Vendor::amd;
    return ebx == signature_INTEL_ebx ? Processor::Vendor::intel : Processor::Vendor::other;
}

// The largest cache up to a level that a core can fill, as the processor tells: sysconf(3) sums up those of all
// dies.
size_t cache(Processor::Vendor vendor, unsigned most_level)
{
    size_t largest = 0;
    const unsigned leaf = vendor == Processor::Vendor::amd ? 0x8000001d : 4;
    unsigned a, b, c, d;
    for (unsigned i = 0; i < 16 && __get_cpuid_count(leaf, i, &a, &b, &c, &d) && a & 31; i++) {
        if ((a >> 5 & 7) > most_level)
            continue;
        const size_t ways = (b >> 22) + 1, parts = (b >> 12 & 1023) + 1, line = (b & 4095) + 1;
        largest = std::max(largest, ways * parts * line * (size_t{c} + 1));
    }
    return largest ? largest : kUsualCache;
}

}  // namespace

Processor ask_processor()
{
    Processor cpu;
    unsigned a, b, c, d;
    if (__get_cpuid(0, &a, &b, &c, &d))
        cpu.vendor = vendor_of(b);
    if (__get_cpuid(1, &a, &b, &c, &d)) {
        const unsigned base = a >> 8 & 15;
        cpu.family = base == 15 ? base + (a >> 20 & 255) : base;
    }
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) {
        cpu.fast_strings = b >> 9 & 1;
        cpu.fast_short_strings = d >> 4 & 1;
        cpu.avx512_half = d >> 23 & 1;
    }
    __builtin_cpu_init();  // these two also ask the system (XCR0)
    cpu.avx2 = __builtin_cpu_supports("avx2");
    cpu.avx512 = __builtin_cpu_supports("avx512f");
    cpu.own_cache = cache(cpu.vendor, 2);
    cpu.last_cache = cache(cpu.vendor, kLast);
    return cpu;
}

}  // namespace dds
