// One thread per process that notices the death of neighbours: it polls the ends of their
// connections, which the kernel closes however a process ends, in containers too.  It also runs what
// must go on while no thread of the program is in the library.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>

#include "base/result.hpp"

namespace dds {

// Shared with the watcher, which sets it.
struct Liveness {
    std::atomic<bool> dead{false};
    std::function<void()> then;  // called once in the watcher's thread; waits for nothing
};

// Work for the watcher's thread.  It is called with the watcher's lock held, which retire() and fork()
// take too: after the one it is not called any more, in a child of the other it is whole.
class Service {
public:
    virtual ~Service() = default;
    // Do what is to do now, without waiting; when (clock::now()) to be called again at the latest.
    virtual int64_t serve() = 0;
    // The end, here or in a forked child: close every descriptor, and touch nothing that a parent
    // and its child share.
    virtual void close() = 0;

    static constexpr int64_t kNever = INT64_MAX;
};

class Watcher {
public:
    // The process's watcher; its thread ends with the last owner.
    static Result<std::shared_ptr<Watcher>> get();
    ~Watcher();

    // Set `peer->dead` when the other end of `fd` is closed.  Forget before closing `fd`.
    Result<void> watch(int fd, std::shared_ptr<Liveness> peer);
    void forget(int fd);

    // Call `service` whenever `fd`, which it owns, is readable; retire() closes it.
    Result<void> serve(int fd, std::shared_ptr<Service> service);
    void retire(int fd);

private:
    struct State;
    explicit Watcher(std::unique_ptr<State> state);
    Result<void> add(int fd, uint32_t events, std::shared_ptr<Liveness> peer,
                     std::shared_ptr<Service> service);
    std::unique_ptr<State> state_;
};

}  // namespace dds
