#include "node/lobby_desk.hpp"

#include <linux/sockios.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>

#include "base/clock.hpp"
#include "node/socket.hpp"

namespace dds {
namespace {

constexpr int64_t kHelloWithin = 5 * clock::kSecond;
constexpr int64_t kAgain = 10 * clock::kMillisecond;
constexpr int64_t kShut = 100 * clock::kMillisecond;
constexpr int kAtOnce = 16;  // the watcher has others to look after
constexpr uint32_t kDoor = UINT32_MAX;

// Visitors never take more than half of the descriptors that the program may have.
size_t most_visits()
{
    rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return Lobby::kMost;
    return std::clamp<size_t>(limit.rlim_cur / 2, 1, Lobby::kMost);
}

}  // namespace

Lobby::Desk::Desk(const std::array<unsigned char, 16>& store, uint64_t incarnation)
    : store_(store), incarnation_(incarnation), visits_(most_visits())
{
}

Result<void> Lobby::Desk::open(Fd door)
{
    door_ = std::move(door);
    epoll_ = Fd(epoll_create1(EPOLL_CLOEXEC));
    epoll_event event{EPOLLIN, {.u32 = kDoor}};
    if (!epoll_ || epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, door_.get(), &event) != 0)
        return fail_errno(errno, "epoll_create1 or epoll_ctl");
    return {};
}

void Lobby::Desk::close()
{
    for (Visit& visit : visits_)
        visit.fd.reset();
    door_.reset();
    epoll_.reset();
}

void Lobby::Desk::offer(uint32_t id, const Segment& segment, std::shared_ptr<const void> keep)
{
    const std::lock_guard lock(mutex_);
    offers_.insert_or_assign(id, Offer{segment.fd(), segment.bytes(), std::move(keep)});
}

void Lobby::Desk::withdraw(uint32_t id)
{
    decltype(offers_)::node_type last;  // let go of after the lock
    const std::lock_guard lock(mutex_);
    last = offers_.extract(id);
}

int64_t Lobby::Desk::serve()
{
    epoll_event events[64];
    const int n = epoll_wait(epoll_.get(), events, 64, 0);
    for (int i = 0; i < n; i++) {
        const uint32_t from = events[i].data.u32;
        if (from == kDoor)
            admit();
        else if (visits_[from].fd)
            attend(visits_[from], events[i].events);
    }
    int64_t due = kNever, now = 0;
    const auto passed = [&](int64_t when) {
        now = now ? now : clock::now();
        if (when > now)
            due = std::min(due, when);
        return when <= now;
    };
    for (Visit& visit : visits_) {
        if (visit.owing && !settle(visit))
            drop(visit);
        if (visit.owing)
            due = std::min(due, clock::now() + kAgain);
        else if (visit.fd && visit.since && passed(visit.since + kHelloWithin))
            drop(visit);
    }
    if (shut_until_ && passed(shut_until_))
        open_door(true);
    return due;
}

void Lobby::Desk::admit()
{
    for (int i = 0; i < kAtOnce; i++) {
        auto fd = socket::accept(door_.get());
        if (!fd) {  // no descriptor left: the next one comes for the place of a stranger, or later
            if (Visit* stranger = oldest_stranger())
                drop(*stranger);
            else
                open_door(false);
            return;
        }
        if (!*fd)
            return;
        if (socket::check_peer((*fd)->get()))
            seat(std::move(**fd));
    }
}

// One that knows us has said hello before it is let in, and is welcomed at once: however many
// strangers there are, it does not wait for them.
void Lobby::Desk::seat(Fd fd)
{
    Visit* visit = place();
    if (!visit) {
        std::byte hello[LobbyMessage::kMost];
        static_cast<void>(socket::receive(fd.get(), hello));  // unread it would reset the answer
        refuse(fd.get(), DDS_ERR_LIMIT);
        return;
    }
    *visit = {std::move(fd), clock::now()};
    epoll_event event{EPOLLIN, {.u32 = static_cast<uint32_t>(visit - visits_.data())}};
    if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, visit->fd.get(), &event) != 0)
        visit->fd.reset();
    else
        attend(*visit, 0);
}

Lobby::Desk::Visit* Lobby::Desk::place()
{
    for (Visit& visit : visits_)
        if (!visit.fd)
            return &visit;
    Visit* stranger = oldest_stranger();
    if (stranger)
        drop(*stranger);
    return stranger;
}

