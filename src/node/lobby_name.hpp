// The names of lobbies in a directory: random, so that nobody has them beforehand, and with what tells
// a later run that the process which made it is dead.
#pragma once

#include <optional>
#include <string>

#include "base/result.hpp"
#include "comm/process.hpp"

namespace dds {

Result<std::string> make_lobby_name();
// Whose it is; nullopt where it is no lobby's, or one's of another boot or PID namespace, of which
// nobody can tell here whether it lives.
std::optional<filecomm::Process> owner_of_lobby(const std::string& name,
                                                const filecomm::Process& self);

}  // namespace dds
