#include "transport/kernels/processor.hpp"

#include <cpuid.h>
#include <unistd.h>

#include <initializer_list>

namespace dds {
namespace {

constexpr size_t kUsualCache = size_t{32} << 20;

Processor::Vendor vendor_of(uint32_t ebx)
{
    if (ebx == signature_AMD_ebx)
        return Processor::Vendor::amd;
    return ebx == signature_INTEL_ebx ? Processor::Vendor::intel : Processor::Vendor::other;
}

size_t last_cache()
{
    for (const int level : {_SC_LEVEL3_CACHE_SIZE, _SC_LEVEL2_CACHE_SIZE})
        if (const long bytes = sysconf(level); bytes > 0)
            return static_cast<size_t>(bytes);
    return kUsualCache;
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
    }
    __builtin_cpu_init();  // these two also ask the system (XCR0)
    cpu.avx2 = __builtin_cpu_supports("avx2");
    cpu.avx512 = __builtin_cpu_supports("avx512f");
    cpu.last_cache = last_cache();
    return cpu;
}

}  // namespace dds
