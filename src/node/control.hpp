// The control page: how ranks of one node agree without a system call.  Each rank has a line of two
// 64-bit words, used in turns (round, operation, code, tag), and a mailbox for each.  A round is:
// publish, do the work, collect the others' words.
//
// A word is decided exactly once: by its rank, or by a rank that gives it up (it died, left, or the
// deadline passed), both with compare-and-swap.  So every rank sees the same words, whoever dies when,
// and a collective ends alike everywhere.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "memory/segment.hpp"
#include "node/board.hpp"
#include "node/watcher.hpp"

namespace dds {

class Control final : public Board {
public:
    static size_t bytes(int ranks);
    // `page` has bytes(n); `peers` one entry a rank of the node, ours NULL; `spin`: no more ranks
    // than processors, so a peer is running while we wait for it.
    Control(Segment page, int index, std::vector<std::shared_ptr<Liveness>> peers, bool spin);

    int ranks() const override { return static_cast<int>(peers_.size()); }
    int index() const { return index_; }

    void publish(Word word, std::span<const std::byte> payload = {}) override;
    Result<Waited> collect(int64_t timeout_ms) override;
    std::vector<int> missing() const override;
    void give_up(int code) override;
    Word word(int index) const override;
    std::span<const std::byte> payload(int index) const override;

    bool decided(int index) const;  // its word of this round
    // What a rank has published for the round after this one already: how it ended its work.
    std::optional<Word> ahead(int index) const;

    void leave();  // others no longer wait for us
    bool left(int index) const;

private:
    struct alignas(128) Line {
        std::atomic<uint64_t> word[2];
        std::atomic<uint32_t> waiters;
        std::atomic<uint32_t> left;
    };
    class Collect;

    Line& line(int index) const { return lines_[index]; }
    std::byte* box(int index) const;
    std::atomic<uint64_t>& slot(int index) const { return line(index).word[round_ & 1]; }
    void decide(int index, int code);

    Segment page_;
    Line* lines_;
    int index_;
    std::vector<std::shared_ptr<Liveness>> peers_;
    bool spin_;
    uint32_t round_ = 0;
    uint64_t last_[2] = {0, 0};  // what our two words hold
};

}  // namespace dds
