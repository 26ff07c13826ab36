// A directory that processes of one user share, held open: every access goes through its descriptor,
// files appear whole (written aside, then renamed) and are read only where they are safe to read.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "base/result.hpp"

namespace dds::filecomm {

class Directory {
public:
    Directory() = default;  // none: to be assigned to
    // Created 0700 where it is missing.  PERM where everybody may write into it and it is not sticky.
    static Result<Directory> open(const std::string& path);

    const std::string& path() const { return path_; }
    int fd() const { return fd_.get(); }  // for what is no file: sockets
    std::string in_words(const std::string& name) const { return path_ + "/" + name; }

    // A new file `name`, mode 0600, made of two pieces; it replaces one that is there.
    Result<void> write(const std::string& name, std::span<const std::byte> head,
                       std::span<const std::byte> body) const;
    // The first bytes of a file that is there, without taking space: for the last words of a rank on
    // a full file system.
    Result<void> overwrite(const std::string& name, std::span<const std::byte> bytes) const;

    // A regular file of this user, with one name, that nobody else may write; its size and bytes are
    // of one open descriptor.  Nullopt where there is none, or none yet.
    struct File {
        Fd fd;
        uint64_t bytes = 0;
    };
    Result<std::optional<File>> open_file(const std::string& name) const;
    // False where the file ends before, or went away under us (NFS: ESTALE).
    Result<bool> read(const File& file, uint64_t offset, std::span<std::byte> out,
                      const std::string& name) const;

    bool exists(const std::string& name) const;
    void remove(const std::string& name) const;
    Result<void> rename(const std::string& from, const std::string& to) const;
    // Names that begin with `prefix`.  Reading the directory also makes an NFS client forget that a
    // name was not there.
    std::vector<std::string> list(const std::string& prefix, size_t most = SIZE_MAX) const;

    // IO where the directory was removed or another one is at its path now.
    Result<void> still_there() const;

private:
    Directory(Fd fd, std::string path, dev_t device, ino_t inode)
        : fd_(std::move(fd)), path_(std::move(path)), device_(device), inode_(inode)
    {
    }
    Fd fd_;
    std::string path_;
    dev_t device_ = 0;
    ino_t inode_ = 0;
};

}  // namespace dds::filecomm
