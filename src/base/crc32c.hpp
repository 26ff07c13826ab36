// CRC-32C (Castagnoli), as in iSCSI and ext4: the checksum of files and messages.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dds {

// crc32c(0, "123456789", 9) == 0xe3069283.  Continue by passing the last value.
uint32_t crc32c(uint32_t crc, const void* data, size_t bytes);

// The two ways it is computed; the first choice is made at load, by cpuid.
uint32_t crc32c_sse42(uint32_t crc, const void* data, size_t bytes);
uint32_t crc32c_table(uint32_t crc, const void* data, size_t bytes);
bool crc32c_has_sse42();

}  // namespace dds
