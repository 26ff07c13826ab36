// What the processor under us is and has, asked once: vendor, family, what concerns copies, caches.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dds {

struct Processor {
    enum class Vendor : uint8_t { other, amd, intel };

    Vendor vendor = Vendor::other;
    uint32_t family = 0;  // AMD: 25 is Zen 3 and 4, 26 is Zen 5
    bool avx2 = false;    // each only where the system saves its registers
    bool avx512 = false;
    bool fast_strings = false;        // ERMS: rep movsb is not slower than a loop for long copies
    bool fast_short_strings = false;  // FSRM: nor for short ones
    bool avx512_half = false;         // AVX-512 FP16
    size_t own_cache = 0;   // bytes of a core's L2; a guess where the machine does not tell
    size_t last_cache = 0;  // and of the largest
};

Processor ask_processor();

}  // namespace dds
