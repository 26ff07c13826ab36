// Abstract SEQPACKET sockets between processes of one node: they carry descriptors, and their end
// tells that the peer is gone.  Nothing blocks; no name is left behind.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/fd.hpp"
#include "base/result.hpp"

namespace dds::socket {

using Name = std::array<unsigned char, 16>;  // random: cannot be guessed or taken beforehand

Result<Fd> listen(Name& name);
// Connected, or not yet (the listener's queue is full).
Result<std::optional<Fd>> connect(const Name& name);
Result<std::optional<Fd>> accept(int listener);
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
