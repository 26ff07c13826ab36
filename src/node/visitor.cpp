#include "node/visitor.hpp"

#include <poll.h>

#include "base/clock.hpp"
#include "base/wait.hpp"
#include "node/lobby_message.hpp"
#include "node/socket.hpp"

namespace dds {
namespace {

void sleep_for_message(int fd, int64_t ns)
{
    pollfd end{fd, POLLIN, 0};
    const timespec most{ns / clock::kSecond, ns % clock::kSecond};
    ppoll(&end, 1, &most, nullptr);
}

struct Heard {
    LobbyMessage message;
    Fd descriptor;
};

// What the owner says next, or nothing yet.
Result<std::optional<Heard>> hear(int fd)
{
    std::byte bytes[LobbyMessage::kMost];
    DDS_LET(got, socket::receive(fd, bytes));
    if (!got)
        return std::optional<Heard>();
    if (got->bytes == 0)
        return fail(DDS_ERR_PEER, "it closed the connection: it died or left its store");
    DDS_LET(message, LobbyMessage::parse(std::span(bytes, got->bytes)));
    return std::optional<Heard>(Heard{message, std::move(got->descriptor)});
}

}  // namespace

Error Visitor::failed(const Error& error) const
{
    return fail_rank(error.code == DDS_ERR_IO ? DDS_ERR_PEER : error.code, owner_.rank,
                     "rank %d, whose socket is %s: %s", owner_.rank, owner_.socket.c_str(),
                     error.text.c_str());
}

class Visitor::Calling final : public Operation {
public:
    Calling(Visitor& visitor, int directory) : visitor_(visitor), directory_(directory) {}

    Result<Step> step() override
    {
        if (!visitor_.fd_) {
            DDS_LET(fd, socket::connect_at(directory_, visitor_.owner_.socket));
            if (!fd)
                return Step::idle;
            DDS_LET(pid, socket::check_peer(fd->get()));
            visitor_.pid_ = pid;
            visitor_.fd_ = std::move(*fd);
        }
        if (!greeted_) {
            LobbyMessage hello = LobbyMessage::make(LobbyMessage::kHello);
            hello.store = visitor_.owner_.store;
            hello.incarnation = visitor_.owner_.incarnation;
            const auto sent = socket::send(visitor_.fd_.get(), hello.view(), -1);
            if (!sent && sent.error().code != DDS_ERR_PEER)
                return sent.error();
            greeted_ = !sent || *sent;
            return greeted_ ? Step::moved : Step::idle;
        }
        auto heard = hear(visitor_.fd_.get());
        // One that is full closes without reading our hello: why, it has said before that.
        if (!heard && heard.error().code == DDS_ERR_PEER && !std::exchange(closed_, true))
            return Step::moved;
        if (!heard)
            return std::move(heard).error();
        if (!*heard)
            return Step::idle;
        DDS_TRY(check((*heard)->message));
        return Step::ended;
    }

    void park(int64_t ns) override
    {
        if (greeted_)
            sleep_for_message(visitor_.fd_.get(), ns);
        else
            clock::sleep(ns);
    }

private:
    Result<void> check(const LobbyMessage& welcome) const
    {
        const Owner& owner = visitor_.owner_;
        if (welcome.kind != LobbyMessage::kWelcome)
            return fail(DDS_ERR_CORRUPT, "it answers a hello with a message of kind %u",
                        welcome.kind);
        if (welcome.code == DDS_ERR_LIMIT)
            return fail(DDS_ERR_LIMIT,
                        "%u readers visit it and it takes no more; close some, or raise `ulimit "
                        "-n` of the job that it belongs to",
                        welcome.limit);
        if (welcome.code != DDS_SUCCESS || welcome.store != owner.store ||
            welcome.incarnation != owner.incarnation)
            return fail(DDS_ERR_STALE,
                        "it is of another store or run now; read the record of the store again");
        return {};
    }

