// A thread of each owner sends the descriptor of memory as large as the rank's rows: at once to who
// connects, and for a byte each time after.  The reader asks all owners before it hears one.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <thread>

#include "limit_door.hpp"

namespace bench {
namespace {

struct Ancillary {  // of a message with one descriptor
    alignas(cmsghdr) char bytes[CMSG_SPACE(sizeof(int))];
};

int make_socket(const std::string& path, sockaddr_un& address)
{
    address = {};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path)
        die("%s is too long for a socket: set TMPDIR", path.c_str());
    path.copy(address.sun_path, path.size());
    const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd < 0)
        die("no socket: %s", strerror(errno));
    return fd;
}

msghdr message_of(iovec& byte, Ancillary& control)
{
    msghdr message{};
    message.msg_iov = &byte;
    message.msg_iovlen = 1;
    message.msg_control = control.bytes;
    message.msg_controllen = sizeof control.bytes;
    return message;
}

void send_descriptor(int to, int fd)
{
    char some = 0;
    iovec byte{&some, 1};
    Ancillary control{};
    const msghdr message = message_of(byte, control);
    cmsghdr* const head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(head), &fd, sizeof fd);
    sendmsg(to, &message, MSG_NOSIGNAL);  // a reader that has gone asks no more
}

int receive_descriptor(int from)
{
    char some;
    iovec byte{&some, 1};
    Ancillary control{};
    msghdr message = message_of(byte, control);
    int fd = -1;
    if (recvmsg(from, &message, MSG_CMSG_CLOEXEC) == 1)
        if (const cmsghdr* head = CMSG_FIRSTHDR(&message))
            memcpy(&fd, CMSG_DATA(head), sizeof fd);
    if (fd < 0)
        die("the limit's owner sent no descriptor");
    return fd;
}

class SocketDoor final : public Door {
public:
    SocketDoor(const Rank& rank, const Variable& variable)
        : memory_(memfd_create("bench-limit", MFD_CLOEXEC))
    {
        const auto me = static_cast<size_t>(rank.me);
        const auto rows = static_cast<size_t>(variable.first()[me + 1] - variable.first()[me]);
        sockaddr_un address;
        listener_ = make_socket(door_of(rank.options, rank.me), address);
        if (ftruncate(memory_, static_cast<off_t>(rows * variable.row())) ||
            bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address) ||
            listen(listener_, 8))
            die("no door for the limit: %s", strerror(errno));
        path_ = address.sun_path;
        thread_ = std::thread([this] { serve(); });
    }
    ~SocketDoor() override
    {
        shutdown(listener_, SHUT_RDWR);  // ends its accept
        thread_.join();
        close(listener_);
        close(memory_);
        unlink(path_.c_str());
    }

private:
    // One reader after another.
    void serve()
    {
        for (int reader; (reader = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC)) >= 0;) {
            char byte;
            do
                send_descriptor(reader, memory_);
            while (recv(reader, &byte, 1, 0) == 1);
            close(reader);
        }
    }

    int memory_, listener_;
    std::string path_;
    std::thread thread_;
};

class SocketAccess final : public Access {
public:
    explicit SocketAccess(const Options& options) : options_(options) {}

    void connect() override
    {
        for (int rank = 0; rank < options_.ranks; rank++) {
            sockaddr_un address;
            owners_.push_back(make_socket(door_of(options_, rank), address));
            if (::connect(owners_.back(), reinterpret_cast<sockaddr*>(&address), sizeof address))
                die("rank %d's door: %s", rank, strerror(errno));
        }
        map();
    }
    void again() override
    {
        for (const int owner : owners_)
            if (send(owner, "", 1, MSG_NOSIGNAL) != 1)
                die("an owner of the limit has gone");
        map();
    }
    void leave() override
    {
        for (const auto& [memory, bytes] : maps_)
            munmap(memory, bytes);
        for (const int owner : owners_)
            close(owner);
        maps_.clear();
        owners_.clear();
    }
    std::string words(bool connects) const override
    {
        return std::string(connects ? "connection, " : "") + "descriptor and map of each shard";
    }

private:
    void map()
    {
        for (const int owner : owners_) {
            const int fd = receive_descriptor(owner);
            struct stat status;
            if (fstat(fd, &status))
                die("fstat: %s", strerror(errno));
            const auto bytes = static_cast<size_t>(status.st_size);
            void* const memory = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, fd, 0);
            if (memory == MAP_FAILED)
                die("mmap: %s", strerror(errno));
            close(fd);
            maps_.emplace_back(memory, bytes);
        }
    }

    const Options& options_;
    std::vector<int> owners_;
    std::vector<std::pair<void*, size_t>> maps_;
};

}  // namespace

std::string door_of(const Options& options, int rank)
{
    return options.dir + "/door." + std::to_string(rank);
}

std::unique_ptr<Door> open_socket_door(const Rank& rank, const Variable& variable)
{
    return std::make_unique<SocketDoor>(rank, variable);
}

std::unique_ptr<Access> make_socket_access(const Options& options)
{
    return std::make_unique<SocketAccess>(options);
}

}  // namespace bench
