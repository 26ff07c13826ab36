// A connection to another rank of the node, and what travels on it.  Private to the room.
#pragma once

#include <deque>

#include "node/node.hpp"

namespace dds {

struct Node::Message {
    static constexpr uint32_t kMagic = 0x4e534444;  // "DDSN"
    static constexpr uint16_t kVersion = 1;
    static constexpr uint16_t kHello = 1, kPage = 2, kSegment = 3, kOnce = 4;

    uint32_t magic;
    uint16_t version, kind;
    uint32_t rank;  // the sender
    uint32_t id;
    uint64_t bytes;
    std::array<unsigned char, 16> store;
};

struct Node::Peer {
    Fd fd;
    int pid = 0;
    std::shared_ptr<Liveness> liveness = std::make_shared<Liveness>();

    struct Outgoing {
        Message message;
        int descriptor;
        std::shared_ptr<const void> keep;  // holds the descriptor open until it is out
    };
    std::deque<Outgoing> outbox;
    struct Incoming {
        uint16_t kind;
        uint32_t id;
        size_t bytes;
        Fd descriptor;
    };
    std::deque<Incoming> inbox;
};

}  // namespace dds
