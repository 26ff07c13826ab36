// The bytes of a record: a header with a checksum of its own, a body of entries with another, and a
// trailer.  Integers are little endian, as this machine's.  Each entry begins with its length: a
// later minor version may append to an entry, or append entries, and what is not known is skipped.
//   core      provider, then a rank a rank
//   variable  description, partition, then a segment a shard that has bytes
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "store/record.hpp"

namespace dds::record_format {

static_assert(std::endian::native == std::endian::little);

using Magic = std::array<char, 8>;
constexpr Magic kMagic{'L', 'I', 'B', 'D', 'D', 'S', '\0', '\1'};
constexpr Magic kReversed{'\1', '\0', 'S', 'D', 'D', 'B', 'I', 'L'};
constexpr uint16_t kMajor = 1, kMinor = 0;

enum class Kind : uint32_t { core = 1, variable };

struct Header {
    Magic magic;
    uint16_t major, minor;
    Kind kind;
    StoreId store;
    uint64_t epoch;
    uint64_t sequence;
    uint64_t body_bytes;
    uint32_t body_crc;
    uint32_t header_crc;  // of all before it
};
static_assert(sizeof(Header) == kRecordHeader);

struct Trailer {
    uint64_t file_bytes;
    Magic magic;
};
static_assert(sizeof(Trailer) == 16);

struct ProviderEntry {
    uint32_t bytes;
    uint32_t protocol, address_format;
    uint32_t ranks;
    uint32_t provider_bytes;  // follow
};
static_assert(sizeof(ProviderEntry) == 20);

struct RankEntry {
    uint32_t bytes;
    uint32_t rank;
    uint32_t uid;
    uint16_t address_bytes, socket_bytes;  // follow in this order
    uint64_t incarnation;
    std::array<unsigned char, 16> node;
};
static_assert(sizeof(RankEntry) == 40);

struct DescriptionEntry {
    uint32_t bytes;
    int32_t type;
    uint32_t flags;
    uint32_t ndim;  // as many extents of 8 bytes follow, then
    uint64_t itemsize;
    int64_t disp;
    int64_t published;
    uint32_t name_bytes, meta_bytes;  // these
};
static_assert(sizeof(DescriptionEntry) == 48);

struct PartitionEntry {
    uint32_t bytes;
    uint32_t ranks;  // as many numbers of rows of 8 bytes follow
    uint32_t segments;
    uint32_t reserved;
    int64_t total;
};
static_assert(sizeof(PartitionEntry) == 24);

struct SegmentEntry {
    uint32_t bytes;
    uint32_t rank;
    uint32_t id;
    uint32_t key_bytes;  // follow
    uint64_t offset;
    uint64_t segment_bytes;
};
static_assert(sizeof(SegmentEntry) == 32);

uint32_t header_crc(const Header& header);

}  // namespace dds::record_format
