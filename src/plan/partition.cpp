#include "plan/partition.hpp"

#include <algorithm>

#include "base/checked.hpp"

namespace dds {
namespace {

// At most; at least half of it. A row in a bucket that a border cuts costs a mispredicted step half of
// the time: with 4 buckets a rank that is every fifth row, with 16 every twentieth.
constexpr int kBucketsARank = 16;
constexpr int kMaxSteps = 8;  // more shards than that in a bucket are searched

}  // namespace

Result<std::shared_ptr<const Partition>> Partition::make(std::span<const int64_t> rows)
{
    if (rows.empty() || rows.size() > kMaxRanks)
        return fail(DDS_ERR_LIMIT, "%zu ranks: a store has 1 to %d", rows.size(), kMaxRanks);
    std::shared_ptr<Partition> made(new Partition);
    made->first_.reserve(rows.size() + 1);
    int64_t total = 0;
    for (size_t rank = 0; rank < rows.size(); rank++) {
        if (rows[rank] < 0)
            return fail_rank(DDS_ERR_ARG, static_cast<int>(rank), "rank %zu: %lld rows", rank,
                             static_cast<long long>(rows[rank]));
        made->first_.push_back(total);
        if (rows[rank] > 0) {
            made->starts_.push_back(total);
            made->rank_of_.push_back(static_cast<int32_t>(rank));
        }
        const auto sum = checked_add(total, rows[rank]);
        if (!sum)
            return fail_rank(DDS_ERR_OVERFLOW, static_cast<int>(rank),
                             "the rows of ranks 0 to %zu together pass 2^63 - 1", rank);
        total = *sum;
    }
    made->first_.push_back(total);
    made->starts_.push_back(total);
    made->build_buckets();
    return std::shared_ptr<const Partition>(std::move(made));
}

void Partition::build_buckets()
{
    const int n = shards();
    kind_ = n == 0 ? Kind::none : n == 1 ? Kind::one : n == 2 ? Kind::two : Kind::buckets;
    if (n == 0)
        return;
    while (total() >> shift_ > int64_t{kBucketsARank} * n)
        shift_++;
    const int64_t count = ((total() - 1) >> shift_) + 1;
    buckets_.resize(static_cast<size_t>(count) + 1);
    int shard = 0, most = 0;
    for (int64_t bucket = 0; bucket < count; bucket++) {
        const int before = shard;
        while (shard + 1 < n && starts_[static_cast<size_t>(shard) + 1] <= bucket << shift_)
            shard++;
        buckets_[static_cast<size_t>(bucket)] = static_cast<uint16_t>(shard);
        most = std::max(most, shard - before);
    }
    buckets_.back() = static_cast<uint16_t>(n - 1);
    most = std::max(most, n - 1 - shard);
    if (kind_ == Kind::buckets && most > kMaxSteps)
        kind_ = Kind::skewed;
}

int Partition::shard_of_rank(int rank) const
{
    const auto at = std::lower_bound(rank_of_.begin(), rank_of_.end(), rank);
    return at != rank_of_.end() && *at == rank ? static_cast<int>(at - rank_of_.begin()) : -1;
}

int Partition::shard(int64_t row) const
{
    return kind_ == Kind::skewed ? shard_by_search(starts(), buckets(), shift_, row)
                                 : shard_by_bucket(starts(), buckets(), shift_, row);
}

uint64_t Partition::hash() const
{
    uint64_t hash = 0x9e3779b97f4a7c15u;
    for (const int64_t row : first_)
        hash = (hash ^ static_cast<uint64_t>(row)) * 0xbf58476d1ce4e5b9u + (hash >> 29);
    return hash;
}

size_t Partition::bytes() const
{
    return sizeof *this + first_.capacity() * sizeof(int64_t) +
           starts_.capacity() * sizeof(int64_t) + rank_of_.capacity() * sizeof(int32_t) +
           buckets_.capacity() * sizeof(uint16_t);
}

}  // namespace dds
