#include "node/node.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>

#include <algorithm>

#include "base/clock.hpp"
#include "node/peer.hpp"

namespace dds {

Node::Node(int rank, const std::array<unsigned char, 16>& store) : rank_(rank), store_(store) {}

std::unique_ptr<Node> Node::start(std::span<const NodeCard> cards, int rank)
{
    std::unique_ptr<Node> node(new Node(rank, cards[0].random));
    const NodeCard& own = cards[static_cast<size_t>(rank)];
    for (size_t i = 0; i < cards.size(); i++)
        if (same_node(cards[i], own))
            node->ranks_.push_back(static_cast<int>(i));
    return node;
}

void Node::leave()
{
    if (control_)
        control_->leave();
    for (const auto& [rank, peer] : peers_)
        if (peer && peer->fd)
            shutdown(peer->fd.get(), SHUT_RDWR);
}

Node::~Node()
{
    leave();
    for (const auto& [rank, peer] : peers_)
        if (watcher_ && peer && peer->fd)
            watcher_->forget(peer->fd.get());
}

int Node::pid(int rank) const { return rank == rank_ ? getpid() : peers_.at(rank)->pid; }

bool Node::dead(int rank) const
{
    const auto at = peers_.find(rank);
    return at != peers_.end() && at->second &&
           at->second->liveness->dead.load(std::memory_order_acquire);
}

int Node::index(int rank) const
{
    return static_cast<int>(std::lower_bound(ranks_.begin(), ranks_.end(), rank) - ranks_.begin());
}

bool Node::absent(int rank) const { return control_ && !control_->decided(index(rank)); }

// Once we have left ourselves our connections tell nothing of the others.
bool Node::left() const { return control_ && control_->left(index(rank_)); }

bool Node::died(int rank) const
{
    if (!dead(rank) || left())
        return false;
    const int process = pid(rank);
    const bool left = control_ && control_->left(index(rank));
    return !left || (process > 0 && kill(process, 0) != 0 && errno == ESRCH);
}

bool Node::lost(int rank) const
{
    if (!dead(rank))
        return false;
    if (!control_ || left() || died(rank))
        return true;
    const auto next = control_->ahead(index(rank)).value_or(Control::Word{});
    return absent(rank) || next.op == Control::kGivenUp;
}

int Node::dead_count() const
{
    return static_cast<int>(
        std::count_if(ranks_.begin(), ranks_.end(), [this](int rank) { return dead(rank); }));
}

bool Node::gone(int rank) const
{
    const auto at = peers_.find(rank);
    if (at == peers_.end() || !at->second || left())
        return false;
    pollfd end{at->second->fd.get(), POLLRDHUP, 0};
    return poll(&end, 1, 0) == 1;
}

Node::Message Node::message(uint16_t kind, uint32_t id, size_t bytes) const
{
    return {Message::kMagic, Message::kVersion, kind, static_cast<uint32_t>(rank_), id, bytes,
            store_};
}

Result<void> Node::check(const Message& message, int rank) const
{
    if (message.magic != Message::kMagic || message.version != Message::kVersion ||
        message.rank != static_cast<uint32_t>(rank) || message.store != store_)
        return fail_rank(DDS_ERR_CORRUPT, rank, "rank %d sent a message that is not of this store",
                         rank);
    return {};
}

void Node::show(uint32_t id, const Segment& segment, bool once, std::shared_ptr<const void> keep)
{
    struct Undo {
        Node& node;
        uint32_t id;
        bool all = false;
        ~Undo()
        {
            if (!all)
                node.withdraw(id);
        }
    } undo{*this, id};
    const Message out = message(once ? Message::kOnce : Message::kSegment, id, segment.bytes());
    for (const auto& [rank, peer] : peers_)
        peer->outbox.push_back({out, segment.fd(), keep});
    undo.all = true;
}

void Node::withdraw(uint32_t id)
{
    for (const auto& [rank, peer] : peers_)
        std::erase_if(peer->outbox, [id](const auto& out) {
            return out.message.kind != Message::kPage && out.message.id == id;
        });
}

// Sends and receives in turns: a rank whose queue is full waits for one that is sending itself.
class Node::Settling final : public Operation {
public:
    Settling(Node& node, std::span<const Awaited> awaited, uint16_t kind)
        : node_(node), awaited_(awaited), kind_(kind)
    {
        for (const auto& [rank, peer] : node_.peers_)
            std::erase_if(peer->inbox,
                          [this, rank = rank](const auto& in) { return vain(rank, in); });
    }

