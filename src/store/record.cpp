// What a record must fulfil, whoever wrote it: sizes that can be, sums that match, and shards that
// lie within their segments.
#include "store/record.hpp"

#include "base/checked.hpp"
#include "plan/partition.hpp"
#include "store/variable_card.hpp"

namespace dds {
namespace {

using LongLong = long long;
using Unsigned = unsigned long long;

constexpr uint32_t kFlags = DDS_NOCOPY | DDS_HUGEPAGES;

Result<void> check_epoch(uint64_t epoch, int code)
{
    if (epoch == 0)
        return fail(code, "the epoch is 0, which no store has");
    return {};
}

Result<void> check_ranks(size_t ranks, int code)
{
    if (ranks == 0 || ranks > size_t{Partition::kMaxRanks})
        return fail(code, "%zu ranks: a store has 1 to %d", ranks, Partition::kMaxRanks);
    return {};
}

bool is_word_character(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '+' || c == '.' || c == ';';
}

// It becomes the last part of a path, or is shown: no `/`, no way up, nothing unprintable.
bool is_word(const std::string& text)
{
    for (const char c : text)
        if (!is_word_character(c))
            return false;
    return !text.starts_with('.');
}

Result<void> check_rank(const CoreRecord::Rank& rank, size_t at, int code)
{
    if (rank.address.size() > CoreRecord::kMostAddress)
        return fail_rank(code, static_cast<int>(at),
                         "the address of rank %zu has %zu bytes, at most %zu", at,
                         rank.address.size(), CoreRecord::kMostAddress);
    if (rank.socket.size() > CoreRecord::kMostSocket || !is_word(rank.socket))
        return fail_rank(code, static_cast<int>(at),
                         "the socket of rank %zu (%zu bytes) is no file name of at most %zu bytes",
                         at, rank.socket.size(), CoreRecord::kMostSocket);
    return {};
}

Result<void> check_element(const VariableRecord& record, int code)
{
    const size_t itemsize = type_size(record.type);
    if (itemsize == 0 || itemsize != record.itemsize)
        return fail(code, "elements of type %d have %zu bytes, not %llu", record.type, itemsize,
                    Unsigned{record.itemsize});
    if (record.flags & ~kFlags)
        return fail(code, "the flags 0x%x have bits that no variable has", record.flags);
    return {};
}

Result<void> check_row(const VariableRecord& record, int code)
{
    if (record.disp < 0)
        return fail(code, "a row of %lld elements", LongLong{record.disp});
    if (record.shape.size() > VariableRecord::kMostDims)
        return fail(code, "a row of %zu dimensions: at most %zu", record.shape.size(),
                    VariableRecord::kMostDims);
    int64_t product = 1;
    for (size_t i = 0; i < record.shape.size(); i++) {
        const int64_t extent = record.shape[i];
        const auto next = extent < 0 ? std::nullopt : checked_mul(product, extent);
        if (!next)
            return fail(code, "extent %zu of a row is %lld", i, LongLong{extent});
        product = *next;
    }
    if (!record.shape.empty() && product != record.disp)
        return fail(code, "the shape of a row has %lld elements, disp is %lld", LongLong{product},
                    LongLong{record.disp});
    return {};
}

// The bytes of a row; all sizes of shards fit 63 bits.
Result<int64_t> check_rows(const VariableRecord& record, int code)
{
    const auto row = checked_mul(record.disp, static_cast<int64_t>(record.itemsize));
    if (!row)
        return fail(code, "a row of %lld elements of %llu bytes passes 2^63 bytes",
                    LongLong{record.disp}, Unsigned{record.itemsize});
    int64_t total = 0;
    for (size_t rank = 0; rank < record.rows.size(); rank++) {
        const int64_t rows = record.rows[rank];
        const auto sum = rows < 0 ? std::nullopt : checked_add(total, rows);
        if (!sum || !checked_mul(rows, *row))
            return fail_rank(code, static_cast<int>(rank),
                             "rank %zu has %lld rows of %lld bytes after %lld of others", rank,
                             LongLong{rows}, LongLong{*row}, LongLong{total});
        total = *sum;
    }
    return *row;
}

Result<void> check_segment(const VariableRecord::Segment& segment, uint64_t shard, int code)
{
    const int rank = static_cast<int>(segment.rank);
    if (segment.key.size() > VariableRecord::kMostKey)
        return fail_rank(code, rank, "the key of rank %d has %zu bytes, at most %zu", rank,
                         segment.key.size(), VariableRecord::kMostKey);
    const auto end = checked_add(segment.offset, shard);
    if (!end || *end > segment.bytes)
        return fail_rank(code, rank,
                         "the shard of rank %d, %llu bytes from %llu on, passes the %llu bytes of "
                         "its segment",
                         rank, Unsigned{shard}, Unsigned{segment.offset}, Unsigned{segment.bytes});
    return {};
}

// One a rank whose shard has bytes, in rank order: none twice, none left out.
Result<void> check_segments(const VariableRecord& record, int64_t row, int code)
{
    size_t at = 0;
    for (size_t rank = 0; rank < record.rows.size(); rank++) {
        const int64_t bytes = record.rows[rank] * row;
        if (bytes == 0)
            continue;
        if (at == record.segments.size() || record.segments[at].rank != rank)
            return fail_rank(code, static_cast<int>(rank),
                             "segment %zu is not that of rank %zu, the next that has rows", at,
                             rank);
        DDS_TRY(check_segment(record.segments[at], static_cast<uint64_t>(bytes), code));
        at++;
    }
    if (at != record.segments.size())
        return fail(code, "segment %zu is of rank %u, which has no rows or is none of %zu", at,
                    record.segments[at].rank, record.rows.size());
    return {};
}

}  // namespace

Result<void> check_record(const CoreRecord& record, int code)
{
    DDS_TRY(check_epoch(record.epoch, code));
    DDS_TRY(check_ranks(record.ranks.size(), code));
    if (record.provider.size() > CoreRecord::kMostProvider || !is_word(record.provider))
        return fail(code, "the provider (%zu bytes) is no word of at most %zu bytes",
                    record.provider.size(), CoreRecord::kMostProvider);
    for (size_t rank = 0; rank < record.ranks.size(); rank++)
        DDS_TRY(check_rank(record.ranks[rank], rank, code));
    return {};
}

Result<void> check_record(const VariableRecord& record, int code)
{
    DDS_TRY(check_epoch(record.epoch, code));
    if (const auto name = check_name(record.name.c_str()); !name)
        return fail(code, "%s", name.error().text.c_str());
    if (record.name.find('\0') != std::string::npos)
        return fail(code, "the name has a NUL in it");
    if (record.published < 0)
        return fail(code, "version %lld was published", LongLong{record.published});
    if (record.meta.size() > VariableRecord::kMostMeta)
        return fail(code, "meta of %zu bytes: at most %zu", record.meta.size(),
                    VariableRecord::kMostMeta);
    DDS_TRY(check_element(record, code));
    DDS_TRY(check_row(record, code));
    DDS_TRY(check_ranks(record.rows.size(), code));
    DDS_LET(row, check_rows(record, code));
    return check_segments(record, row, code);
}

Result<void> check_together(const VariableRecord& variable, const CoreRecord& core)
{
    if (variable.store != core.store)
        return fail(DDS_ERR_STALE, "variable \"%s\" belongs to another store",
                    variable.name.c_str());
    if (variable.epoch != core.epoch)
        return fail(DDS_ERR_STALE, "variable \"%s\" belongs to another run of its store",
                    variable.name.c_str());
    if (variable.rows.size() != core.ranks.size())
        return fail(DDS_ERR_CORRUPT,
                    "variable \"%s\" has rows of %zu ranks, the core record of its store has %zu",
                    variable.name.c_str(), variable.rows.size(), core.ranks.size());
    return {};
}

}  // namespace dds
