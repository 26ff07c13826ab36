#include "limit_exchange.hpp"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstring>

namespace bench {
namespace {

constexpr size_t kLine = 64;
constexpr size_t kMostChunk = size_t{256} << 10, kAllChunks = size_t{256} << 20;

size_t round_up(size_t bytes) { return (bytes + kLine - 1) / kLine * kLine; }

size_t chunk_bytes(int ranks)
{
    const size_t pairs = static_cast<size_t>(ranks) * static_cast<size_t>(ranks);
    return std::clamp<size_t>(kAllChunks / 2 / pairs / kLine * kLine, 4096, kMostChunk);
}

}  // namespace

// From one reader to one owner.  Chunks are counted over all calls.
struct Exchange::Box {
    alignas(kLine) std::atomic<uint64_t> asked;  // the reader's call whose rows are listed
    int64_t count;
    alignas(kLine) std::atomic<uint64_t> packed;  // chunks that the owner has filled
    alignas(kLine) std::atomic<uint64_t> taken;   // chunks that the reader has emptied
    alignas(kLine) char memory[];                 // the rows that are asked for; two chunks

    int64_t* rows() { return reinterpret_cast<int64_t*>(memory); }
    char* chunk(int64_t most, size_t bytes, uint64_t k)
    {
        return memory + round_up(static_cast<size_t>(most) * 8) + k % 2 * bytes;
    }
};

struct Exchange::Peer {
    int rank;
    Box *to, *from;               // what we ask of it, what it asks of us
    std::vector<int64_t> places;  // in our batch, of the rows that we ask for
    size_t in, out;               // bytes of this call still to be unpacked, to be packed
    bool heard;
};

namespace {

size_t box_bytes(size_t header, int ranks, int64_t n)
{
    return header + round_up(static_cast<size_t>(n) * 8) + 2 * chunk_bytes(ranks);
}

}  // namespace

size_t Exchange::bytes(int ranks, int64_t n)
{
    return box_bytes(sizeof(Box), ranks, n) * static_cast<size_t>(ranks) *
           static_cast<size_t>(ranks);
}

Exchange::Exchange(char* area, uint64_t& calls, int ranks, int me, int64_t most, int64_t n,
                   size_t row, const char* own, const int64_t* first, bool spin,
                   limit_gather_fn* gather, const limit_how& how)
    : area_(area),
      ranks_(ranks),
      me_(me),
      most_(most),
      n_(n),
      row_(row),
      chunk_(chunk_bytes(ranks)),
      own_(own),
      first_(first),
      spin_(spin),
      gather_(gather),
      how_(how),
      call_(calls)
{
    for (int k = 1; k < ranks; k++) {  // each begins with another peer
        const int r = (me + k) % ranks;
        Peer peer{r, &box(me, r), &box(r, me), {}, 0, 0, false};
        peer.places.reserve(static_cast<size_t>(n));
        peers_.push_back(std::move(peer));
    }
    own_at_.reserve(static_cast<size_t>(n));
}

Exchange::~Exchange() = default;

Exchange::Box& Exchange::box(int reader, int owner) const
{
    const size_t at =
        static_cast<size_t>(reader) * static_cast<size_t>(ranks_) + static_cast<size_t>(owner);
    return *reinterpret_cast<Box*>(area_ + at * box_bytes(sizeof(Box), ranks_, most_));
}

int Exchange::owner_of(int64_t g) const
{
    int owner = 0;
    for (int r = 1; r < ranks_; r++)  // no branch on a random row
        owner += g >= first_[r];
    return owner;
}

void Exchange::idle() const
{
    if (spin_)
        __builtin_ia32_pause();
    else
        sched_yield();
}

bool Exchange::pack(Peer& peer)
{
    Box& box = *peer.from;
    if (!peer.heard) {
        if (box.asked.load(std::memory_order_acquire) != call_)
            return false;
        peer.heard = true;
        peer.out = static_cast<size_t>(box.count) * row_;
    }
    const uint64_t k = box.packed.load(std::memory_order_relaxed);
    if (peer.out == 0 || k - box.taken.load(std::memory_order_acquire) == 2)
        return false;
    char* chunk = box.chunk(most_, chunk_, k);
    const size_t done = static_cast<size_t>(box.count) * row_ - peer.out;
    const int64_t* rows = box.rows() + done / row_;
    size_t filled;
    if (row_ <= chunk_) {
        const size_t some = std::min(peer.out, chunk_ / row_ * row_);
        const int64_t whole[] = {0, first_[ranks_]};
        const limit_shards mine{&own_, whole, nullptr, 1, 0, row_};
        gather_(&mine, rows, static_cast<int64_t>(some / row_), chunk, &how_);
        filled = some;
    } else {  // a part of one row
        const size_t at = done % row_;
        filled = std::min(chunk_, row_ - at);
        memcpy(chunk, own_ + static_cast<size_t>(rows[0]) * row_ + at, filled);
    }
    peer.out -= filled;
    box.packed.store(k + 1, std::memory_order_release);
    return true;
}

bool Exchange::unpack(Peer& peer, char* out)
{
    Box& box = *peer.to;
    const uint64_t k = box.taken.load(std::memory_order_relaxed);
    if (peer.in == 0 || box.packed.load(std::memory_order_acquire) == k)
        return false;
    const char* chunk = box.chunk(most_, chunk_, k);
    const size_t done = peer.places.size() * row_ - peer.in;
    const int64_t* place = peer.places.data() + done / row_;
    if (row_ <= chunk_) {
        const size_t some = std::min(peer.in, chunk_ / row_ * row_);
        for (size_t at = 0; at < some; at += row_, place++)
            memcpy(out + static_cast<size_t>(*place) * row_, chunk + at, row_);
        peer.in -= some;
    } else {
        const size_t at = done % row_, some = std::min(chunk_, row_ - at);
        memcpy(out + static_cast<size_t>(*place) * row_ + at, chunk, some);
        peer.in -= some;
    }
    box.taken.store(k + 1, std::memory_order_release);
    return true;
}

void Exchange::copy_own(const int64_t* rows, char* out)
{
    constexpr size_t kAhead = 8;
    for (size_t k = 0; k < own_at_.size(); k++) {
        if (k + kAhead < own_at_.size()) {
            const char* next = own_ + static_cast<size_t>(rows[own_at_[k + kAhead]]) * row_;
            for (size_t o = 0; o < std::min<size_t>(row_, 1024); o += 64)
                __builtin_prefetch(next + o);
        }
        const int64_t i = own_at_[k];
        memcpy(out + static_cast<size_t>(i) * row_, own_ + static_cast<size_t>(rows[i]) * row_,
               row_);
    }
}

void Exchange::read(const int64_t* rows, char* out)
{
    call_++;
    own_at_.clear();
    for (Peer& peer : peers_) {
        peer.places.clear();
        peer.heard = false;
    }
    for (int64_t i = 0; i < n_; i++) {
        const int owner = owner_of(rows[i]);
        if (owner == me_) {
            own_at_.push_back(i);
            continue;
        }
        Peer& peer = peers_[static_cast<size_t>((owner - me_ - 1 + ranks_) % ranks_)];
        peer.to->rows()[peer.places.size()] = rows[i];
        peer.places.push_back(i);
    }
    for (Peer& peer : peers_) {
        peer.to->count = static_cast<int64_t>(peer.places.size());
        peer.in = peer.places.size() * row_;
        peer.to->asked.store(call_, std::memory_order_release);
    }
    bool copied = false;
    for (bool open = true; open;) {
        bool moved = false;
        open = !copied;
        for (Peer& peer : peers_) {
            moved |= pack(peer);
            moved |= unpack(peer, out);
            open |= !peer.heard || peer.out || peer.in;
        }
        if (!moved && !copied) {  // while the others pack
            copy_own(rows, out);
            copied = true;
        } else if (!moved && open) {
            idle();
        }
    }
}

}  // namespace bench
