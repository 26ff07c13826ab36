// The read path on the node, in line: look up, check and find every row in one pass, which also
// prefetches the first, then copy them in the caller's order.  No run list, no sort, no branch on a
// random row, no lock, no allocation, nothing shared written.
#pragma once

#include "store/store.hpp"
#include "transport/gather.hpp"

namespace dds {

// The variable of that name, by what the thread used last or by the table.
inline Variable* look_up(Store& store, Reader& reader, const char* name)
{
    const NameKey key(name);
    const __m128i now = _mm_load_si128(reinterpret_cast<const __m128i*>(key.bytes));
    const __m128i last = _mm_load_si128(reinterpret_cast<const __m128i*>(reader.key));
    const uint64_t version = store.table().version();
    if (_mm_movemask_epi8(_mm_cmpeq_epi8(now, last)) == 0xffff && reader.version == version) [[likely]] {
        auto* variable = static_cast<Variable*>(reader.variable);
        if (key.is_short || variable->name == name) [[likely]]
            return variable;
    }
    Variable* variable = store.table().find(key, name);
    if (!variable)
        return nullptr;
    reader.counters = store.counters().of(reader);
    reader.variable = variable;
    memcpy(reader.key, key.bytes, sizeof key.bytes);
    reader.version = version;
    return variable;
}

// n times `row` bytes, or SIZE_MAX where that does not fit.
inline size_t bytes_of(int64_t n, size_t row)
{
    size_t bytes;
    return __builtin_mul_overflow(static_cast<size_t>(n), row, &bytes) ? SIZE_MAX : bytes;
}

// Addresses for one pass of the copy: on the stack.
constexpr int64_t kPass = 1024;

// A row's address, and whether the row is our own, for each kind of partition.
template <class Work>
inline auto with_locator(const Mapped& v, Work work)
{
    const size_t row = v.row;
    switch (v.kind) {
    case Partition::Kind::none:
    case Partition::Kind::one: {
        const std::byte* base = v.base0;
        const int64_t own = v.own == 0;
        return work([=](int64_t g, int64_t& mine) {
            mine += own;
            return base + static_cast<size_t>(g) * row;
        });
    }
    case Partition::Kind::two: {
        // A mask: a branch on a random row is mispredicted half the time.
        const std::byte* base = v.base0;
        const std::ptrdiff_t step = v.base1 - v.base0;
        const int64_t split = v.split;
        const int64_t own0 = v.own == 0, own1 = (v.own == 1) - own0;
        return work([=](int64_t g, int64_t& mine) {
            const std::ptrdiff_t second = -static_cast<std::ptrdiff_t>(g >= split);
            mine += own0 + (own1 & second);
            return base + (step & second) + static_cast<size_t>(g) * row;
        });
    }
    case Partition::Kind::buckets:
        return work([&v, row](int64_t g, int64_t& mine) {
            const int shard = shard_by_bucket(v.starts, v.buckets, v.shift, g);
            mine += shard == v.own;
            return v.bases[shard] + static_cast<size_t>(g) * row;
        });
    case Partition::Kind::skewed: break;
    }
    return work([&v, row](int64_t g, int64_t& mine) {
        const int shard = shard_by_search(v.starts, v.buckets, v.shift, g);
        mine += shard == v.own;
        return v.bases[shard] + static_cast<size_t>(g) * row;
    });
}

// The first of n rows that is out of range, or n.
inline int64_t first_bad(const Mapped& v, int64_t n, const int64_t* rows)
{
    int64_t bad = 0;
    const auto last = static_cast<int64_t>(v.total) - 1;
    for (int64_t i = 0; i < n; i++)
        bad |= rows[i] | (last - rows[i]);
    if (bad >= 0) [[likely]]
        return n;
    for (int64_t i = 0;; i++)
        if (static_cast<uint64_t>(rows[i]) >= v.total)
            return i;
}

// Copy n rows of a variable that is mapped whole.  Returns the place of a bad row, before a byte has
// moved, or n; `mine` counts the rows of our own shard.
inline int64_t gather_rows(const Mapped& v, int64_t n, const int64_t* rows, std::byte* out, int64_t& mine)
{
    if (n > kPass || v.row == 0)
        if (const int64_t bad = first_bad(v, n, rows); bad < n || v.row == 0)
            return bad;
    const std::byte* from[kPass];
    const GatherPlan plan = gather_plan(v.row, n);
    std::atomic_thread_fence(std::memory_order_acquire);
    return with_locator(v, [&](auto locate) {
        for (int64_t at = 0; at < n; at += kPass) {
            const int64_t m = std::min(kPass, n - at);
            const int64_t primed = std::min(plan.primed, m);
            int64_t i = 0;
            for (; i < primed; i++) {
                const int64_t g = rows[at + i];
                if (static_cast<uint64_t>(g) >= v.total) [[unlikely]]
                    return at + i;
                from[i] = locate(g, mine);
                gather_prime(from[i], v.row);
            }
            for (; i < m; i++) {
                const int64_t g = rows[at + i];
                if (static_cast<uint64_t>(g) >= v.total) [[unlikely]]
                    return at + i;
                from[i] = locate(g, mine);
            }
            gather(plan, from, m, v.row, out + static_cast<size_t>(at) * v.row);
        }
        return n;
    });
}

// Copy rows [first, first + nrows), which are in range, of a variable that is mapped whole.
inline void copy_range(const Mapped& v, int64_t first, int64_t nrows, std::byte* out, int64_t& mine)
{
    std::atomic_thread_fence(std::memory_order_acquire);
    while (nrows > 0) {
        const int shard = v.kind == Partition::Kind::skewed
                              ? shard_by_search(v.starts, v.buckets, v.shift, first)
                              : shard_by_bucket(v.starts, v.buckets, v.shift, first);
        const int64_t m = std::min(nrows, v.starts[shard + 1] - first);
        const std::byte* from = v.bases[shard] + static_cast<size_t>(first) * v.row;
        const size_t bytes = static_cast<size_t>(m) * v.row;
        gather(gather_plan(bytes, 1), &from, 1, bytes, out);
        mine += shard == v.own ? m : 0;
        out += bytes;
        first += m;
        nrows -= m;
    }
}

inline void count_rows(Reader& reader, Variable& v, int64_t n, int64_t mine)
{
    auto& counters = *static_cast<Counters*>(reader.counters);
    const auto own = static_cast<uint64_t>(mine), others = static_cast<uint64_t>(n - mine);
    counters.add(DDS_PATH_SELF, own, own * v.mapped.row);
    counters.add(DDS_PATH_SHM, others, others * v.mapped.row);
    if (v.mapped.profiled) [[unlikely]] {
        v.calls.fetch_add(1, std::memory_order_relaxed);
        v.rows_read.fetch_add(static_cast<uint64_t>(n), std::memory_order_relaxed);
    }
}

// Errors of reads, worded out of line.
[[gnu::cold]] Error no_variable(const Store& store, const char* name);
[[gnu::cold]] Error bad_row(const Store& store, const Variable& v, int64_t row, int64_t place);
[[gnu::cold]] Error bad_range(const Store& store, const Variable& v, int64_t first, int64_t nrows);
// ARG where n rows cannot be read into `out_bytes` at `out`.
[[gnu::cold]] Error bad_buffer(const Variable& v, int64_t n, const void* rows, const void* out,
                               size_t out_bytes);
inline bool fits(const Variable& v, int64_t n, const void* out, size_t out_bytes)
{
    const size_t bytes = bytes_of(n, v.mapped.row);
    return n >= 0 && bytes <= out_bytes && bytes != SIZE_MAX && (out || bytes == 0);
}

}  // namespace dds
