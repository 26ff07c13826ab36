// How the ranks of a node find each other: everyone listens, the higher rank of a pair connects and
// says who it is, both ends check that the other is the same user.
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "base/clock.hpp"
#include "node/peer.hpp"

namespace dds {

class Node::Meeting final : public Operation {
public:
    Meeting(Node& node, int door, std::span<const NodeCard> cards)
        : node_(node), door_(door), cards_(cards)
    {
        for (const int rank : node.ranks_)
            if (rank != node.rank_)
                (rank < node.rank_ ? to_call_ : awaited_).push_back(rank);
    }

    Result<Step> step() override
    {
        bool moved = false;
        for (size_t i = 0; i < to_call_.size();) {
            DDS_LET(reached, call(to_call_[i]));
            if (reached) {
                to_call_.erase(to_call_.begin() + static_cast<long>(i));
                moved = true;
            } else {
                i++;
            }
        }
        // Strangers may knock too (any process of the network namespace can): few at a time.
        while (!awaited_.empty() && knocking_.size() < kMaxKnocking) {
            DDS_LET(fd, socket::accept(door_));
            if (!fd)
                break;
            if (const auto pid = socket::check_peer(fd->get()))
                knocking_.push_back({std::move(*fd), *pid});
        }
        for (size_t i = 0; i < knocking_.size();) {
            if (listen_to(knocking_[i])) {
                knocking_.erase(knocking_.begin() + static_cast<long>(i));
                moved = true;
            } else {
                i++;
            }
        }
        if (to_call_.empty() && awaited_.empty())
            return Step::ended;
        if (!moved)
            DDS_TRY(knock());
        return moved ? Step::moved : Step::idle;
    }

    int missing() const { return to_call_.empty() ? awaited_.front() : to_call_.front(); }

private:
    static constexpr size_t kMaxKnocking = 128;
    static constexpr int64_t kKnock = 100 * clock::kMillisecond;

    struct Knocking {
        Fd fd;
        int pid;
    };

    Result<bool> call(int rank)
    {
        auto& peer = node_.peers_[rank];
        if (!peer) {
            DDS_LET(fd, socket::connect(cards_[static_cast<size_t>(rank)].door));
            if (!fd)
                return false;
            DDS_LET(pid, socket::check_peer(fd->get()));
            peer = std::make_unique<Peer>();
            peer->fd = std::move(*fd);
            peer->pid = pid;
        }
        const Message hello = node_.message(Message::kHello, 0, 0);
        return socket::send(peer->fd.get(), std::as_bytes(std::span(&hello, 1)), -1);
    }

    // Those that shall call us may have died or failed: then their door is closed.  A rank closes it
    // also when it has met everyone, us too, so a closed door counts only if no call came since.
    Result<void> knock()
    {
        const int64_t now = clock::now();
        if (now < next_knock_)
            return {};
        next_knock_ = now + kKnock;
        for (const int rank : awaited_) {
            const auto reached = socket::connect(cards_[static_cast<size_t>(rank)].door);
            if (reached || reached.error().code != DDS_ERR_PEER)
                continue;
            if (closed_.count(rank))
                return fail_rank(DDS_ERR_PEER, rank, "rank %d died or gave up in dds_init", rank);
            closed_.insert(rank);
        }
        return {};
    }

    // True when the connection is dealt with: it was a peer's, or is dropped.
    bool listen_to(Knocking& knocking)
    {
        Message hello;
        const auto got =
            socket::receive(knocking.fd.get(), std::as_writable_bytes(std::span(&hello, 1)));
        if (got && !*got)
            return false;  // has not spoken yet
        if (!got || (*got)->bytes != sizeof hello || hello.kind != Message::kHello ||
            !node_.check(hello, static_cast<int>(hello.rank)))
            return true;
        const auto at = std::find(awaited_.begin(), awaited_.end(), static_cast<int>(hello.rank));
        if (at == awaited_.end())
            return true;
        auto peer = std::make_unique<Peer>();
        peer->fd = std::move(knocking.fd);
        peer->pid = knocking.pid;
        node_.peers_[*at] = std::move(peer);
        awaited_.erase(at);
        return true;
    }

    Node& node_;
    int door_;
    std::span<const NodeCard> cards_;
    std::vector<int> to_call_, awaited_;
    std::vector<Knocking> knocking_;
    std::set<int> closed_;
    int64_t next_knock_ = clock::now() + kKnock;
};

Result<Node::Prepared> Node::prepare()
{
    Prepared prepared;
    DDS_LET(id, node_identity());
    prepared.card.node = id;
    DDS_LET(door, socket::listen(prepared.card.door));
    prepared.door = std::move(door);
    if (!clock::random(prepared.card.random.data(), prepared.card.random.size()))
        return fail(DDS_ERR_UNSUPPORTED, "the system gives no random numbers (getrandom)");
    prepared.card.uid = geteuid();
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    sched_getaffinity(0, sizeof cpus, &cpus);
    static_assert(sizeof cpus == sizeof prepared.card.cpus);
    memcpy(prepared.card.cpus.data(), &cpus, sizeof cpus);
    return prepared;
}

Result<void> Node::meet(Prepared prepared, std::span<const NodeCard> cards, int64_t timeout_ms)
{
    if (ranks_.size() == 1)
        return {};
    DDS_LET(watcher, Watcher::get());
    watcher_ = watcher;

    Meeting meeting(*this, prepared.door.get(), cards);
    DDS_LET(waited, wait(meeting, {.timeout_ms = timeout_ms}));
    if (waited == Waited::interrupted)
        return fail(DDS_ERR_INTERRUPTED, "interrupted while meeting the ranks of this node");
    if (waited == Waited::timeout)
        return fail_rank(DDS_ERR_TIMEOUT, meeting.missing(),
                         "rank %d: rank %d of this node did not connect within %lld ms", rank_,
                         meeting.missing(), static_cast<long long>(timeout_ms));
    for (const auto& [other, peer] : peers_)
        DDS_TRY(watcher_->watch(peer->fd.get(), peer->liveness));
    return share_page(cards, timeout_ms);
}

}  // namespace dds
