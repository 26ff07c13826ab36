// A record as bytes.  What a reader would refuse is not written.
#include <cstddef>
#include <cstring>
#include <numeric>

#include "base/crc32c.hpp"
#include "store/record_format.hpp"

namespace dds {
namespace record_format {

uint32_t header_crc(const Header& header)
{
    return crc32c(0, &header, offsetof(Header, header_crc));
}

namespace {

// Header, entries, trailer; the length of an entry is known when the next begins.
class Writer {
public:
    explicit Writer(size_t expected)
    {
        out_.reserve(expected);
        out_.resize(sizeof(Header));
    }

    template <class Head>
    void begin(const Head& head)
    {
        end_entry();
        entry_ = out_.size();
        put(&head, sizeof head);
    }
    void put(const void* data, size_t bytes)
    {
        const auto* from = static_cast<const std::byte*>(data);
        out_.insert(out_.end(), from, from + bytes);
    }

    Result<std::vector<std::byte>> finish(Header header)
    {
        end_entry();
        header.magic = kMagic;
        header.major = kMajor;
        header.minor = kMinor;
        header.body_bytes = out_.size() - sizeof header;
        header.body_crc = crc32c(0, out_.data() + sizeof header, header.body_bytes);
        header.header_crc = header_crc(header);
        std::memcpy(out_.data(), &header, sizeof header);
        const Trailer trailer{out_.size() + sizeof(Trailer), kReversed};
        put(&trailer, sizeof trailer);
        if (out_.size() > kMostRecord)
            return fail(DDS_ERR_LIMIT, "a record of %zu bytes: at most %zu", out_.size(),
                        kMostRecord);
        return std::move(out_);
    }

private:
    void end_entry()
    {
        if (entry_ == 0)
            return;
        const auto bytes = static_cast<uint32_t>(out_.size() - entry_);
        std::memcpy(out_.data() + entry_, &bytes, sizeof bytes);
    }

    std::vector<std::byte> out_;
    size_t entry_ = 0;  // where the last one begins
};

template <class Record>
Header header_of(Kind kind, const Record& record)
{
    Header header{};
    header.kind = kind;
    header.store = record.store;
    header.epoch = record.epoch;
    header.sequence = record.sequence;
    return header;
}

}  // namespace
}  // namespace record_format

using namespace record_format;

Result<std::vector<std::byte>> write_record(const CoreRecord& record)
{
    DDS_TRY(check_record(record, DDS_ERR_ARG));
    Writer writer(512 + record.ranks.size() * 128);
    writer.begin(ProviderEntry{0, record.protocol, record.address_format,
                               static_cast<uint32_t>(record.ranks.size()),
                               static_cast<uint32_t>(record.provider.size())});
    writer.put(record.provider.data(), record.provider.size());
    for (size_t at = 0; at < record.ranks.size(); at++) {
        const CoreRecord::Rank& rank = record.ranks[at];
        writer.begin(RankEntry{
            0, static_cast<uint32_t>(at), rank.uid, static_cast<uint16_t>(rank.address.size()),
            static_cast<uint16_t>(rank.socket.size()), rank.incarnation, rank.node});
        writer.put(rank.address.data(), rank.address.size());
        writer.put(rank.socket.data(), rank.socket.size());
    }
    return writer.finish(header_of(Kind::core, record));
}

Result<std::vector<std::byte>> write_record(const VariableRecord& record)
{
    DDS_TRY(check_record(record, DDS_ERR_ARG));
    Writer writer(1024 + record.meta.size() + record.rows.size() * 8 + record.segments.size() * 64);
    writer.begin(DescriptionEntry{
        0, record.type, record.flags, static_cast<uint32_t>(record.shape.size()), record.itemsize,
        record.disp, record.published, static_cast<uint32_t>(record.name.size()),
        static_cast<uint32_t>(record.meta.size())});
    writer.put(record.shape.data(), record.shape.size() * sizeof(int64_t));
    writer.put(record.name.data(), record.name.size());
    writer.put(record.meta.data(), record.meta.size());
    writer.begin(PartitionEntry{
        0, static_cast<uint32_t>(record.rows.size()), static_cast<uint32_t>(record.segments.size()),
        0, std::accumulate(record.rows.begin(), record.rows.end(), int64_t{0})});
    writer.put(record.rows.data(), record.rows.size() * sizeof(int64_t));
    for (const VariableRecord::Segment& segment : record.segments) {
        writer.begin(SegmentEntry{0, segment.rank, segment.id,
                                  static_cast<uint32_t>(segment.key.size()), segment.offset,
                                  segment.bytes});
        writer.put(segment.key.data(), segment.key.size());
    }
    return writer.finish(header_of(Kind::variable, record));
}

}  // namespace dds
