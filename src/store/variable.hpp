// A variable: what its rows are, which rank holds which, and where they lie.  Immutable once it is in
// the table, but for its counts.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "memory/arena.hpp"
#include "plan/partition.hpp"
#include "store/profile.hpp"
#include "transport/kernels/kernel.h"

namespace dds {

// What a read on the node looks at.  Addresses are those of the shard less its first row, so that a
// row's address is base + row * bytes.
struct Mapped {
    uint64_t total = 0;  // rows
    size_t row = 0;      // bytes
    const std::byte* base0 = nullptr;
    const std::byte* base1 = nullptr;
    int64_t split = INT64_MAX;  // two shards: the second's first row
    const std::byte* const* bases = nullptr;
    const int64_t* starts = nullptr;
    const uint16_t* buckets = nullptr;
    int32_t shards = 0;
    int32_t own = -1;  // our shard, -1: no rows
    uint8_t shift = 0;
    Partition::Kind kind = Partition::Kind::none;
    bool whole = false;  // every row is mapped here: no wire is needed
    bool profiled = false;
    bool tiny = false;  // short rows, by the kernels that find them themselves:
    dds_cut cut{};
};

struct Variable {
    Mapped mapped;

    std::string name;
    uint16_t id = 0;  // the same on every rank
    uint64_t order = 0;
    int type = 0;
    uint32_t flags = 0;
    int64_t disp = 0;
    size_t itemsize = 0;
    std::vector<int64_t> shape;
    std::vector<std::byte> meta;

    std::shared_ptr<const Partition> partition;
    struct Place {
        uint64_t offset;
        uint32_t segment;
        bool wired;  // read by a transport, not by loads
    };
    std::vector<Place> places;            // a shard
    std::vector<const std::byte*> bases;  // a shard; NULL where wired
    bool in_place = false;                // shards are the callers' own memory
    bool wired_somewhere = false;         // some rank needs a transport: all know

    Block block;                    // our shard in library memory
    std::byte* own_data = nullptr;  // our shard, wherever it is
    int64_t own_rows = 0;

    std::atomic<int64_t> version{0};  // last published

    Profile profile;  // where `mapped.profiled`

    std::vector<std::shared_ptr<const void>> holds;  // of what only reads: memory that bases are in

    void map();                              // fill `mapped` from the rest
    std::shared_ptr<Variable> twin() const;  // without counts, holds and `mapped`
    size_t table_bytes() const;
};

}  // namespace dds
