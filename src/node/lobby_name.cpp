#include "node/lobby_name.hpp"

#include <cinttypes>
#include <cstdio>
#include <cstring>

#include "base/clock.hpp"

namespace dds {
namespace {

using filecomm::Process;

// "lobby-", 128 random bits, the home of the process, its PID, its start.  With "/proc/self/fd/N/"
// before it an address has room for 26 characters more than these 81.
constexpr char kFormat[] =
    "lobby-%016" PRIx64 "%016" PRIx64 "-%016" PRIx64 "-%08" PRIx64 "-%016" PRIx64;
constexpr size_t kLength = 6 + 32 + 1 + 16 + 1 + 8 + 1 + 16;

// Boot and PID namespace in a word: boot ids are random already.
uint64_t home_of(const Process& process)
{
    uint64_t half[2];
    memcpy(half, process.boot.data(), sizeof half);
    return half[0] ^ half[1] * 3 ^ process.namespace_inode * 0x9e3779b97f4a7c15u;
}

std::string format(const uint64_t (&random)[2], const Process& process)
{
    char name[kLength + 1];
    snprintf(name, sizeof name, kFormat, random[0], random[1], home_of(process),
             static_cast<uint64_t>(process.pid), process.started);
    return name;
}

}  // namespace

Result<std::string> make_lobby_name()
{
    uint64_t random[2];
    if (!clock::random(random, sizeof random))
        return fail(DDS_ERR_UNSUPPORTED, "the system gives no random numbers (getrandom)");
    return format(random, filecomm::this_process());
}

std::optional<Process> owner_of_lobby(const std::string& name, const Process& self)
{
    uint64_t random[2], home, pid, started;
    if (name.size() != kLength ||
        sscanf(name.c_str(),
               "lobby-%16" SCNx64 "%16" SCNx64 "-%16" SCNx64 "-%8" SCNx64 "-%16" SCNx64, &random[0],
               &random[1], &home, &pid, &started) != 5)
        return std::nullopt;
    Process owner = self;
    owner.pid = static_cast<int64_t>(pid);
    owner.started = started;
    // Written again it must be the same: sscanf takes more than one form of a number.
    if (format(random, owner) != name)
        return std::nullopt;
    return owner;
}

}  // namespace dds
