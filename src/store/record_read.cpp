// Bytes that anybody may have written, as a record: every length is held against what is left before
// it is used, and memory is taken for what is there, not for what is claimed.
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <numeric>

#include "base/crc32c.hpp"
#include "store/record_format.hpp"
#include "store/variable_card.hpp"

namespace dds {
namespace {

using namespace record_format;
using Bytes = std::span<const std::byte>;
using Unsigned = unsigned long long;

constexpr size_t kFrame = sizeof(Header) + sizeof(Trailer);
constexpr size_t kPage = 4096;  // what a file system shows whole or not at all

template <class T>
T load(const std::byte* from)
{
    T value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

bool zeros(Bytes bytes)
{
    return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
}

const char* kind_text(Kind kind) { return kind == Kind::core ? "a store's" : "a variable's"; }

// An entry, and how much of it was taken.
class Entry {
public:
    Entry(Bytes bytes, size_t at) : bytes_(bytes), at_(at) {}

    // The first of these is the head, whose size is known to be there.
    template <class Head>
    Head head()
    {
        taken_ = sizeof(Head);
        return load<Head>(bytes_.data());
    }
    Result<Bytes> take(uint64_t bytes, const char* what)
    {
        if (bytes > bytes_.size() - taken_)
            return fail(DDS_ERR_CORRUPT, "byte %zu: %s of %llu bytes, where its entry has %zu left",
                        at_ + taken_, what, Unsigned{bytes}, bytes_.size() - taken_);
        const Bytes part = bytes_.subspan(taken_, static_cast<size_t>(bytes));
        taken_ += part.size();
        return part;
    }
    Result<std::vector<int64_t>> numbers(uint32_t count, const char* what)
    {
        DDS_LET(part, take(uint64_t{count} * sizeof(int64_t), what));
        std::vector<int64_t> numbers(count);
        if (count)
            std::memcpy(numbers.data(), part.data(), part.size());
        return numbers;
    }
    Result<std::string> text(uint64_t bytes, const char* what)
    {
        DDS_LET(part, take(bytes, what));
        return std::string(reinterpret_cast<const char*>(part.data()), part.size());
    }
    Result<std::vector<std::byte>> copy(uint64_t bytes, const char* what)
    {
        DDS_LET(part, take(bytes, what));
        return std::vector<std::byte>(part.begin(), part.end());
    }

private:
    Bytes bytes_;
    size_t at_, taken_ = 0;
};

class Body {
public:
    Body(Bytes file) : file_(file), at_(sizeof(Header)), end_(file.size() - sizeof(Trailer)) {}

    size_t at() const { return at_; }
    // How many entries of `bytes` or more there can be.
    size_t room_for(size_t bytes) const { return (end_ - at_) / bytes; }

    Result<Entry> next(size_t least, const char* what)
    {
        const size_t left = end_ - at_;
        if (left < sizeof(uint32_t))
            return fail(DDS_ERR_CORRUPT, "byte %zu: %s is missing", at_, what);
        const auto bytes = load<uint32_t>(file_.data() + at_);
        if (bytes < least || bytes > left)
            return fail(DDS_ERR_CORRUPT, "byte %zu: %s of %u bytes, of %zu to %zu", at_, what,
                        bytes, least, left);
        const Entry entry(file_.subspan(at_, bytes), at_);
        at_ += bytes;
        return entry;
    }
    // What a later minor version appended.
    Result<void> skip_the_rest()
    {
        while (at_ < end_)
            DDS_TRY(next(sizeof(uint32_t), "an entry"));
        return {};
    }

private:
    Bytes file_;
    size_t at_, end_;
};

Result<Header> read_start(Bytes start, uint64_t file_bytes)
{
    if (file_bytes > kMostRecord)
        return fail(DDS_ERR_CORRUPT, "%llu bytes: a record has at most %zu", Unsigned{file_bytes},
                    kMostRecord);
    if (start.size() < sizeof(Header))
        return fail(DDS_ERR_CORRUPT, "%zu bytes: a record has more than %zu", start.size(), kFrame);
    const auto header = load<Header>(start.data());
    if (header.magic != kMagic || header.major == 0)
        return fail(DDS_ERR_CORRUPT, "is no record: it begins otherwise");
    if (header.major != kMajor)
        return fail(DDS_ERR_VERSION,
                    "is a record of version %u.%u: this release of ddstore knows version %u "
                    "(readers need a ddstore as new as the core job's)",
                    header.major, header.minor, kMajor);
    if (header.header_crc != header_crc(header))
        return fail(DDS_ERR_CORRUPT, "the header is damaged");
    if (header.kind != Kind::core && header.kind != Kind::variable)
        return fail(DDS_ERR_CORRUPT, "a record of kind %u, which there is not",
                    static_cast<unsigned>(header.kind));
    if (file_bytes < kFrame || header.body_bytes != file_bytes - kFrame)
        return fail(DDS_ERR_CORRUPT, "%llu bytes, and a header that tells of %llu in the body",
                    Unsigned{file_bytes}, Unsigned{header.body_bytes});
    return header;
}

Result<Header> read_frame(Bytes file, Kind kind)
{
    DDS_LET(header, read_start(file, file.size()));
    if (header.kind != kind)
        return fail(DDS_ERR_CORRUPT, "is %s record, not %s", kind_text(header.kind),
                    kind_text(kind));
    const auto trailer = load<Trailer>(file.data() + file.size() - sizeof(Trailer));
    if (trailer.magic != kReversed || trailer.file_bytes != file.size())
        return fail(DDS_ERR_CORRUPT, "the end is damaged");
    if (header.body_crc != crc32c(0, file.data() + sizeof header, header.body_bytes))
        return fail(DDS_ERR_CORRUPT, "the body is damaged");
    return header;
}

Result<void> read_ranks(Body& body, uint32_t count, CoreRecord& record)
{
    if (count > body.room_for(sizeof(RankEntry)))
        return fail(DDS_ERR_CORRUPT, "byte %zu: %u ranks do not fit", body.at(), count);
    record.ranks.reserve(count);
    for (uint32_t rank = 0; rank < count; rank++) {
        DDS_LET(entry, body.next(sizeof(RankEntry), "a rank"));
        const auto head = entry.head<RankEntry>();
        if (head.rank != rank)
            return fail(DDS_ERR_CORRUPT, "byte %zu: rank %u stands where rank %u belongs",
                        body.at() - head.bytes, head.rank, rank);
        DDS_LET(address, entry.text(head.address_bytes, "an address"));
        DDS_LET(socket, entry.text(head.socket_bytes, "the name of a socket"));
        record.ranks.push_back(
            {head.node, head.incarnation, head.uid, std::move(address), std::move(socket)});
    }
    return {};
}

Result<void> read_description(Body& body, VariableRecord& record)
{
    DDS_LET(entry, body.next(sizeof(DescriptionEntry), "the description"));
    const auto head = entry.head<DescriptionEntry>();
    DDS_LET(shape, entry.numbers(head.ndim, "a shape"));
    DDS_LET(name, entry.text(head.name_bytes, "a name"));
    DDS_LET(meta, entry.copy(head.meta_bytes, "meta"));
    record.published = head.published;
    record.name = std::move(name);
    record.type = head.type;
    record.flags = head.flags;
    record.itemsize = head.itemsize;
    record.disp = head.disp;
    record.shape = std::move(shape);
    record.meta = std::move(meta);
    return {};
}

Result<void> read_partition(Body& body, VariableRecord& record)
{
    DDS_LET(entry, body.next(sizeof(PartitionEntry), "the partition"));
    const auto head = entry.head<PartitionEntry>();
    DDS_LET(rows, entry.numbers(head.ranks, "numbers of rows"));
    // Sums that pass 2^63 are refused by the check of the whole: here they may wrap.
    const auto total =
        std::accumulate(rows.begin(), rows.end(), uint64_t{0},
                        [](uint64_t sum, int64_t n) { return sum + static_cast<uint64_t>(n); });
    if (total != static_cast<uint64_t>(head.total))
        return fail(DDS_ERR_CORRUPT, "%llu rows in all, and ranks that have %llu",
                    static_cast<Unsigned>(head.total), Unsigned{total});
    record.rows = std::move(rows);
    if (head.segments > body.room_for(sizeof(SegmentEntry)))
        return fail(DDS_ERR_CORRUPT, "byte %zu: %u segments do not fit", body.at(), head.segments);
    record.segments.reserve(head.segments);
    for (uint32_t i = 0; i < head.segments; i++) {
        DDS_LET(at, body.next(sizeof(SegmentEntry), "a segment"));
        const auto segment = at.head<SegmentEntry>();
        DDS_LET(key, at.copy(segment.key_bytes, "a key"));
        record.segments.push_back(
            {segment.rank, segment.id, segment.offset, segment.segment_bytes, std::move(key)});
    }
    return {};
}

// A later minor version may have types and flags that change what rows are.
Result<void> check_known(const VariableRecord& record)
{
    constexpr uint32_t kKnown = DDS_NOCOPY | DDS_HUGEPAGES;
    if (record.flags & ~kKnown)
        return fail(DDS_ERR_VERSION,
                    "the flags 0x%x of variable \"%.255s\" are not all known to this release of "
                    "ddstore: its core job has a newer one",
                    record.flags, record.name.c_str());
    if (type_size(record.type) == 0)
        return fail(
            DDS_ERR_VERSION,
            "the type %d of variable \"%.255s\" is not known to this release of ddstore: its "
            "core job has a newer one",
            record.type, record.name.c_str());
    return {};
}

}  // namespace

Result<CoreRecord> read_core_record(Bytes file)
{
    DDS_LET(header, read_frame(file, Kind::core));
    Body body(file);
    DDS_LET(entry, body.next(sizeof(ProviderEntry), "the provider"));
    const auto head = entry.head<ProviderEntry>();
    CoreRecord record;
    record.store = header.store;
    record.epoch = header.epoch;
    record.sequence = header.sequence;
    DDS_LET(provider, entry.text(head.provider_bytes, "a provider's name"));
    record.provider = std::move(provider);
    record.protocol = head.protocol;
    record.address_format = head.address_format;
    DDS_TRY(read_ranks(body, head.ranks, record));
    DDS_TRY(body.skip_the_rest());
    DDS_TRY(check_record(record, DDS_ERR_CORRUPT));
    return record;
}

Result<VariableRecord> read_variable_record(Bytes file)
{
    DDS_LET(header, read_frame(file, Kind::variable));
    Body body(file);
    VariableRecord record;
    record.store = header.store;
    record.epoch = header.epoch;
    record.sequence = header.sequence;
    DDS_TRY(read_description(body, record));
    DDS_TRY(read_partition(body, record));
    DDS_TRY(body.skip_the_rest());
    DDS_TRY(check_known(record));
    DDS_TRY(check_record(record, DDS_ERR_CORRUPT));
    return record;
}

Result<void> check_record_start(Bytes start, uint64_t file_bytes)
{
    DDS_TRY(read_start(start, file_bytes));
    return {};
}

bool may_yet_come(Bytes file, uint64_t file_bytes)
{
    if (file_bytes > kMostRecord)
        return false;
    if (file.size() < sizeof(Header)) {
        const Bytes begun = file.first(std::min(file.size(), sizeof(Magic)));
        return zeros(file) || std::memcmp(begun.data(), kMagic.data(), begun.size()) == 0;
    }
    if (zeros(file.first(sizeof(Header))))
        return true;
    const auto header = load<Header>(file.data());
    if (header.magic != kMagic || header.header_crc != header_crc(header) ||
        header.body_bytes > kMostRecord)
        return false;
    if (file_bytes < kFrame + header.body_bytes)
        return true;
    if (file_bytes > kFrame + header.body_bytes || file.size() < file_bytes)
        return false;
    if (zeros(file.last(sizeof(Trailer))))
        return true;
    for (size_t page = kPage; page < file.size(); page += kPage)
        if (zeros(file.subspan(page, std::min(kPage, file.size() - page))))
            return true;
    return false;
}

}  // namespace dds
