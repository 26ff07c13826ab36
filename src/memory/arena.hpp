// Arenas: the segments that shards live in.  The first has 1 MiB, each next one doubles up to 256 MiB,
// and a shard of 64 MiB or more gets its own.  Memory is given out by moving a mark and never given
// out twice: an old key or pointer never shows another variable.  An arena closes when its last
// variable is dropped and its last view is gone, so 100,000 variables cost a few dozen descriptors.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "memory/segment.hpp"

namespace dds {

struct Arena {
    uint32_t id;
    Segment segment;
    size_t used = 0;
    bool own = false;                 // nothing else will ever be put in it
    std::atomic<bool> orphan{false};  // its store was freed; views keep it

    Arena(uint32_t number, Segment&& memory) : id(number), segment(std::move(memory)) {}
};

struct Block {
    std::shared_ptr<Arena> arena;  // holds it open
    size_t offset = 0;
    size_t bytes = 0;

    std::byte* data() const { return arena ? arena->segment.data() + offset : nullptr; }
};

class Arenas {
public:
    // Each arena begins with this, which proves to a reader over a wire what it reads.
    struct Header {
        char magic[8];
        unsigned char store[16];
        uint64_t incarnation;
        uint32_t id;
        uint32_t crc;  // of the fields before
        unsigned char reserved[24];
    };

    Arenas(const unsigned char (&store)[16], uint64_t incarnation);

    // `bytes` of zeros.  `fresh` is the arena where it had to be made for this, to be shown to peers.
    // `own` asks for an arena that nothing else will be put in.
    Result<Block> take(size_t bytes, bool own, std::shared_ptr<Arena>& fresh);
    // An id for memory that is no arena (the caller's own), unique among this rank's segments.
    uint32_t next_id() { return next_id_++; }

    size_t count() const;  // arenas alive
    size_t bytes() const;  // their memory
    void orphan();         // the store is freed

private:
    Result<std::shared_ptr<Arena>> open(size_t bytes, bool huge);

    unsigned char store_[16];
    uint64_t incarnation_;
    uint32_t next_id_ = 0;
    size_t next_bytes_;
    std::shared_ptr<Arena> current_;
    std::vector<std::weak_ptr<Arena>> all_;
};
static_assert(sizeof(Arenas::Header) == 64);

}  // namespace dds
