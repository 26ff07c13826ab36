// What the tests of lobbies share: an owner that is a process of its own, the directory where it is
// found, and a reader that says what it likes.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <optional>

#include "memory/arena.hpp"
#include "node/lobby.hpp"
#include "node/lobby_message.hpp"
#include "node/socket.hpp"
#include "node/visitor.hpp"
#include "unit.hpp"

namespace unit {

using namespace dds;

constexpr int64_t kPatience = 10'000;
constexpr size_t kBytes = 100'000;
constexpr uint32_t kSegment = 7;
constexpr uint64_t kRun = 0x1234;
inline const std::array<unsigned char, 16> kStore{'s', 't', 'o', 'r', 'e'};

inline std::byte byte_of(int salt, size_t i)
{
    return static_cast<std::byte>((i + static_cast<size_t>(salt)) * 2654435761u >> 13);
}

inline Fd open_directory(const std::string& path)
{
    return Fd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

template <class Condition>
bool within(double seconds, const Condition& condition)
{
    for (const double until = now() + seconds; now() < until; usleep(2'000))
        if (condition())
            return true;
    return condition();
}

// A process that shows one segment.  What it is told in a letter it does, and tells what came of it.
class Owner {
public:
    explicit Owner(const std::string& directory, int salt = 0, rlim_t descriptors = 0)
    {
        int to[2], from[2];
        if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0)
            abort();
        fflush(nullptr);
        pid_ = fork();
        if (pid_ == 0) {
            close(to[1]);
            close(from[0]);
            _exit(live(directory, salt, descriptors, to[0], from[1]));
        }
        close(to[0]);
        close(from[1]);
        to_ = Fd(to[1]);
        from_ = Fd(from[0]);
        uint64_t bytes = 0;
        char name[256] = {};
        if (read(from_.get(), &bytes, sizeof bytes) != sizeof bytes ||
            read(from_.get(), name, sizeof name) <= 0)
            fail_msg("the owner has no lobby");
        bytes_ = bytes;
        name_ = name;
        salt_ = salt;
        descriptors_ = descriptors_now();
    }
    ~Owner()
    {
        if (pid_ > 0)
            end();
    }
    Owner(const Owner&) = delete;
    Owner& operator=(const Owner&) = delete;

    const std::string& name() const { return name_; }
    pid_t pid() const { return pid_; }
    size_t bytes() const { return bytes_; }
    Visitor::Owner card(int rank = 3) const { return {rank, name_, kStore, kRun}; }

    char tell(char letter) const
    {
        char back = 0;
        if (write(to_.get(), &letter, 1) != 1 || read(from_.get(), &back, 1) != 1)
            fail_msg("the owner is gone");
        return back;
    }
    void kill(int number = SIGKILL) const { ::kill(pid_, number); }
    void stop() const
    {
        int status = 0;
        kill(SIGSTOP);
        waitpid(pid_, &status, WUNTRACED);
    }
    int end()
    {
        // Owners that were started later hold copies of the pipe: closing it would not tell.
        static_cast<void>(!write(to_.get(), "q", 1));
        to_.reset();
        int status = 0;
        waitpid(pid_, &status, 0);
        pid_ = 0;
        return status;
    }

    // Fork in the owner while it serves; the child idles until it is killed.
    pid_t fork_child() const
    {
        pid_t child = 0;
        char back = 0;
        if (write(to_.get(), "f", 1) != 1 ||
            read(from_.get(), &child, sizeof child) != sizeof child ||
            read(from_.get(), &back, 1) != 1)
            fail_msg("the owner did not fork");
        return child;
    }

    // Beyond those it had before anyone came.
    int visits() const { return descriptors_now() - descriptors_; }
    long resident_kib() const
    {
        long size = 0, resident = 0;
        FILE* file = fopen(("/proc/" + std::to_string(pid_) + "/statm").c_str(), "re");
        const bool read = file && fscanf(file, "%ld %ld", &size, &resident) == 2;
        if (file)
            fclose(file);
        return read ? resident * 4 : -1;
    }
    void check(const Segment& segment) const
    {
        for (size_t i = 0; i < kBytes; i++)
            if (segment.data()[sizeof(Arenas::Header) + i] != byte_of(salt_, i))
                fail_msg("byte %zu is wrong", i);
    }

private:
    static int live(const std::string& path, int salt, rlim_t descriptors, int orders, int answers)
    {
        if (descriptors) {
            const rlimit limit{descriptors, descriptors};
            setrlimit(RLIMIT_NOFILE, &limit);
        }
        const Fd directory = open_directory(path);
        const unsigned char store[16] = {};
        Arenas arenas(store, kRun);
        std::shared_ptr<Arena> arena;
        const Block block = *arenas.take(kBytes + 4096, false, arena);
        for (size_t i = 0; i < kBytes; i++)
            arena->segment.data()[sizeof(Arenas::Header) + i] = byte_of(salt, i);
        auto lobby = Lobby::open(directory.get(), kStore, kRun);
        if (!lobby)
            return 1;
        (*lobby)->offer(kSegment, arena->segment, arena);
        const uint64_t bytes = arena->segment.bytes();
        char name[256] = {};
        snprintf(name, sizeof name, "%s", (*lobby)->name().c_str());
        if (write(answers, &bytes, sizeof bytes) != sizeof bytes ||
            write(answers, name, sizeof name) != sizeof name)
            return 1;
        std::vector<Fd> taken;
        pid_t child = 0;
        for (char order; read(orders, &order, 1) == 1;) {
            switch (order) {
            case 'q': return 0;
            case 'w': (*lobby)->withdraw(kSegment); break;
            case 'o': (*lobby)->offer(kSegment, arena->segment, arena); break;
            case 'a':  // all descriptors
                for (int fd; (fd = dup(orders)) >= 0;)
                    taken.emplace_back(fd);
                break;
            case 'r': taken.clear(); break;
            case 'f':
                child = fork();
                if (child == 0) {
                    lobby->reset();  // the parent's: must do nothing
                    alarm(60);       // where the test fails before it ends this
                    close(orders);
                    close(answers);
                    for (;;)
                        pause();
                }
                order = static_cast<char>(child > 0 ? 'f' : 0);
                if (write(answers, &child, sizeof child) != sizeof child)
                    return 1;
                break;
            default: return 1;
            }
            if (write(answers, &order, 1) != 1)
                return 1;
        }
        return 0;
    }

    int descriptors_now() const
    {
        DIR* all = opendir(("/proc/" + std::to_string(pid_) + "/fd").c_str());
        int n = -2;
        while (all && readdir(all))
            n++;
        if (all)
            closedir(all);
        return n;
    }

    pid_t pid_ = 0;
    Fd to_, from_;
    std::string name_;
    size_t bytes_ = 0;
    int salt_ = 0;
    int descriptors_ = 0;
};

struct Place {
    Scratch scratch;
    Fd directory = open_directory(scratch.path());

    std::unique_ptr<Visitor> visit(const Visitor::Owner& owner) const
    {
        auto visitor = Visitor::call(directory.get(), owner, kPatience);
        if (!visitor)
            fail_msg("%s", visitor.error().text.c_str());
        return std::move(*visitor);
    }
    void refused(const Visitor::Owner& owner, int code, const char* words,
                 int64_t timeout_ms = kPatience) const
    {
        const auto visitor = Visitor::call(directory.get(), owner, timeout_ms);
        assert_false(bool(visitor));
        if (visitor.error().code != code)
            fail_msg("%d: %s", visitor.error().code, visitor.error().text.c_str());
        assert_int_equal(visitor.error().rank, owner.rank);
        assert_says(visitor.error().text, "rank " + std::to_string(owner.rank));
        assert_says(visitor.error().text, words);
    }
    // A connection of the test's own, which says what it likes.
    Fd knock(const Owner& owner) const
    {
        for (;;) {
            auto fd = socket::connect_at(directory.get(), owner.name());
            if (!fd)
                fail_msg("%s", fd.error().text.c_str());
            if (*fd)
                return std::move(**fd);
            usleep(200);
        }
    }
    void serves(const Owner& owner) const
    {
        const auto segment = visit(owner.card())->ask(kSegment, owner.bytes(), kPatience);
        if (!segment)
            fail_msg("%s", segment.error().text.c_str());
        owner.check(*segment);
    }
};

inline void say(const Fd& fd, std::span<const std::byte> bytes, int descriptor = -1)
{
    static_cast<void>(socket::send(fd.get(), bytes, descriptor));
}

inline LobbyMessage hello()
{
    LobbyMessage message = LobbyMessage::make(LobbyMessage::kHello);
    message.store = kStore;
    message.incarnation = kRun;
    return message;
}

// The next message, or nothing where the connection is closed.
inline std::optional<LobbyMessage> next(const Fd& fd, Fd* descriptor = nullptr,
                                        int patience_ms = 10'000)
{
    pollfd end{fd.get(), POLLIN, 0};
    if (poll(&end, 1, patience_ms) != 1)
        fail_msg("no answer and no end within %d ms", patience_ms);
    LobbyMessage message{};
    auto got = socket::receive(fd.get(), std::as_writable_bytes(std::span(&message, 1)));
    if (!got || !*got || (*got)->bytes == 0)
        return std::nullopt;
    assert_int_equal((*got)->bytes, sizeof message);
    if (descriptor)
        *descriptor = std::move((*got)->descriptor);
    return message;
}

}  // namespace unit