    Result<Step> step() override
    {
        bool moved = false, all = true;
        for (const auto& [rank, peer] : node_.peers_) {
            DDS_TRY(push(rank, *peer, moved));
            all = all && peer->outbox.empty();
        }
        for (size_t i = 0; i < awaited_.size(); i++) {
            if (here(i))
                continue;
            DDS_TRY(pull(awaited_[i], moved));
            DDS_TRY(take(awaited_[i]));
            if (here(i))
                moved = true;
            else
                all = false;
        }
        if (all || moved)
            return all ? Step::ended : Step::moved;
        DDS_TRY(look_for_failures());
        return Step::idle;
    }

    int missing() const
    {
        for (size_t i = 0; i < awaited_.size(); i++)
            if (!here(i))
                return awaited_[i].rank;
        for (const auto& [rank, peer] : node_.peers_)
            if (!peer->outbox.empty())
                return rank;
        return -1;
    }

private:
    bool here(size_t i) const { return awaited_[i].to->data() != nullptr; }

    // Of a call that failed, and not to be asked for again.
    bool vain(int rank, const Peer::Incoming& in) const
    {
        return in.kind == Message::kOnce &&
               std::none_of(awaited_.begin(), awaited_.end(), [&](const Awaited& awaited) {
                   return awaited.rank == rank && awaited.id == in.id;
               });
    }

    // A rank that could not show its memory says so in the round that follows; its code is ours then.
    Result<void> look_for_failures() const
    {
        const auto& ranks = node_.ranks_;
        for (size_t i = 0; node_.control_ && i < awaited_.size(); i++) {
            const int rank = awaited_[i].rank;
            const auto at = std::lower_bound(ranks.begin(), ranks.end(), rank) - ranks.begin();
            const auto word = node_.control_->ahead(static_cast<int>(at));
            if (!here(i) && word && word->code != DDS_SUCCESS)
                return fail_rank(word->code, rank, "rank %d failed before it showed its memory",
                                 rank);
        }
        return {};
    }

    Result<void> push(int rank, Peer& peer, bool& moved)
    {
        while (!peer.outbox.empty()) {
            const Peer::Outgoing& out = peer.outbox.front();
            const auto sent = socket::send(peer.fd.get(), std::as_bytes(std::span(&out.message, 1)),
                                           out.descriptor);
            if (!sent)
                return gone(rank, sent.error());
            if (!*sent)
                break;
            peer.outbox.pop_front();
            moved = true;
        }
        return {};
    }

    Result<void> pull(const Awaited& awaited, bool& moved)
    {
        Peer& peer = *node_.peers_.at(awaited.rank);
        for (;;) {
            Message message;
            auto got =
                socket::receive(peer.fd.get(), std::as_writable_bytes(std::span(&message, 1)));
            if (!got)
                return gone(awaited.rank, got.error());
            if (!*got)
                return {};
            if ((*got)->bytes == 0)
                return gone(awaited.rank, {DDS_ERR_PEER, awaited.rank, "its connection is closed"});
            if ((*got)->bytes != sizeof message)
                return fail_rank(DDS_ERR_CORRUPT, awaited.rank, "rank %d sent a broken message",
                                 awaited.rank);
            DDS_TRY(node_.check(message, awaited.rank));
            if (!(*got)->descriptor)
                return fail_rank(DDS_ERR_PEER, awaited.rank, "rank %d has no memory to show",
                                 awaited.rank);
            Peer::Incoming in{message.kind, message.id, message.bytes,
                              std::move((*got)->descriptor)};
            if (!vain(awaited.rank, in))
                peer.inbox.push_back(std::move(in));
            moved = true;
        }
    }

