// One thread per process that notices the death of neighbours: it polls the ends of their
// connections, which the kernel closes however a process ends, in containers too.
#pragma once

#include <atomic>
#include <memory>

#include "base/result.hpp"

namespace dds {

// Shared with the watcher, which sets it.
struct Liveness {
    std::atomic<bool> dead{false};
};

class Watcher {
public:
    // The process's watcher; its thread ends with the last owner.
    static Result<std::shared_ptr<Watcher>> get();
    ~Watcher();

    // Set `peer->dead` when the other end of `fd` is closed.  Forget before closing `fd`.
    Result<void> watch(int fd, std::shared_ptr<Liveness> peer);
    void forget(int fd);

private:
    struct State;
    explicit Watcher(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace dds
