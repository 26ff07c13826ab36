// The read path on the node, in line: look up, check and find every row in one pass, which also
// prefetches the first, then copy them in the caller's order.  No run list, no sort, no branch on a
// random row, no lock, no allocation, nothing shared written.
#pragma once

#include "store/store.hpp"
#include "transport/gather.hpp"

namespace dds {

constexpr size_t kQuickRow = 4096;  // longer ones are cut and prefetched

// Whether get_quick() knows how to read it.
inline bool is_quick(const Mapped& v)
{
    const bool cut =
        v.kind == Partition::Kind::buckets || (v.kind != Partition::Kind::skewed && v.own >= 0);
    return cut && v.whole && !v.profiled && v.row > 0 && v.row <= kQuickRow;
}

// The variable of that name, by what the thread used last or by the table.
inline Variable* look_up(Store& store, Reader& reader, const char* name)
{
    const NameKey key(name);
    const __m128i now = _mm_load_si128(reinterpret_cast<const __m128i*>(key.bytes));
    const __m128i last = _mm_load_si128(reinterpret_cast<const __m128i*>(reader.key));
    const uint64_t version = store.table().version();
    if (_mm_movemask_epi8(_mm_cmpeq_epi8(now, last)) == 0xffff && reader.version == version)
        [[likely]] {
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
    reader.name_bits = static_cast<uint32_t>((uint64_t{2} << strnlen(name, 15)) - 1);
    reader.quick = key.is_short && is_quick(variable->mapped) ? &variable->mapped : nullptr;
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

// Run `work` with what finds a row's address, for each kind of partition; `mine` becomes how many of
// the n rows that it looked for are our own.
template <class Work>
inline auto with_locator(const Mapped& v, int64_t n, int64_t& mine, Work work)
{
    const size_t row = v.row;
    switch (v.kind) {
    case Partition::Kind::none:
    case Partition::Kind::one: {
        const std::byte* base = v.base0;
        mine = v.own == 0 ? n : 0;
        return work([=](int64_t g) { return base + static_cast<size_t>(g) * row; });
    }
    case Partition::Kind::two: {
        // A mask: a branch on a random row is mispredicted half the time.
        const std::byte* base = v.base0;
        const std::ptrdiff_t step = v.base1 - v.base0;
        const int64_t split = v.split;
        int64_t seconds = 0;
        const auto result = work([=, &seconds](int64_t g) {
            const std::ptrdiff_t second = -static_cast<std::ptrdiff_t>(g >= split);
            seconds -= second;
            return base + (step & second) + static_cast<size_t>(g) * row;
        });
        mine = v.own == 0 ? n - seconds : v.own == 1 ? seconds : 0;
        return result;
    }
    case Partition::Kind::buckets:
        return work([&v, row, &mine](int64_t g) {
            const int shard = shard_by_bucket(v.starts, v.buckets, v.shift, g);
            mine += shard == v.own;
            return v.bases[shard] + static_cast<size_t>(g) * row;
        });
    case Partition::Kind::skewed: break;
    }
    return work([&v, row, &mine](int64_t g) {
        const int shard = shard_by_search(v.starts, v.buckets, v.shift, g);
        mine += shard == v.own;
        return v.bases[shard] + static_cast<size_t>(g) * row;
    });
}

// The first of n rows that is out of range, or n.
inline int64_t first_bad(const Mapped& v, int64_t n, const int64_t* rows)
{
    uint64_t bad = 0;  // its sign bit: of a negative row, or of one past the last
    const uint64_t last = v.total - 1;
    for (int64_t i = 0; i < n; i++)
        bad |= static_cast<uint64_t>(rows[i]) | (last - static_cast<uint64_t>(rows[i]));
    if (!(bad >> 63)) [[likely]]
        return n;
    for (int64_t i = 0;; i++)
        if (static_cast<uint64_t>(rows[i]) >= v.total)
            return i;
}

// Copy n rows of a variable that is mapped whole.  Returns the place of a bad row, before a byte has
// moved, or n; `mine` counts the rows of our own shard.  `checked`: first_bad() has seen them.
inline int64_t gather_rows(const Mapped& v, int64_t n, const int64_t* rows, std::byte* out,
                           int64_t& mine, bool checked = false)
{
    if (v.tiny) {  // checks by itself
        std::atomic_thread_fence(std::memory_order_acquire);
        mine = gather_tiny(gather_plan(v.row, n), v.cut, rows, n, v.row, out);
        return mine < 0 ? first_bad(v, n, rows) : n;
    }
    if (!checked && (n > kPass || v.row == 0))
        if (const int64_t bad = first_bad(v, n, rows); bad < n)
            return bad;
    if (v.row == 0)
        return n;
    const GatherPlan plan = gather_plan(v.row, n);
    std::atomic_thread_fence(std::memory_order_acquire);
    const std::byte* from[kPass];
    return with_locator(v, n, mine, [&](auto locate) {
        for (int64_t at = 0; at < n; at += kPass) {
            const int64_t m = std::min(kPass, n - at);
            const int64_t primed = std::min(plan.primed, m);
            int64_t i = 0;
            for (; i < primed; i++) {
                const int64_t g = rows[at + i];
                if (static_cast<uint64_t>(g) >= v.total) [[unlikely]]
                    return at + i;
                from[i] = locate(g);
                gather_prime(from[i], v.row);
            }
            for (; i < m; i++) {
                const int64_t g = rows[at + i];
                if (static_cast<uint64_t>(g) >= v.total) [[unlikely]]
                    return at + i;
                from[i] = locate(g);
            }
            gather(plan, from, m, v.row, out + static_cast<size_t>(at) * v.row);
        }
        return n;
    });
}

// Read one row where all is as most often: of the variable that the thread used last, and small.
// Neighbouring calls overlap in the processor as far as its window holds their instructions (256 on
// Zen 3), so that each of them counts: no call and no loop up to 64 bytes.  False: not done.
inline bool get_quick(Store& store, const Reader& reader, const char* name, int64_t g,
                      std::byte* out, size_t out_bytes)
{
    if (!readable_at_once(name)) [[unlikely]]
        return false;
    const auto* last = reinterpret_cast<const __m128i*>(reader.key);
    const __m128i same = _mm_cmpeq_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(name)),
                                        _mm_load_si128(last));
    const auto* v = static_cast<const Mapped*>(reader.quick);
    if (~_mm_movemask_epi8(same) & reader.name_bits || !v ||
        reader.version != store.table().version() || v->row > out_bytes ||
        static_cast<uint64_t>(g) >= v->total) [[unlikely]]
        return false;
    const std::byte* base = v->base0;
    int64_t path = v->own;  // DDS_PATH_SELF 0 for our own shard, DDS_PATH_SHM 1 for the others'
    if (v->kind == Partition::Kind::buckets) {
        const int shard = shard_by_bucket(v->starts, v->buckets, v->shift, g);
        base = v->bases[shard];
        path = shard != v->own;
    } else {
        const int64_t second = g >= v->split;
        base += (v->base1 - v->base0) & -second;
        path ^= second;
    }
    const std::byte* from = base + static_cast<size_t>(g) * v->row;
    std::atomic_thread_fence(std::memory_order_acquire);
    static_cast<Counters*>(reader.counters)->add(static_cast<int>(path), 1, v->row);
    if (v->row == 64)
        copy_small(out, from, 64);
    else if (v->row <= kSmallRow)
        copy_small(out, from, v->row);
    else
        copy_row.load(std::memory_order_relaxed)(reinterpret_cast<char*>(out),
                                                 reinterpret_cast<const char*>(from), v->row);
    return true;
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
    if (v.mapped.profiled) [[unlikely]]
        v.profile.read(static_cast<uint64_t>(n));
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
