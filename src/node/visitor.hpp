// A visit to a process of another job, which shows its memory in a lobby (lobby.hpp): one connection,
// whose end tells that the owner is gone, and its segments mapped read-only.  What is mapped stays
// readable after the owner's end.
#pragma once

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <string>

#include "base/fd.hpp"
#include "base/fork.hpp"
#include "node/source.hpp"
#include "node/watcher.hpp"

namespace dds {

class Visitor {
public:
    struct Owner {
        int rank;            // in its job, for errors
        std::string socket;  // Lobby::name()
        std::array<unsigned char, 16> store;
        uint64_t incarnation;
        std::function<void()> at_end = nullptr;  // called in the watcher's thread, once
    };
    // PEER where the owner is dead or leaves, STALE where its socket is gone or is of another store
    // or run, VERSION, PERM where it is another user's, LIMIT where too many visit it.
    static Result<std::unique_ptr<Visitor>> call(int directory, const Owner& owner,
                                                 int64_t timeout_ms);
    ~Visitor();

    // The owner's segment, which must have `bytes`; NOTFOUND where it shows no such segment.  FORKED
    // in a child of the process that called.  Threads take turns.
    Result<Segment> ask(uint32_t id, size_t bytes, int64_t timeout_ms);

    bool gone() const { return liveness_->dead.load(std::memory_order_acquire); }
    std::shared_ptr<const Liveness> liveness() const { return liveness_; }
    int pid() const { return pid_; }  // as seen from here

private:
    class Calling;
    class Asking;

    explicit Visitor(const Owner& owner) : owner_(owner) { liveness_->then = owner.at_end; }
    Error failed(const Error& error) const;

    const Owner owner_;
    Fd fd_;
    int pid_ = 0;
    uint64_t forks_ = fork_count();
    std::shared_ptr<Watcher> watcher_;
    std::shared_ptr<Liveness> liveness_ = std::make_shared<Liveness>();
    std::atomic<bool> taken_{false};  // by the thread that asks
    bool owed_ = false;               // an answer to a question that was given up is to come
};

// Those a reader visits, by rank.  Filled before it is used.
class Visitors final : public SegmentSource {
public:
    void add(int rank, std::shared_ptr<Visitor> visitor) { visitors_[rank] = std::move(visitor); }
    Visitor* find(int rank) const;

    Result<void> settle(std::span<const Awaited> awaited, int64_t timeout_ms) override;

private:
    std::map<int, std::shared_ptr<Visitor>> visitors_;
};

}  // namespace dds
