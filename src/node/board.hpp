// Where the ranks of a collective call put a word and a card each, and read the others': a page of
// memory within a node (control.hpp), a communicator between nodes (store/assembly.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/wait.hpp"

namespace dds {

class Board {
public:
    static constexpr size_t kMailbox = 512;

    struct Word {
        uint8_t op = 0;
        uint8_t code = 0;  // DDS_ERR_*
        uint16_t tag = 0;
    };
    static constexpr uint8_t kGivenUp = 0xff;  // op of a word that another rank decided; tag: who

    virtual ~Board() = default;
    virtual int ranks() const = 0;

    // Begin the next round with our word; `payload` is at most kMailbox bytes.
    virtual void publish(Word word, std::span<const std::byte> payload) = 0;
    // Wait until every word of the round is decided.  May be called again after a timeout.
    virtual Result<Waited> collect(int64_t timeout_ms) = 0;
    // Indices that have not published, as far as that is known.
    virtual std::vector<int> missing() const = 0;
    // The round ends here, without those.
    virtual void give_up(int code) = 0;

    // After a collect.
    virtual Word word(int index) const = 0;
    virtual std::span<const std::byte> payload(int index) const = 0;
};

}  // namespace dds