    Result<void> take(const Awaited& awaited)
    {
        const bool page = kind_ == Message::kPage;
        auto& inbox = node_.peers_.at(awaited.rank)->inbox;
        for (auto at = inbox.begin(); at != inbox.end(); ++at) {
            if ((at->kind == Message::kPage) != page || at->id != awaited.id)
                continue;
            DDS_LET(segment, Segment::attach(at->descriptor, awaited.bytes,
                                             page ? Sharing::write : Sharing::read));
            *awaited.to = std::move(segment);
            inbox.erase(at);
            break;
        }
        return {};
    }

    static Error gone(int rank, const Error& error)
    {
        return fail_rank(error.code == DDS_ERR_IO ? DDS_ERR_PEER : error.code, rank,
                         "rank %d of this node is gone: %s", rank, error.text.c_str());
    }

    Node& node_;
    std::span<const Awaited> awaited_;
    uint16_t kind_;
};

Result<void> Node::settle(std::span<const Awaited> awaited, int64_t timeout_ms)
{
    Settling settling(*this, awaited, Message::kSegment);
    DDS_LET(waited, wait(settling, {.timeout_ms = timeout_ms}));
    if (waited == Waited::ended)
        return {};
    const int rank = settling.missing();
    if (waited == Waited::interrupted)
        return fail_rank(DDS_ERR_INTERRUPTED, rank,
                         "interrupted while waiting for the memory of "
                         "rank %d",
                         rank);
    return fail_rank(DDS_ERR_TIMEOUT, rank, "rank %d did not show its memory within %lld ms", rank,
                     static_cast<long long>(timeout_ms));
}

// The lowest rank of the node makes the page.
Result<void> Node::share_page(std::span<const NodeCard> cards, int64_t timeout_ms)
{
    const size_t bytes = Control::bytes(static_cast<int>(ranks_.size()));
    Segment page;
    std::vector<Awaited> awaited;
    Result<void> mine;
    if (ranks_.front() == rank_) {
        auto made = Segment::create("ddstore-control", bytes, Sharing::write, false);
        if (made)
            page = std::move(*made);
        else
            mine = made.error();  // sent on as a message without a descriptor
        for (const auto& [rank, peer] : peers_)
            peer->outbox.push_back({message(Message::kPage, 0, bytes), page.fd(), nullptr});
    } else {
        awaited.push_back({ranks_.front(), 0, bytes, &page});
    }
    Settling settling(*this, awaited, Message::kPage);
    DDS_LET(waited, wait(settling, {.timeout_ms = timeout_ms}));
    if (waited != Waited::ended)
        return fail_rank(waited == Waited::timeout ? DDS_ERR_TIMEOUT : DDS_ERR_INTERRUPTED,
                         ranks_.front(), "rank %d did not share the control page", ranks_.front());
    DDS_TRY(std::move(mine));

    std::bitset<1024> cpus;
    std::vector<std::shared_ptr<Liveness>> liveness;
    int index = 0;
    for (const int rank : ranks_) {
        if (rank == rank_)
            index = static_cast<int>(liveness.size());
        liveness.push_back(rank == rank_ ? nullptr : peers_.at(rank)->liveness);
        for (size_t cpu = 0; cpu < cpus.size(); cpu++)
            if (cards[static_cast<size_t>(rank)].cpus[cpu / 64] >> (cpu % 64) & 1)
                cpus.set(cpu);
    }
    crowded_ = ranks_.size() > cpus.count();
    control_ = std::make_unique<Control>(std::move(page), index, std::move(liveness), !crowded_);
    return {};
}

}  // namespace dds
