#include "node/control.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstring>

#include "base/clock.hpp"

namespace dds {
namespace {

uint64_t pack(uint32_t round, Control::Word word)
{
    return static_cast<uint64_t>(round) << 32 | static_cast<uint64_t>(word.op) << 24 |
           static_cast<uint64_t>(word.code) << 16 | word.tag;
}

uint32_t round_of(uint64_t packed) { return static_cast<uint32_t>(packed >> 32); }

Control::Word unpack(uint64_t packed)
{
    return {static_cast<uint8_t>(packed >> 24), static_cast<uint8_t>(packed >> 16),
            static_cast<uint16_t>(packed)};
}

// The half of a word that holds the round is what waiters sleep on (little endian: the upper one).
uint32_t* futex_of(std::atomic<uint64_t>& word) { return reinterpret_cast<uint32_t*>(&word) + 1; }

void wake(std::atomic<uint64_t>& word)
{
    syscall(SYS_futex, futex_of(word), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace

size_t Control::bytes(int ranks)
{
    const size_t all = static_cast<size_t>(ranks) * (sizeof(Line) + 2 * kMailbox);
    return (all + 4095) & ~size_t{4095};
}

Control::Control(Segment page, int index, std::vector<std::shared_ptr<Liveness>> peers, bool spin)
    : page_(std::move(page)),
      lines_(reinterpret_cast<Line*>(page_.data())),
      index_(index),
      peers_(std::move(peers)),
      spin_(spin)
{
}

std::byte* Control::box(int index) const
{
    return page_.data() + peers_.size() * sizeof(Line) +
           (static_cast<size_t>(index) * 2 + (round_ & 1)) * kMailbox;
}

bool Control::decided(int index) const
{
    return round_of(slot(index).load(std::memory_order_acquire)) == round_;
}

void Control::decide(int index, int code)
{
    uint64_t before = slot(index).load(std::memory_order_acquire);
    const uint64_t given_up =
        pack(round_, {kGivenUp, static_cast<uint8_t>(code), static_cast<uint16_t>(index_)});
    while (round_of(before) != round_)
        if (slot(index).compare_exchange_weak(before, given_up))
            wake(slot(index));
}

void Control::publish(Word word, std::span<const std::byte> payload)
{
    round_++;
    if (!payload.empty())
        memcpy(box(index_), payload.data(), std::min(payload.size(), kMailbox));
    uint64_t& last = last_[round_ & 1];
    const uint64_t ours = pack(round_, word);
    // Fails only where another rank has given us up for this round; the word then stays theirs.
    uint64_t expected = last;
    last = slot(index_).compare_exchange_strong(expected, ours) ? ours : expected;
    if (line(index_).waiters.load())
        wake(slot(index_));
}

class Control::Collect final : public Operation {
public:
    explicit Collect(Control& control) : control_(control) {}

    Result<Step> step() override
    {
        for (; next_ < control_.ranks(); next_++) {
            if (control_.decided(next_))
                continue;
            const auto& peer = control_.peers_[static_cast<size_t>(next_)];
            if (!peer || !(peer->dead.load(std::memory_order_acquire) || control_.left(next_)))
                return Step::idle;
            // Its last word came before its end, so look again before giving it up.
            control_.decide(next_, DDS_ERR_PEER);
        }
        return Step::ended;
    }

    void park(int64_t ns) override
    {
        auto& word = control_.slot(next_);
        auto& waiters = control_.line(next_).waiters;
        waiters.fetch_add(1);
        const uint64_t seen = word.load();
        if (round_of(seen) != control_.round_) {
            const timespec t{ns / clock::kSecond, ns % clock::kSecond};
            syscall(SYS_futex, futex_of(word), FUTEX_WAIT, round_of(seen), &t, nullptr, 0);
        }
        waiters.fetch_sub(1);
    }

private:
    Control& control_;
    int next_ = 0;
};

Result<Waited> Control::collect(int64_t timeout_ms)
{
    // 2,000 pauses are about 50 us: longer than a neighbour's batch, shorter than a sleep's cost.
    // With more ranks than processors a spinning rank keeps the one it waits for from running.
    constexpr int kSpins = 2000, kYields = 50;
    Collect collect(*this);
    return wait(collect, {.timeout_ms = timeout_ms,
                          .spins = spin_ ? kSpins : 0,
                          .yields = kYields,
                          .park_max_ns = clock::kSecond});
}

std::vector<int> Control::missing() const
{
    std::vector<int> indices;
    for (int i = 0; i < ranks(); i++)
        if (!decided(i))
            indices.push_back(i);
    return indices;
}

void Control::give_up(int code)
{
    for (int i = 0; i < ranks(); i++)
        decide(i, code);
}

Control::Word Control::word(int index) const
{
    return unpack(slot(index).load(std::memory_order_acquire));
}

std::optional<Control::Word> Control::ahead(int index) const
{
    const uint64_t packed = line(index).word[(round_ + 1) & 1].load(std::memory_order_acquire);
    if (round_of(packed) != round_ + 1)
        return std::nullopt;
    return unpack(packed);
}

std::span<const std::byte> Control::payload(int index) const { return {box(index), kMailbox}; }

void Control::leave()
{
    line(index_).left.store(1, std::memory_order_release);
    // Whoever sleeps on our next word looks again.
    for (auto& word : line(index_).word)
        wake(word);
}

bool Control::left(int index) const
{
    return line(index).left.load(std::memory_order_acquire) != 0;
}

}  // namespace dds
