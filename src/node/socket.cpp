#include "node/socket.hpp"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>

#include "base/clock.hpp"
#include "base/failpoint.hpp"

namespace dds::socket {
namespace {

constexpr int kType = SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK;
constexpr int kBacklog = 4096;
constexpr char kPrefix[] = "ddstore-";

struct Address {
    sockaddr_un un{};
    socklen_t bytes = 0;

    explicit Address(const Name& name)
    {
        un.sun_family = AF_UNIX;
        char* at = un.sun_path + 1;  // a leading NUL makes it abstract
        memcpy(at, kPrefix, sizeof kPrefix - 1);
        at += sizeof kPrefix - 1;
        for (const unsigned char byte : name) {
            *at++ = "0123456789abcdef"[byte >> 4];
            *at++ = "0123456789abcdef"[byte & 15];
        }
        bytes = static_cast<socklen_t>(at - reinterpret_cast<char*>(&un));
    }
    Address(int directory, const std::string& name)
    {
        if (name.empty() || name.find('/') != std::string::npos)
            return;
        un.sun_family = AF_UNIX;
        const int length = snprintf(un.sun_path, sizeof un.sun_path, "/proc/self/fd/%d/%s",
                                    directory, name.c_str());
        if (length > 0 && static_cast<size_t>(length) < sizeof un.sun_path)
            bytes = sizeof un;
    }
    const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&un); }
};

bool not_now(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

Result<std::optional<Fd>> connect_to(const Address& address)
{
    Fd fd(::socket(AF_UNIX, kType, 0));
    if (!fd)
        return fail_errno(errno, "socket");
    if (::connect(fd.get(), address.get(), address.bytes) != 0) {
        if (not_now(errno))
            return std::optional<Fd>();
        if (errno == ENOENT)
            return fail(DDS_ERR_STALE, "there is no such socket");
        return fail_errno(errno, "connect to a process of this node");
    }
    return std::optional<Fd>(std::move(fd));
}

}  // namespace

Result<Fd> listen(Name& name)
{
    if (!clock::random(name.data(), name.size()))
        return fail(DDS_ERR_UNSUPPORTED, "the system gives no random numbers (getrandom)");
    Fd fd(::socket(AF_UNIX, kType, 0));
    if (!fd)
        return fail_errno(errno, "socket");
    const Address address(name);
    if (bind(fd.get(), address.get(), address.bytes) != 0)
        return fail_errno(errno, "bind of an abstract socket");
    if (::listen(fd.get(), kBacklog) != 0)
        return fail_errno(errno, "listen");
    return fd;
}

Result<std::optional<Fd>> connect(const Name& name) { return connect_to(Address(name)); }

Result<Fd> listen_at(int directory, const std::string& name)
{
    const Address address(directory, name);
    if (!address.bytes)
        return fail(DDS_ERR_ARG,
                    "\"%s\" cannot be the name of a socket: empty, with a / or too long",
                    name.c_str());
    Fd fd(::socket(AF_UNIX, kType, 0));
    if (!fd)
        return fail_errno(errno, "socket");
    if (bind(fd.get(), address.get(), address.bytes) != 0)
        return fail_errno(errno, "bind of socket %s (does the file system take sockets?)",
                          name.c_str());
    const auto listening = [&]() -> Result<void> {
        DDS_FAILPOINT("node.socket.bind");
        // Nobody gets in before listen(), whatever mode the umask has left.
        if (fchmodat(directory, name.c_str(), 0600, 0) != 0)
            return fail_errno(errno, "cannot set the mode of socket %s", name.c_str());
        if (::listen(fd.get(), kBacklog) != 0)
            return fail_errno(errno, "listen");
        return {};
    }();
    if (!listening) {
        unlinkat(directory, name.c_str(), 0);
        return listening.error();
    }
    return fd;
}

Result<std::optional<Fd>> connect_at(int directory, const std::string& name)
{
    const Address address(directory, name);
    if (!address.bytes)
        return fail(DDS_ERR_ARG,
                    "\"%s\" cannot be the name of a socket: empty, with a / or too long",
                    name.c_str());
    return connect_to(address);
}

Result<std::optional<Fd>> accept(int listener)
{
    Fd fd(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (fd)
        return std::optional<Fd>(std::move(fd));
    if (not_now(errno) || errno == ECONNABORTED)
        return std::optional<Fd>();
    return fail_errno(errno, "accept");
}

Result<int> check_peer(int fd)
{
    ucred who;
    socklen_t bytes = sizeof who;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &bytes) != 0)
        return fail_errno(errno, "SO_PEERCRED");
    if (who.uid != geteuid())
        return fail(DDS_ERR_PERM,
                    "the process at the other end is of user %u, and only user %u shares",
                    static_cast<unsigned>(who.uid), static_cast<unsigned>(geteuid()));
    return static_cast<int>(who.pid);
}

Result<bool> send(int fd, std::span<const std::byte> message, int descriptor)
{
    iovec part{const_cast<std::byte*>(message.data()), message.size()};
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    if (descriptor >= 0) {
        header.msg_control = control;
        header.msg_controllen = sizeof control;
        cmsghdr* item = CMSG_FIRSTHDR(&header);
        item->cmsg_level = SOL_SOCKET;
        item->cmsg_type = SCM_RIGHTS;
        item->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(item), &descriptor, sizeof descriptor);
    }
    if (sendmsg(fd, &header, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0)
        return true;
    // ETOOMANYREFS: this user has too many descriptors under way; they land when peers receive.
    if (not_now(errno) || errno == ETOOMANYREFS || errno == ENOBUFS)
        return false;
    return fail_errno(errno, "sendmsg to a process of this node");
}

Result<std::optional<Received>> receive(int fd, std::span<std::byte> message)
{
    iovec part{message.data(), message.size()};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control;
    // Without the padding, in which a second descriptor would find room and stay open.
    header.msg_controllen = CMSG_LEN(sizeof(int));
    const ssize_t got = recvmsg(fd, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got < 0) {
        if (not_now(errno))
            return std::optional<Received>();
        if (errno == ECONNRESET)
            return std::optional<Received>(Received{});
        return fail_errno(errno, "recvmsg from a process of this node");
    }
    Received received{static_cast<size_t>(got), {}};
    for (cmsghdr* item = CMSG_FIRSTHDR(&header); item; item = CMSG_NXTHDR(&header, item)) {
        if (item->cmsg_level != SOL_SOCKET || item->cmsg_type != SCM_RIGHTS)
            continue;
        int descriptor;
        memcpy(&descriptor, CMSG_DATA(item), sizeof descriptor);
        received.descriptor = Fd(descriptor);
    }
    if (header.msg_flags & MSG_CTRUNC)
        return fail(DDS_ERR_LIMIT, "no descriptor left for a peer's memory (raise `ulimit -n`)");
    if (header.msg_flags & MSG_TRUNC)
        return fail(DDS_ERR_CORRUPT, "a process of this node sent a message that is too long");
    return std::optional<Received>(std::move(received));
}

}  // namespace dds::socket
