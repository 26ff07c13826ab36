#include "memory/arena.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "base/crc32c.hpp"
#include "memory/fill.hpp"

namespace dds {
namespace {

constexpr size_t kFirst = size_t{1} << 20, kLast = size_t{256} << 20;
constexpr size_t kOwn = size_t{64} << 20;
// Smaller ones get no huge pages: their last, partly used one would be a large part of the memory.
constexpr size_t kHuge = size_t{128} << 20;
constexpr size_t kPage = 4096, kLine = 64;
constexpr size_t kAligned = size_t{64} << 10;  // shards from here on begin on a page

size_t round_up(size_t value, size_t unit) { return (value + unit - 1) & ~(unit - 1); }

}  // namespace

Arenas::Arenas(const unsigned char (&store)[16], uint64_t incarnation)
    : incarnation_(incarnation), next_bytes_(kFirst)
{
    memcpy(store_, store, sizeof store_);
}

Result<std::shared_ptr<Arena>> Arenas::open(size_t bytes, bool huge)
{
    DDS_LET(segment, Segment::create("ddstore-arena", bytes, Sharing::read, huge));
    auto arena = std::make_shared<Arena>(next_id_++, std::move(segment));
    DDS_TRY(fill(arena->segment.data(), nullptr, sizeof(Header)));
    Header header{{'D', 'D', 'S', 'A', 'R', 'E', 'N', 'A'}, {}, incarnation_, arena->id, 0, {}};
    memcpy(header.store, store_, sizeof store_);
    header.crc = crc32c(0, &header, offsetof(Header, crc));
    memcpy(arena->segment.data(), &header, sizeof header);
    arena->used = sizeof header;
    std::erase_if(all_, [](const auto& old) { return old.expired(); });
    all_.push_back(arena);
    return arena;
}

Result<Block> Arenas::take(size_t bytes, bool own, std::shared_ptr<Arena>& fresh)
{
    fresh.reset();
    if (bytes == 0)
        return Block{};
    if (bytes > SIZE_MAX / 4)
        return fail(DDS_ERR_NOMEM, "no memory for a shard of %zu bytes", bytes);
    DDS_TRY(check_room(bytes));
    if (own || bytes >= kOwn) {
        DDS_LET(arena, open(round_up(kPage + bytes, kPage), true));
        arena->used = arena->segment.bytes();
        arena->own = true;
        fresh = arena;
        return Block{arena, kPage, bytes};
    }
    const size_t unit = bytes >= kAligned ? kPage : kLine;
    if (!current_ || round_up(current_->used, unit) + bytes > current_->segment.bytes()) {
        while (next_bytes_ < kLast && next_bytes_ < bytes + kPage)
            next_bytes_ *= 2;
        DDS_LET(arena, open(next_bytes_, next_bytes_ >= kHuge));
        next_bytes_ = std::min(2 * next_bytes_, kLast);
        current_ = arena;
        fresh = arena;
    }
    const size_t offset = round_up(current_->used, unit);
    current_->used = offset + bytes;
    return Block{current_, offset, bytes};
}

size_t Arenas::count() const
{
    return static_cast<size_t>(std::count_if(all_.begin(), all_.end(),
                                             [](const auto& arena) { return !arena.expired(); }));
}

size_t Arenas::bytes() const
{
    size_t sum = 0;
    for (const auto& weak : all_)
        if (const auto arena = weak.lock())
            sum += arena->used;
    return sum;
}

void Arenas::orphan()
{
    for (const auto& weak : all_)
        if (const auto arena = weak.lock())
            arena->orphan = true;
}

}  // namespace dds
