// Nothing here calls fsync.  Whoever reads these files runs at the same time: on one machine rename
// makes the page cache visible, on NFS the close before it has sent the bytes to the server.  fsync
// would only make them survive a power cut, and no later run takes them.  It would cost 2 to 10 ms
// a file where the write takes 0.1 (ext4; unit_comm_file_files, what_an_fsync_would_cost_is_told).
#include "comm/directory.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <memory>

#include "base/clock.hpp"
#include "base/failpoint.hpp"

namespace dds::filecomm {
namespace {

constexpr int kSafe =
    O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;  // no link is followed, no FIFO waited for

struct CloseDir {
    void operator()(DIR* dir) const { closedir(dir); }
};

std::string absolute(const std::string& path)
{
    std::error_code none;
    const auto full = std::filesystem::absolute(path, none);
    return none ? path : full.string();
}

// Another process may be between mkdir and chmod under an umask that takes the owner's bits.
Fd open_directory(const char* path)
{
    for (int attempt = 0;; attempt++) {
        Fd fd(::open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        struct stat st;
        if (fd || errno != EACCES || attempt == 10 || stat(path, &st) != 0 ||
            st.st_uid != geteuid() || (st.st_mode & 0777) != 0) {
            if (!fd && errno != EACCES && attempt)
                errno = EACCES;
            return fd;
        }
        clock::sleep(20 * clock::kMillisecond);
    }
}

Result<void> write_all(int fd, std::span<const std::byte> bytes, const std::string& where)
{
    while (!bytes.empty()) {
        const ssize_t written = ::write(fd, bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return fail_errno(errno, "cannot write %s", where.c_str());
        if (written == 0)
            return fail(DDS_ERR_IO, "cannot write %s: nothing was taken", where.c_str());
        bytes = bytes.subspan(static_cast<size_t>(written));
    }
    return {};
}

Result<void> before_rename()
{
    DDS_FAILPOINT("comm.file.rename");
    return {};
}

Result<std::string> aside(const std::string& name)
{
    uint64_t number;
    if (!clock::random(&number, sizeof number))
        return fail(DDS_ERR_IO, "the system gives no random numbers");
    char suffix[32];
    snprintf(suffix, sizeof suffix, ".tmp.%016llx", static_cast<unsigned long long>(number));
    return name.substr(0, name.find('.')) + suffix;
}

}  // namespace

Result<Directory> Directory::open(const std::string& given)
{
    if (given.empty() || given.find('\0') != std::string::npos)
        return fail(DDS_ERR_ARG, "the directory's path is empty or has a NUL in it");
    std::string path = absolute(given);
    if (mkdir(path.c_str(), 0700) == 0)
        chmod(path.c_str(), 0700);  // whatever the umask
    else if (errno != EEXIST)
        return fail_errno(errno, "cannot create directory %s", path.c_str());
    Fd fd = open_directory(path.c_str());
    struct stat st;
    if (!fd || fstat(fd.get(), &st) != 0)
        return fail_errno(errno, "cannot open directory %s", path.c_str());
    if ((st.st_mode & S_IWOTH) && !(st.st_mode & S_ISVTX))
        return fail(DDS_ERR_PERM, "directory %s can be written by everybody (chmod o-w, or +t)",
                    path.c_str());
    return Directory(std::move(fd), std::move(path), st.st_dev, st.st_ino);
}

Result<void> Directory::write(const std::string& name, std::span<const std::byte> head,
                              std::span<const std::byte> body) const
{
    DDS_FAILPOINT("comm.file.write");
    const std::string where = in_words(name);
    for (int attempt = 0;; attempt++) {
        DDS_LET(temporary, aside(name));
        Fd fd(openat(fd_.get(), temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | kSafe, 0600));
        if (!fd && errno == EEXIST && attempt < 8)
            continue;
        if (!fd)
            return fail_errno(errno, "cannot create %s", where.c_str());
        Result<void> done = fchmod(fd.get(), 0600) == 0  // whatever the umask
                                ? write_all(fd.get(), head, where)
                                : fail_errno(errno, "cannot set the mode of %s", where.c_str());
        if (done)
            done = write_all(fd.get(), body, where);
        // NFS and quotas tell a full file system only now.
        if (::close(fd.release()) != 0 && errno != EINTR && done)
            done = fail_errno(errno, "cannot close %s", where.c_str());
        if (done)
            done = before_rename();
        if (done && renameat(fd_.get(), temporary.c_str(), fd_.get(), name.c_str()) != 0) {
            // A sweep of a leftover that was none took it; or the directory itself is gone.
            if (errno == ENOENT && attempt < 1)
                continue;
            done = fail_errno(errno, "cannot put %s in place", where.c_str());
        }
        if (!done)
            unlinkat(fd_.get(), temporary.c_str(), 0);
        return done;
    }
}

Result<void> Directory::overwrite(const std::string& name, std::span<const std::byte> bytes) const
{
    const std::string where = in_words(name);
    const Fd fd(openat(fd_.get(), name.c_str(), O_WRONLY | kSafe));
    struct stat st;
    if (!fd || fstat(fd.get(), &st) != 0)
        return fail_errno(errno, "cannot open %s", where.c_str());
    if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_nlink != 1)
        return fail(DDS_ERR_PERM, "%s is not this user's own file", where.c_str());
    return write_all(fd.get(), bytes, where);
}

Result<std::optional<Directory::File>> Directory::open_file(const std::string& name) const
{
    DDS_FAILPOINT("comm.file.read");
    const std::string where = in_words(name);
    File file{Fd(openat(fd_.get(), name.c_str(), O_RDONLY | kSafe)), 0};
    struct stat st;
    if (!file.fd || fstat(file.fd.get(), &st) != 0) {
        if (errno == ENOENT || errno == ESTALE || errno == EINTR)
            return std::optional<File>();
        if (errno == ELOOP)
            return fail(DDS_ERR_PERM, "%s is a symbolic link", where.c_str());
        if (errno == ENXIO)
            return fail(DDS_ERR_PERM, "%s is not a regular file", where.c_str());
        return fail_errno(errno, "cannot open %s", where.c_str());
    }
    if (!S_ISREG(st.st_mode))
        return fail(DDS_ERR_PERM, "%s is not a regular file", where.c_str());
    if (st.st_nlink == 0)  // replaced since it was opened
        return std::optional<File>();
    if (st.st_uid != geteuid())
        return fail(DDS_ERR_PERM, "%s belongs to user %u, not to user %u", where.c_str(),
                    static_cast<unsigned>(st.st_uid), static_cast<unsigned>(geteuid()));
    if (st.st_nlink != 1)
        return fail(DDS_ERR_PERM, "%s has %u names (hard links)", where.c_str(),
                    static_cast<unsigned>(st.st_nlink));
    if (st.st_mode & 022)
        return fail(DDS_ERR_PERM, "%s can be written by others (mode %04o)", where.c_str(),
                    static_cast<unsigned>(st.st_mode & 07777));
    file.bytes = static_cast<uint64_t>(st.st_size);
    return std::optional<File>(std::move(file));
}

Result<bool> Directory::read(const File& file, uint64_t offset, std::span<std::byte> out,
                             const std::string& name) const
{
    while (!out.empty()) {
        const ssize_t got =
            pread(file.fd.get(), out.data(), out.size(), static_cast<off_t>(offset));
        if (got < 0 && errno == EINTR)
            continue;
        if (got == 0 || (got < 0 && errno == ESTALE))
            return false;
        if (got < 0)
            return fail_errno(errno, "cannot read %s", in_words(name).c_str());
        offset += static_cast<uint64_t>(got);
        out = out.subspan(static_cast<size_t>(got));
    }
    return true;
}

bool Directory::exists(const std::string& name) const
{
    return faccessat(fd_.get(), name.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

void Directory::remove(const std::string& name) const { unlinkat(fd_.get(), name.c_str(), 0); }

Result<void> Directory::rename(const std::string& from, const std::string& to) const
{
    if (renameat(fd_.get(), from.c_str(), fd_.get(), to.c_str()) != 0)
        return fail_errno(errno, "cannot put %s in place", in_words(to).c_str());
    return {};
}

std::vector<std::string> Directory::list(const std::string& prefix, size_t most) const
{
    std::vector<std::string> names;
    // A descriptor of its own: the position in the directory belongs to the open file.
    Fd fd(openat(fd_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const std::unique_ptr<DIR, CloseDir> dir(fd ? fdopendir(fd.get()) : nullptr);
    if (!dir)
        return names;
    static_cast<void>(fd.release());
    while (names.size() < most) {
        const dirent* entry = readdir(dir.get());
        if (!entry)
            break;
        if (std::string_view(entry->d_name).starts_with(prefix))
            names.emplace_back(entry->d_name);
    }
    return names;
}

Result<void> Directory::still_there() const
{
    struct stat held, named;
    if (fstat(fd_.get(), &held) == 0 && held.st_nlink == 0)
        return fail(DDS_ERR_IO, "directory %s was removed", path_.c_str());
    if (stat(path_.c_str(), &named) == 0) {
        if (named.st_dev != device_ || named.st_ino != inode_)
            return fail(DDS_ERR_IO, "directory %s was replaced by another one", path_.c_str());
    } else if (errno == ENOENT) {
        return fail(DDS_ERR_IO, "directory %s is gone", path_.c_str());
    }
    return {};
}

}  // namespace dds::filecomm
