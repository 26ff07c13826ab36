// What a batch asks of the wires: runs, each a stretch of one rank's shard that lands in one stretch
// of the destination.  Pure arithmetic over a partition.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plan/partition.hpp"

namespace dds {

struct WireRun {
    int32_t shard;
    uint64_t from;  // byte in the shard
    uint64_t to;    // byte in the destination
    uint64_t bytes;
    int64_t first, count;  // the batch's rows [first, first + count) that it carries (part of)
};

// The runs of those rows whose shard is marked in `wired` (one flag a shard), grouped by shard and in
// the batch's order within a shard; rows that follow each other in both places are merged, and no
// run is longer than `most` bytes.  Every row must be in range.  `runs` is cleared first.
void plan_runs(const Partition& partition, std::span<const int64_t> rows, uint64_t row_bytes,
               uint64_t most, std::span<const uint8_t> wired, std::vector<WireRun>& runs);

// One such run, cut where it is longer than `most`; appended to `runs`.
void split_run(WireRun run, uint64_t row_bytes, uint64_t most, std::vector<WireRun>& runs);

}  // namespace dds