    Visitor& visitor_;
    int directory_;
    bool greeted_ = false, closed_ = false;
};

Result<std::unique_ptr<Visitor>> Visitor::call(int directory, const Owner& owner,
                                               int64_t timeout_ms)
{
    std::unique_ptr<Visitor> visitor(new Visitor(owner));
    DDS_LET(watcher, Watcher::get());
    Calling calling(*visitor, directory);
    const auto waited = wait(calling, {.timeout_ms = timeout_ms});
    if (!waited)
        return visitor->failed(waited.error());
    if (*waited == Waited::interrupted)
        return visitor->failed(fail(DDS_ERR_INTERRUPTED, "interrupted before it let us in"));
    if (*waited == Waited::timeout)
        return visitor->failed(fail(DDS_ERR_TIMEOUT, "it did not let us in within %lld ms",
                                    static_cast<long long>(timeout_ms)));
    DDS_TRY(watcher->watch(visitor->fd_.get(), visitor->liveness_));
    visitor->watcher_ = std::move(watcher);
    return visitor;
}

// In a forked child the connection is the parent's still, and its copy is closed.
Visitor::~Visitor()
{
    if (forks_ != fork_count()) {
        static_cast<void>(fd_.release());
        leave_to_parent(new std::shared_ptr<Watcher>(std::move(watcher_)));
    } else if (watcher_) {
        watcher_->forget(fd_.get());
    }
}

// One question at a time: the next waits until the last is answered, or its answer is thrown away.
class Visitor::Asking final : public Operation {
public:
    Asking(Visitor& visitor, uint32_t id) : visitor_(visitor), id_(id) {}
    ~Asking() override
    {
        if (turn_)
            visitor_.taken_.store(false, std::memory_order_release);
    }

    Result<Step> step() override
    {
        turn_ = turn_ || !visitor_.taken_.exchange(true, std::memory_order_acquire);
        if (!turn_)
            return Step::idle;
        if (asked_ || visitor_.owed_) {
            auto heard = hear(visitor_.fd_.get());
            if (heard && !*heard)
                return Step::idle;
            visitor_.owed_ = false;
            if (!heard)
                return std::move(heard).error();
            if (asked_)
                return take(**heard);
        }
        LobbyMessage question = LobbyMessage::make(LobbyMessage::kAsk);
        question.id = id_;
        DDS_LET(sent, socket::send(visitor_.fd_.get(), question.view(), -1));
        visitor_.owed_ = asked_ = sent;
        return sent ? Step::moved : Step::idle;
    }

    void park(int64_t ns) override
    {
        if (turn_)
            sleep_for_message(visitor_.fd_.get(), ns);
        else
            clock::sleep(ns);
    }

    const Heard& answer() const { return answer_; }

private:
    Result<Step> take(Heard& heard)
    {
        const LobbyMessage& message = heard.message;
        if (message.kind != LobbyMessage::kAnswer || message.id != id_)
            return fail(DDS_ERR_CORRUPT, "it answers for segment %u with kind %u, segment %u", id_,
                        message.kind, message.id);
        if (message.code == DDS_ERR_NOTFOUND)
            return fail(DDS_ERR_NOTFOUND,
                        "it shows no segment %u: its variable was dropped; read the record of the "
                        "variable again",
                        id_);
        if (message.code != DDS_SUCCESS || !heard.descriptor)
            return fail(DDS_ERR_CORRUPT, "it sent no descriptor for segment %u", id_);
        answer_ = std::move(heard);
        return Step::ended;
    }

    Visitor& visitor_;
    const uint32_t id_;
    bool turn_ = false, asked_ = false;
    Heard answer_{};
};

Result<Segment> Visitor::ask(uint32_t id, size_t bytes, int64_t timeout_ms)
{
    if (forks_ != fork_count())
        return failed(fail(DDS_ERR_FORKED, "it was visited before a fork; open the store again in "
                                           "this process"));
    Asking asking(*this, id);
    const auto waited = wait(asking, {.timeout_ms = timeout_ms});
    if (!waited)
        return failed(waited.error());
    if (*waited == Waited::interrupted)
        return failed(fail(DDS_ERR_INTERRUPTED, "interrupted before it showed segment %u", id));
    if (*waited == Waited::timeout)
        return failed(fail(DDS_ERR_TIMEOUT, "it did not show segment %u within %lld ms", id,
                           static_cast<long long>(timeout_ms)));
    auto segment = Segment::attach(asking.answer().descriptor, bytes, Sharing::read);
    if (!segment)
        return failed(segment.error());
    return segment;
}

Visitor* Visitors::find(int rank) const
{
    const auto at = visitors_.find(rank);
    return at == visitors_.end() ? nullptr : at->second.get();
}

Result<void> Visitors::settle(std::span<const Awaited> awaited, int64_t timeout_ms)
{
    const auto deadline = clock::Deadline::after_ms(timeout_ms);
    for (const Awaited& segment : awaited) {
        if (segment.to->data())
            continue;
        Visitor* visitor = find(segment.rank);
        if (!visitor)
            return fail_rank(DDS_ERR_INTERNAL, segment.rank,
                             "rank %d is asked for segment %u and was never visited", segment.rank,
                             segment.id);
        DDS_LET(mapped, visitor->ask(segment.id, segment.bytes, deadline.left_ms()));
        *segment.to = std::move(mapped);
    }
    return {};
}

}  // namespace dds