Lobby::Desk::Visit* Lobby::Desk::oldest_stranger()
{
    Visit* oldest = nullptr;
    for (Visit& visit : visits_)
        if (visit.fd && visit.since && (!oldest || visit.since < oldest->since))
            oldest = &visit;
    return oldest;
}

void Lobby::Desk::attend(Visit& visit, uint32_t events)
{
    if (visit.owing) {
        if (events & (EPOLLHUP | EPOLLERR))
            drop(visit);
        return;
    }
    std::byte bytes[LobbyMessage::kMost];
    const auto got = socket::receive(visit.fd.get(), bytes);
    if (got && !*got)
        return;
    if (!got || (*got)->bytes == 0 || !hear(visit, std::span(bytes, (*got)->bytes)))
        drop(visit);
}

// An error ends the visit.
Result<void> Lobby::Desk::hear(Visit& visit, std::span<const std::byte> bytes)
{
    const auto message = LobbyMessage::parse(bytes);
    if (!message) {
        if (message.error().code == DDS_ERR_VERSION)
            refuse(visit.fd.get(), DDS_ERR_VERSION);
        return message.error();
    }
    if (visit.since)
        return welcome(visit, *message);
    if (message->kind != LobbyMessage::kAsk)
        return fail(DDS_ERR_CORRUPT, "not a question");
    // One that does not take its answers would have ever more descriptors under way.
    int untaken = 0;
    if (ioctl(visit.fd.get(), SIOCOUTQ, &untaken) != 0 || untaken != 0)
        return fail(DDS_ERR_LIMIT, "a question before the last answer was taken");
    visit.id = message->id;
    visit.owing = true;
    return settle(visit);
}

Result<void> Lobby::Desk::welcome(Visit& visit, const LobbyMessage& hello)
{
    if (hello.kind != LobbyMessage::kHello)
        return fail(DDS_ERR_CORRUPT, "not a hello");
    if (hello.store != store_ || hello.incarnation != incarnation_) {
        refuse(visit.fd.get(), DDS_ERR_STALE);
        return fail(DDS_ERR_STALE, "of another store or run");
    }
    LobbyMessage welcome = LobbyMessage::make(LobbyMessage::kWelcome);
    welcome.store = store_;
    welcome.incarnation = incarnation_;
    DDS_LET(sent, socket::send(visit.fd.get(), welcome.view(), -1));
    if (!sent)
        return fail(DDS_ERR_LIMIT, "no room for a welcome");
    visit.since = 0;
    return {};
}

// The descriptor goes out under the lock: who withdraws it may close it then.
Result<bool> Lobby::Desk::answer(const Visit& visit)
{
    LobbyMessage message = LobbyMessage::make(LobbyMessage::kAnswer);
    message.store = store_;
    message.incarnation = incarnation_;
    message.id = visit.id;
    const std::lock_guard lock(mutex_);
    const auto offer = offers_.find(visit.id);
    const bool there = offer != offers_.end();
    message.code = there ? DDS_SUCCESS : DDS_ERR_NOTFOUND;
    message.bytes = there ? offer->second.bytes : 0;
    return socket::send(visit.fd.get(), message.view(), there ? offer->second.fd : -1);
}

// A user with too many descriptors under way is served later, and is not heard till then.
Result<void> Lobby::Desk::settle(Visit& visit)
{
    DDS_LET(sent, answer(visit));
    listen_to(visit, sent ? uint32_t{EPOLLIN} : 0);
    visit.owing = !sent;
    return {};
}

void Lobby::Desk::refuse(int fd, int code)
{
    LobbyMessage message = LobbyMessage::make(LobbyMessage::kWelcome);
    message.code = static_cast<uint32_t>(code);
    message.limit = static_cast<uint32_t>(visits_.size());
    static_cast<void>(socket::send(fd, message.view(), -1));
}

void Lobby::Desk::listen_to(const Visit& visit, uint32_t events)
{
    epoll_event event{events, {.u32 = static_cast<uint32_t>(&visit - visits_.data())}};
    epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, visit.fd.get(), &event);
}

void Lobby::Desk::open_door(bool open)
{
    epoll_event event{open ? uint32_t{EPOLLIN} : 0, {.u32 = kDoor}};
    epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, door_.get(), &event);
    shut_until_ = open ? 0 : clock::now() + kShut;
}

// Not only closed: a copy in another process would keep its events coming.
void Lobby::Desk::drop(Visit& visit)
{
    epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, visit.fd.get(), nullptr);
    visit = {};
}

}  // namespace dds
