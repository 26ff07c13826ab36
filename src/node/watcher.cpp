#include "node/watcher.hpp"

#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>

#include "base/clock.hpp"
#include "base/fd.hpp"
#include "base/fork.hpp"

namespace dds {
namespace {

// Guards the process's watcher and what it watches, and is whole in a forked child.
ForkSafeMutex mutex;
std::weak_ptr<Watcher>& current()
{
    static auto* watcher = new std::weak_ptr<Watcher>;
    return *watcher;
}

// Events name what they are of by descriptor and number: one that was fetched before its descriptor
// was forgotten is not taken for one of the next connection that gets the same descriptor.
struct Watched {
    uint32_t number;
    std::shared_ptr<Liveness> peer;  // one of the two
    std::shared_ptr<Service> service;
    int64_t due = Service::kNever;
};
using WatchedByFd = std::map<int, Watched>;
WatchedByFd& watched()
{
    static auto* map = new WatchedByFd;
    return *map;
}
uint32_t last_number = 0;  // 0 is the end of the watcher

uint64_t name_of(int fd, uint32_t number)
{
    return static_cast<uint64_t>(number) << 32 | static_cast<uint32_t>(fd);
}

// A forked child holds copies of the connections: while it lives, its parent's death would go
// unseen.  It closes them, and leaves the parent's objects, which it cannot use, as they are.
[[maybe_unused]] const bool registered = [] {
    at_fork_in_child([] {
        for (const auto& [fd, what] : watched()) {
            if (what.service)
                what.service->close();
            else
                close(fd);
        }
        leave_to_parent(new WatchedByFd(std::move(watched())));
        watched().clear();
        leave_to_parent(new std::weak_ptr<Watcher>(std::move(current())));
        current().reset();
    });
    return true;
}();

void attend(Watched& watched)
{
    try {
        watched.due = watched.service->serve();
    } catch (const std::bad_alloc&) {
        watched.due = clock::now() + clock::kSecond;
    }
}

}  // namespace

struct Watcher::State {
    Fd epoll, stop;
    std::thread thread;

    void run()
    {
        epoll_event events[64];
        for (int64_t due = Service::kNever;;) {
            const int n = epoll_wait(epoll.get(), events, 64, until(due));
            if (n < 0 && errno != EINTR)
                return;
            const std::lock_guard lock(mutex);
            for (int i = 0; i < n; i++) {
                const uint64_t name = events[i].data.u64;
                const int fd = static_cast<int>(name);
                if (name >> 32 == 0)
                    return;
                const auto known = watched().find(fd);
                if (known == watched().end() || name_of(fd, known->second.number) != name)
                    continue;
                if (known->second.service) {
                    attend(known->second);
                    continue;
                }
                epoll_ctl(epoll.get(), EPOLL_CTL_DEL, fd, nullptr);
                known->second.peer->dead.store(true, std::memory_order_release);
                if (known->second.peer->then)
                    known->second.peer->then();
            }
            due = attend_to_those_due();
        }
    }

private:
    static int until(int64_t due)
    {
        if (due == Service::kNever)
            return -1;
        constexpr int64_t kMost = 60 * clock::kSecond;
        const int64_t left = std::clamp<int64_t>(due - clock::now(), 0, kMost);
        return static_cast<int>((left + clock::kMillisecond - 1) / clock::kMillisecond);
    }

    static int64_t attend_to_those_due()
    {
        int64_t next = Service::kNever, now = 0;
        for (auto& [fd, what] : watched()) {
            if (what.due == Service::kNever)
                continue;
            now = now ? now : clock::now();
            if (what.due <= now)
                attend(what);
            next = std::min(next, what.due);
        }
        return next;
    }
};

Watcher::Watcher(std::unique_ptr<State> state) : state_(std::move(state)) {}

Result<std::shared_ptr<Watcher>> Watcher::get()
{
    const std::lock_guard lock(mutex);
    if (auto running = current().lock())
        return running;
    auto state = std::make_unique<State>();
    state->epoll = Fd(epoll_create1(EPOLL_CLOEXEC));
    state->stop = Fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!state->epoll || !state->stop)
        return fail_errno(errno, "epoll_create1 or eventfd");
    epoll_event event{EPOLLIN, {.u64 = name_of(state->stop.get(), 0)}};
    if (epoll_ctl(state->epoll.get(), EPOLL_CTL_ADD, state->stop.get(), &event) != 0)
        return fail_errno(errno, "epoll_ctl");
    // The program's signals are for the program's threads.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = 0;
    try {
        state->thread = std::thread([raw = state.get()] { raw->run(); });
    } catch (const std::system_error& failed) {
        error = failed.code().value();
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (error)
        return fail(DDS_ERR_LIMIT, "no thread for watching neighbours: %s (raise `ulimit -u`)",
                    strerrordesc_np(error));
    std::shared_ptr<Watcher> made(new Watcher(std::move(state)));
    current() = made;
    return made;
}

Watcher::~Watcher()
{
    const uint64_t one = 1;
    while (write(state_->stop.get(), &one, sizeof one) < 0 && errno == EINTR) {}
    state_->thread.join();
}

Result<void> Watcher::add(int fd, uint32_t events, std::shared_ptr<Liveness> peer,
                          std::shared_ptr<Service> service)
{
    const std::lock_guard lock(mutex);
    if (++last_number == 0)
        last_number = 1;
    watched()[fd] = {last_number, std::move(peer), std::move(service)};
    epoll_event event{events, {.u64 = name_of(fd, last_number)}};
    if (epoll_ctl(state_->epoll.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
        watched().erase(fd);
        return fail_errno(errno, "epoll_ctl");
    }
    return {};
}

Result<void> Watcher::watch(int fd, std::shared_ptr<Liveness> peer)
{
    return add(fd, EPOLLRDHUP, std::move(peer), nullptr);
}

Result<void> Watcher::serve(int fd, std::shared_ptr<Service> service)
{
    return add(fd, EPOLLIN, nullptr, std::move(service));
}

void Watcher::forget(int fd)
{
    const std::lock_guard lock(mutex);
    epoll_ctl(state_->epoll.get(), EPOLL_CTL_DEL, fd, nullptr);
    watched().erase(fd);
}

void Watcher::retire(int fd)
{
    const std::lock_guard lock(mutex);
    const auto known = watched().find(fd);
    if (known == watched().end())
        return;
    epoll_ctl(state_->epoll.get(), EPOLL_CTL_DEL, fd, nullptr);
    known->second.service->close();
    watched().erase(known);
}

}  // namespace dds
