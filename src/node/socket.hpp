// SEQPACKET sockets between processes of one node: they carry descriptors, and their end tells that
// the peer is gone.  Nothing blocks.  Abstract ones leave no name behind; those in a directory are for
// processes that only share files, and are removed by name.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/fd.hpp"
#include "base/result.hpp"

namespace dds::socket {

using Name = std::array<unsigned char, 16>;  // random: cannot be guessed or taken beforehand

Result<Fd> listen(Name& name);
// Connected, or not yet (the listener's queue is full).
Result<std::optional<Fd>> connect(const Name& name);
Result<std::optional<Fd>> accept(int listener);
// The same by a name in an open directory, whose own path may be longer than an address.  Mode 0600.
// STALE where there is no such name.
Result<Fd> listen_at(int directory, const std::string& name);
Result<std::optional<Fd>> connect_at(int directory, const std::string& name);
// PERM unless the process at the other end is of the same user; its pid as seen from here.
Result<int> check_peer(int fd);

// One message with at most one descriptor; false: not now.
Result<bool> send(int fd, std::span<const std::byte> message, int descriptor);
struct Received {
    size_t bytes = 0;  // 0: the other end is closed
    Fd descriptor;
};
Result<std::optional<Received>> receive(int fd, std::span<std::byte> message);

}  // namespace dds::socket
