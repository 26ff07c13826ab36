#include "node/watcher.hpp"

#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>

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

std::map<int, std::shared_ptr<Liveness>>& watched()
{
    static auto* map = new std::map<int, std::shared_ptr<Liveness>>;
    return *map;
}

// A forked child holds copies of the connections: while it lives, its parent's death would go
// unseen.  It closes them, and leaves the parent's objects, which it cannot use, as they are.
[[maybe_unused]] const bool registered = [] {
    at_fork_in_child([] {
        for (const auto& [fd, peer] : watched())
            close(fd);
        leave_to_parent(new std::map<int, std::shared_ptr<Liveness>>(std::move(watched())));
        watched().clear();
        leave_to_parent(new std::weak_ptr<Watcher>(std::move(current())));
        current().reset();
    });
    return true;
}();

}  // namespace

struct Watcher::State {
    Fd epoll, stop;
    std::thread thread;

    void run()
    {
        epoll_event events[64];
        for (;;) {
            const int n = epoll_wait(epoll.get(), events, 64, -1);
            if (n < 0 && errno != EINTR)
                return;
            const std::lock_guard lock(mutex);
            for (int i = 0; i < n; i++) {
                const int fd = events[i].data.fd;
                if (fd == stop.get())
                    return;
                epoll_ctl(epoll.get(), EPOLL_CTL_DEL, fd, nullptr);
                if (const auto peer = watched().find(fd); peer != watched().end())
                    peer->second->dead.store(true, std::memory_order_release);
            }
        }
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
    epoll_event event{EPOLLIN, {.fd = state->stop.get()}};
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

Result<void> Watcher::watch(int fd, std::shared_ptr<Liveness> peer)
{
    const std::lock_guard lock(mutex);
    watched()[fd] = std::move(peer);
    epoll_event event{EPOLLRDHUP, {.fd = fd}};
    if (epoll_ctl(state_->epoll.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
        watched().erase(fd);
        return fail_errno(errno, "epoll_ctl");
    }
    return {};
}

void Watcher::forget(int fd)
{
    const std::lock_guard lock(mutex);
    epoll_ctl(state_->epoll.get(), EPOLL_CTL_DEL, fd, nullptr);
    watched().erase(fd);
}

}  // namespace dds
