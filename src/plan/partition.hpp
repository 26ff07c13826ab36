// Which rank holds which rows: an immutable table, made once from the number of rows of each rank and
// shared by every variable that is cut the same way.  Finding an owner costs a mask for two shards
// and a bucket from three up; a branch or a binary search on a random row is mispredicted every
// second time (190 ns and more a batch of 128).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.hpp"

namespace dds {

class Partition {
public:
    static constexpr int kMaxRanks = 65536;  // a bucket entry has 16 bits

    // OVERFLOW where the rows of all ranks pass 2^63 - 1, ARG where a number is negative.
    static Result<std::shared_ptr<const Partition>> make(std::span<const int64_t> rows);

    int ranks() const { return static_cast<int>(first_.size()) - 1; }
    int64_t total() const { return first_.back(); }
    int64_t first(int rank) const { return first_[static_cast<size_t>(rank)]; }
    int64_t rows(int rank) const { return first(rank + 1) - first(rank); }
    std::span<const int64_t> firsts() const { return first_; }

    // Shards are the ranks that have rows, in order; tables of addresses are indexed by shard.
    int shards() const { return static_cast<int>(rank_of_.size()); }
    int rank_of(int shard) const { return rank_of_[static_cast<size_t>(shard)]; }
    int shard_of_rank(int rank) const;  // -1: it has no rows
    int64_t start(int shard) const { return starts_[static_cast<size_t>(shard)]; }

    // The shard of a row, 0 <= row < total().
    int shard(int64_t row) const;
    int owner(int64_t row) const { return rank_of(shard(row)); }

    // What the read path looks at, without a call.
    enum class Kind : uint8_t { none, one, two, buckets, skewed };
    Kind kind() const { return kind_; }
    const int64_t* starts() const { return starts_.data(); }
    const uint16_t* buckets() const { return buckets_.data(); }
    int shift() const { return shift_; }

    bool operator==(const Partition& other) const { return first_ == other.first_; }
    uint64_t hash() const;
    size_t bytes() const;

private:
    Partition() = default;
    void build_buckets();

    std::vector<int64_t> first_;   // ranks + 1
    std::vector<int64_t> starts_;  // shards + 1: first rows of ranks that have rows, then the total
    std::vector<int32_t> rank_of_;   // shards
    std::vector<uint16_t> buckets_;  // the shard of each bucket's first row, and one more
    int shift_ = 0;                  // a bucket is 2^shift rows
    Kind kind_ = Kind::none;
};

// The shard of `row` by the bucket table: a few steps from the bucket's first.
inline int shard_by_bucket(const int64_t* starts, const uint16_t* buckets, int shift, int64_t row)
{
    int shard = buckets[row >> shift];
    while (row >= starts[shard + 1])
        shard++;
    return shard;
}

// The same where many shards may lie in one bucket (a few ranks hold nearly everything).
inline int shard_by_search(const int64_t* starts, const uint16_t* buckets, int shift, int64_t row)
{
    int low = buckets[row >> shift], high = buckets[(row >> shift) + 1];
    while (low < high) {
        const int middle = low + (high - low + 1) / 2;
        if (starts[middle] <= row)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

}  // namespace dds
