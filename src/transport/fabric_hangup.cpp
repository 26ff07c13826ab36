#include "transport/fabric_hangup.hpp"

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <set>

namespace dds {
namespace {

// A socket's peer, in the words of FI_SOCKADDR: the same bytes that an endpoint has for a name.
bool is_at(const sockaddr_storage& peer, const std::string& address)
{
    if (peer.ss_family == AF_INET && address.size() >= sizeof(sockaddr_in)) {
        sockaddr_in one, other;
        memcpy(&one, &peer, sizeof one);
        memcpy(&other, address.data(), sizeof other);
        return other.sin_family == AF_INET && one.sin_port == other.sin_port &&
               one.sin_addr.s_addr == other.sin_addr.s_addr;
    }
    if (peer.ss_family == AF_INET6 && address.size() >= sizeof(sockaddr_in6)) {
        sockaddr_in6 one, other;
        memcpy(&one, &peer, sizeof one);
        memcpy(&other, address.data(), sizeof other);
        return other.sin6_family == AF_INET6 && one.sin6_port == other.sin6_port &&
               memcmp(&one.sin6_addr, &other.sin6_addr, sizeof one.sin6_addr) == 0;
    }
    return false;
}

// What an epoll watches, and what that watches; anything else watches nothing.
void find_watched(int fd, std::set<int>& found)
{
    std::ifstream words("/proc/self/fdinfo/" + std::to_string(fd));
    for (std::string line; std::getline(words, line);)
        if (int watched = -1;
            sscanf(line.c_str(), "tfd: %d", &watched) == 1 && found.insert(watched).second)
            find_watched(watched, found);
}

}  // namespace

bool must_hang_up(const Fabric& library, const std::string& provider)
{
    return FI_VERSION_LT(library.version(), FI_VERSION(1, 18)) &&
           (provider.starts_with("tcp") || provider == "net");
}

void hang_up(int wakes, const std::vector<std::string>& addresses)
{
    std::set<int> watched;
    find_watched(wakes, watched);
    for (const int fd : watched) {
        sockaddr_storage peer{};
        socklen_t bytes = sizeof peer;
        if (getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &bytes) == 0 &&
            std::ranges::any_of(addresses,
                                [&](const auto& address) { return is_at(peer, address); }))
            shutdown(fd, SHUT_RDWR);
    }
}

}  // namespace dds
