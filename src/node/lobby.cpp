#include "node/lobby.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

#include "node/lobby_desk.hpp"
#include "node/lobby_name.hpp"
#include "node/socket.hpp"

namespace dds {

Lobby::Lobby(Fd directory, std::string name, std::shared_ptr<Desk> desk)
    : directory_(std::move(directory)), name_(std::move(name)), desk_(std::move(desk))
{
}

Result<std::unique_ptr<Lobby>> Lobby::open(int directory,
                                           const std::array<unsigned char, 16>& store,
                                           uint64_t incarnation)
{
    Fd held(fcntl(directory, F_DUPFD_CLOEXEC, 0));
    if (!held)
        return fail_errno(errno, "F_DUPFD_CLOEXEC of a directory");
    DDS_LET(watcher, Watcher::get());
    DDS_LET(name, make_lobby_name());
    DDS_LET(door, socket::listen_at(held.get(), name));
    // From here on it is the destructor's to remove the name.
    std::unique_ptr<Lobby> lobby(
        new Lobby(std::move(held), std::move(name), std::make_shared<Desk>(store, incarnation)));
    lobby->watcher_ = std::move(watcher);
    DDS_TRY(lobby->desk_->open(std::move(door)));
    DDS_TRY(lobby->watcher_->serve(lobby->desk_->fd(), lobby->desk_));
    return lobby;
}

// In a forked child it is the parent's still, and its descriptors are closed.
Lobby::~Lobby()
{
    if (forks_ != fork_count()) {
        leave_to_parent(new std::shared_ptr<Watcher>(std::move(watcher_)));
        return;
    }
    unlinkat(directory_.get(), name_.c_str(), 0);
    watcher_->retire(desk_->fd());
}

void Lobby::offer(uint32_t id, const Segment& segment, std::shared_ptr<const void> keep)
{
    if (forks_ == fork_count())
        desk_->offer(id, segment, std::move(keep));
}

void Lobby::withdraw(uint32_t id)
{
    if (forks_ == fork_count())
        desk_->withdraw(id);
}

Result<int> Lobby::sweep(int directory)
{
    struct CloseDir {
        void operator()(DIR* dir) const { closedir(dir); }
    };
    // A descriptor of its own: the position in the directory belongs to the open file.
    Fd fd(openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const std::unique_ptr<DIR, CloseDir> dir(fd ? fdopendir(fd.get()) : nullptr);
    if (!dir)
        return fail_errno(errno, "cannot list the directory of lobbies");
    static_cast<void>(fd.release());
    const auto self = filecomm::this_process();
    int removed = 0;
    while (const dirent* entry = readdir(dir.get())) {
        const auto owner = owner_of_lobby(entry->d_name, self);
        struct stat st;
        if (!owner || fstatat(directory, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
            !S_ISSOCK(st.st_mode) || st.st_uid != geteuid() ||
            life_of(*owner) != filecomm::Life::dead)
            continue;
        removed += unlinkat(directory, entry->d_name, 0) == 0;
    }
    return removed;
}

}  // namespace dds
