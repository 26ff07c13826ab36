// The limit of a collective read on one node where ranks do not see each other's rows: they send the
// indices to the owners, owners pack the rows into shared memory, readers unpack them.  Chunks stay in
// the cache, two a pair in turns, flags are polled; own rows are copied while the others pack.
#pragma once

#include <memory>

#include "limit_gather.h"
#include "measure.hpp"

namespace bench {

class Exchange {
public:
    // Shared memory that is needed, zeroed, for calls of at most n rows.
    static size_t bytes(int ranks, int64_t n);

    // own + g * row is row g, for the rows of this rank; `first` as in limit_shards.  `calls` counts
    // what went through the area so far.
    Exchange(char* area, uint64_t& calls, int ranks, int me, int64_t most, int64_t n, size_t row,
             const char* own, const int64_t* first, bool spin, limit_gather_fn* gather,
             const limit_how& how);
    ~Exchange();

    void read(const int64_t* rows, char* out);  // collective

private:
    struct Box;
    struct Peer;

    Box& box(int reader, int owner) const;
    int owner_of(int64_t g) const;
    bool pack(Peer& peer);               // as owner: fill a free chunk for that reader
    bool unpack(Peer& peer, char* out);  // as reader: empty a full one
    void copy_own(const int64_t* rows, char* out);
    void idle() const;

    char* area_;
    int ranks_, me_;
    int64_t most_, n_;
    size_t row_, chunk_;
    const char* own_;
    const int64_t* first_;
    bool spin_;
    limit_gather_fn* gather_;
    limit_how how_;
    uint64_t& call_;
    std::vector<Peer> peers_;
    std::vector<int64_t> own_at_;
};

}  // namespace bench
