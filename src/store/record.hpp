// Records: what a core job of method 2 leaves in a shared directory, by which readers of other jobs
// find its rows.  One core record a store, written once: who its ranks are and where each is met; one
// record a variable: what it is, who holds which rows, and where they lie.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace dds {

using StoreId = std::array<unsigned char, 16>;

struct CoreRecord {
    static constexpr size_t kMostAddress = 256, kMostSocket = 96, kMostProvider = 64;

    struct Rank {
        std::array<unsigned char, 16> node{};  // NodeId
        uint64_t incarnation = 0;
        uint32_t uid = 0;
        std::string address;  // of its endpoint, in the address format below; empty: it has none
        std::string socket;   // the path socket that hands out descriptors; empty: there is none
        bool operator==(const Rank&) const = default;
    };

    StoreId store{};
    uint64_t epoch = 0;     // of the store: random, not 0
    uint64_t sequence = 0;  // the later of two is the higher
    std::string provider;   // empty: no wire
    uint32_t protocol = 0;  // FI_PROTO_*: two providers of one name may speak two
    uint32_t address_format = 0;
    std::vector<Rank> ranks;
    bool operator==(const CoreRecord&) const = default;
};

struct VariableRecord {
    static constexpr size_t kMostMeta = 64 << 10, kMostKey = 256, kMostDims = 8;

    struct Segment {
        uint32_t rank = 0;
        uint32_t id = 0;
        uint64_t offset = 0;  // of the shard
        uint64_t bytes = 0;   // of the segment
        std::vector<std::byte> key;
        bool operator==(const Segment&) const = default;
    };

    StoreId store{};
    uint64_t epoch = 0;     // the core record's
    uint64_t sequence = 0;  // of this name: the later of two is the higher
    int64_t published = 0;  // dds_publish; 0: none
    std::string name;
    int32_t type = 0;
    uint32_t flags = 0;
    uint64_t itemsize = 0;
    int64_t disp = 0;
    std::vector<int64_t> shape;  // of a row; empty: disp alone
    std::vector<std::byte> meta;
    std::vector<int64_t> rows;      // a rank
    std::vector<Segment> segments;  // a rank whose shard has bytes, in rank order
    bool operator==(const VariableRecord&) const = default;
};

// 65,536 ranks with addresses or keys of 256 bytes fit.
constexpr size_t kMostRecord = size_t{64} << 20;
constexpr size_t kRecordHeader = 64;  // bytes that are checked by themselves

// ARG where a reader would not take it, LIMIT where it is too long.
Result<std::vector<std::byte>> write_record(const CoreRecord& record);
Result<std::vector<std::byte>> write_record(const VariableRecord& record);

// VERSION where it was written by a release whose records this one cannot understand, CORRUPT where
// it is none, is damaged or contradicts itself.  Takes memory for at most three times `file`.
Result<CoreRecord> read_core_record(std::span<const std::byte> file);
Result<VariableRecord> read_variable_record(std::span<const std::byte> file);

// The same of the first bytes of a file of `file_bytes`: whether the rest is worth reading.
Result<void> check_record_start(std::span<const std::byte> start, uint64_t file_bytes);
// Whether bytes that are CORRUPT may yet become a record: a file system may show fewer bytes of a
// new file than it has, or zeros in their place (NFS).
bool may_yet_come(std::span<const std::byte> file, uint64_t file_bytes);

// STALE where the variable belongs to another store, or to another life of this one.
Result<void> check_together(const VariableRecord& variable, const CoreRecord& core);

// What both sides hold a record to; `code` is the class of a refusal.
Result<void> check_record(const CoreRecord& record, int code);
Result<void> check_record(const VariableRecord& record, int code);

}  // namespace dds
