// The board of a store whose ranks do not share one node, or whose wire needs its targets to make
// progress: rounds go through the communicator, whose steps make that progress.  On the node each rank
// also puts its word on the page, by which it is known who is missing, and who has failed already.
#pragma once

#include <memory>
#include <vector>

#include "comm/comm.hpp"
#include "node/node.hpp"

namespace dds {

class Assembly final : public Board {
public:
    Assembly(Comm& comm, Node& node);
    ~Assembly() override;

    std::span<const int> all() const { return all_; }

    int ranks() const override { return comm_.size(); }
    void publish(Word word, std::span<const std::byte> payload) override;
    Result<Waited> collect(int64_t timeout_ms) override;
    std::vector<int> missing() const override;
    void give_up(int code) override;
    Word word(int index) const override { return heads_[static_cast<size_t>(index)].word; }
    std::span<const std::byte> payload(int index) const override;

private:
    // First the words, and how long the cards are; then, where there are any, the cards.
    struct Head {
        Word word;
        uint32_t bytes;
    };
    class Round;

    Comm& comm_;
    Node& node_;
    std::vector<int> all_;
    Head own_{};
    std::vector<std::byte> card_;
    std::vector<Head> heads_;
    std::vector<std::byte> cards_;
    size_t stride_ = 0;
    std::unique_ptr<Round> round_;
};

}  // namespace dds
