// Where processes of other jobs get this process's segments: a socket in a directory that both know.
// The watcher's thread answers there, so the program need not call the library.  A visitor that asks
// gets a descriptor; what it does then, or that it dies, is nothing to us.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "base/fd.hpp"
#include "base/fork.hpp"
#include "memory/segment.hpp"
#include "node/watcher.hpp"

namespace dds {

class Lobby {
public:
    static constexpr size_t kMost = 1024;  // visitors at once; fewer where descriptors are few

    // Of one store in one run.  The directory's descriptor is duplicated.
    static Result<std::unique_ptr<Lobby>> open(int directory,
                                               const std::array<unsigned char, 16>& store,
                                               uint64_t incarnation);
    ~Lobby();

    // Of the socket in the directory.
    const std::string& name() const { return name_; }

    // Segments that may be asked for; `keep` holds each one until it is withdrawn.
    void offer(uint32_t id, const Segment& segment, std::shared_ptr<const void> keep);
    void withdraw(uint32_t id);

    // Remove the sockets that dead processes of this user have left; how many.
    static Result<int> sweep(int directory);

private:
    class Desk;

    Lobby(Fd directory, std::string name, std::shared_ptr<Desk> desk);
    Fd directory_;
    std::string name_;
    uint64_t forks_ = fork_count();
    std::shared_ptr<Watcher> watcher_;
    std::shared_ptr<Desk> desk_;
};

}  // namespace dds
