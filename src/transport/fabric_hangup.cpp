#include "transport/fabric_hangup.hpp"

#include <dirent.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

namespace dds {
namespace {

struct CloseFolder {
    void operator()(DIR* folder) const { closedir(folder); }
};

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

template <class Work>
void each_connection(const Work& work)
{
    const std::unique_ptr<DIR, CloseFolder> folder(opendir("/proc/self/fd"));
    while (const dirent* entry = folder ? readdir(folder.get()) : nullptr) {
        const int fd = atoi(entry->d_name);
        sockaddr_storage peer{};
        socklen_t bytes = sizeof peer;
        if (fd > 0 && getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &bytes) == 0)
            work(fd, peer);
    }
}

// They stay open in a child as long as it lives.  Changed before there is anything to hang up.
std::vector<int> spared;

}  // namespace

bool must_hang_up(const Fabric& library, const std::string& provider)
{
    return FI_VERSION_LT(library.version(), FI_VERSION(1, 18)) &&
           (provider.starts_with("tcp") || provider == "net");
}

void hang_up(const std::vector<std::string>& addresses)
{
    each_connection([&](int fd, const sockaddr_storage& peer) {
        if (!std::ranges::binary_search(spared, fd) &&
            std::ranges::any_of(addresses,
                                [&](const auto& address) { return is_at(peer, address); }))
            shutdown(fd, SHUT_RDWR);
    });
}

void spare_inherited()
{
    static uint64_t process = 0;
    if (std::exchange(process, fork_count()) == fork_count())
        return;
    spared.clear();
    each_connection([](int fd, const sockaddr_storage&) { spared.push_back(fd); });
    std::ranges::sort(spared);
}

}  // namespace dds
