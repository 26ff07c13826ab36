// How the ranks of a collective call come to the same end.  A round exchanges what each rank calls,
// whether it failed, and a card of its arguments; every rank judges the same words in the same way,
// so all return the same code.  A round that is not completed poisons the store.
#pragma once

#include <array>
#include <atomic>
#include <span>

#include "node/node.hpp"

namespace dds {

enum class Op : uint8_t {
    add = 1,
    create,
    drop,
    dropped,
    get_batch_all,
    got_batch_all,
    epoch_begin,
    epoch_end,
    place,
    attach,
    expose,
    publish,
    published,
};
const char* op_name(Op op);

class Agreement {
public:
    // `board` is NULL for a rank alone; `ranks` are those that it has, in its order.
    Agreement(Board* board, std::span<const int> ranks, int rank)
        : board_(board), ranks_(ranks), rank_(rank)
    {
    }

    // One round.  `mine` is this rank's own result so far, `card` what the others shall see.
    Result<void> round(Op op, const Result<void>& mine, std::span<const std::byte> card,
                       int64_t timeout_ms);

    // The same in two halves, with work between: a collective read hides its wait behind the copy.
    void publish(Op op, uint16_t tag, const Result<void>& mine,
                 std::span<const std::byte> card = {});
    Result<void> conclude(int64_t timeout_ms);

    // After a round that succeeded: rank r's card.
    template <class Card>
    const Card& card(int rank) const
    {
        static_assert(sizeof(Card) <= Board::kMailbox && std::is_trivially_copyable_v<Card>);
        return *reinterpret_cast<const Card*>(bytes(rank).data());
    }
    std::span<const int> ranks() const { return ranks_; }

    // The call was not completed, and why: returns it.
    Result<void> poison(Error why);
    // The same in the middle of one, for what goes on between two rounds.
    Result<void> abandon(Error why);
    bool poisoned() const { return poisoned_.load(std::memory_order_relaxed); }
    Result<void> check_poison() const;

    // One collective call at a time: threads that call at once take turns.
    class Turn {
    public:
        ~Turn()
        {
            if (agreement_)
                agreement_->busy_.store(false, std::memory_order_release);
        }
        Turn(Turn&& other) noexcept : agreement_(std::exchange(other.agreement_, nullptr)) {}

    private:
        friend class Agreement;
        explicit Turn(Agreement* agreement) : agreement_(agreement) {}
        Agreement* agreement_;
    };
    Result<Turn> turn(int64_t timeout_ms);

private:
    std::span<const std::byte> bytes(int rank) const;
    Result<void> judge();
    Error own_failure() const;
    Error given_up(int rank, Board::Word word) const;
    std::string missing() const;

    Board* board_;
    std::span<const int> ranks_;
    int rank_;
    std::atomic<bool> busy_{false};
    std::atomic<bool> poisoned_{false};
    std::string poison_;  // why

    Op op_ = Op::add;
    Result<void> mine_;
    int stopped_ = DDS_SUCCESS;                                 // our own wait ended with this
    alignas(64) std::array<std::byte, Board::kMailbox> own_{};  // a card, like those of the board
};

}  // namespace dds
