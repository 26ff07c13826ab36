// The ranks that share this node's memory: a connection to each, over which descriptors go and whose
// end tells that the rank is gone, and the control page.
#pragma once

#include <array>
#include <bitset>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "node/control.hpp"
#include "node/identity.hpp"
#include "node/socket.hpp"
#include "node/source.hpp"

namespace dds {

// What a rank tells all others before they meet.
struct NodeCard {
    NodeId node;
    socket::Name door;                     // where it listens
    std::array<unsigned char, 16> random;  // rank 0's names the store
    uint32_t uid;
    uint32_t reserved;
    std::array<uint64_t, 16> cpus;  // it may run on these
};
// Whether the two share memory: one identity, and one user.
inline bool same_node(const NodeCard& a, const NodeCard& b)
{
    return a.node == b.node && a.uid == b.uid;
}

class Node final : public SegmentSource {
public:
    // Before the exchange of cards: our card, and the door we listen at.
    struct Prepared {
        NodeCard card{};
        Fd door;
    };
    static Result<Prepared> prepare();

    // After it: the ranks with our identity and user are this node's.
    static std::unique_ptr<Node> start(std::span<const NodeCard> cards, int rank);
    // Connect to them and share the control page; all ranks of the node call it.  Where it fails on
    // one, the others notice, and the object keeps what it has till the end: its connections closing
    // would look like a death.
    Result<void> meet(Prepared prepared, std::span<const NodeCard> cards, int64_t timeout_ms);
    ~Node() override;

    // Others no longer wait for us.
    void leave();

    const std::array<unsigned char, 16>& store_id() const { return store_; }
    std::span<const int> ranks() const { return ranks_; }  // on this node, ours too, ascending
    bool has(int rank) const { return peers_.count(rank) != 0 || rank == rank_; }
    int pid(int rank) const;    // as seen from here
    bool dead(int rank) const;  // or it has left the store
    bool died(int rank) const;  // its process is gone: it serves no wire any more
    // It is gone, and does not do its part of the round that we are in.  One that left after it had
    // done that is missed by nobody.
    bool lost(int rank) const;
    int dead_count() const;
    bool absent(int rank) const;  // its word of this round is not on the page

    // More ranks than processors: one that spins keeps the one that it waits for from running.
    bool crowded() const { return crowded_; }

    // NULL for one rank alone on its node.
    Control* control() { return control_.get(); }

    // The peer's end of the connection, asked now and not when the watcher gets to run.
    bool gone(int rank) const;

    // Show a segment to every rank of the node, or to none where memory lacks; it goes out in
    // settle(), `keep` holds it till then.  `once`: who does not take it in its next settle() never
    // will.
    void show(uint32_t id, const Segment& segment, bool once, std::shared_ptr<const void> keep);
    void withdraw(uint32_t id);  // what of it is not out yet
    // Until our own descriptors are out, too.
    Result<void> settle(std::span<const Awaited> awaited, int64_t timeout_ms) override;

private:
    struct Peer;
    struct Message;
    class Meeting;
    class Settling;

    Node(int rank, const std::array<unsigned char, 16>& store);
    int index(int rank) const;
    bool left() const;
    Result<void> share_page(std::span<const NodeCard> cards, int64_t timeout_ms);
    Message message(uint16_t kind, uint32_t id, size_t bytes) const;
    Result<void> check(const Message& message, int rank) const;

    int rank_;
    bool crowded_ = false;
    std::array<unsigned char, 16> store_;
    std::vector<int> ranks_;
    std::map<int, std::unique_ptr<Peer>> peers_;
    std::shared_ptr<Watcher> watcher_;
    std::unique_ptr<Control> control_;
};

}  // namespace dds
