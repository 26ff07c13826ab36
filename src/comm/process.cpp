#include "comm/process.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/fd.hpp"

namespace dds::filecomm {
namespace {

// A small file of /proc, whole; empty where it cannot be read.
std::string read_proc(const char* path)
{
    const Fd fd(open(path, O_RDONLY | O_CLOEXEC));
    char text[1024];
    const ssize_t got = fd ? read(fd.get(), text, sizeof text) : 0;
    return std::string(text, got > 0 ? static_cast<size_t>(got) : 0);
}

std::array<uint8_t, 16> boot_id()
{
    std::array<uint8_t, 16> id{};
    size_t digits = 0;
    for (const char c : read_proc("/proc/sys/kernel/random/boot_id")) {
        const char digit[2] = {c, 0};
        char* end;
        const auto value = static_cast<uint8_t>(strtoul(digit, &end, 16));
        if (end != digit && digits < 32) {
            id[digits / 2] = static_cast<uint8_t>(id[digits / 2] << 4 | value);
            digits++;
        }
    }
    return id;
}

struct Stat {
    char state = 0;  // 0: there is no such process
    uint64_t started = 0;
};

// Fields 3 and 22 of /proc/PID/stat; the second field is a name that may hold anything.
Stat stat_of(int64_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%lld/stat", static_cast<long long>(pid));
    const std::string text = read_proc(path);
    const size_t name_end = text.rfind(')');
    Stat stat;
    if (name_end == std::string::npos || name_end + 2 >= text.size())
        return stat;
    const char* at = text.c_str() + name_end + 2;
    stat.state = *at;
    for (int field = 3; field < 22 && at; field++) {
        at = strchr(at, ' ');
        at = at ? at + 1 : nullptr;
    }
    stat.started = at ? strtoull(at, nullptr, 10) : 0;
    return stat;
}

}  // namespace

Process this_process()
{
    Process process;
    struct stat st;
    process.boot = boot_id();
    process.namespace_inode = ::stat("/proc/self/ns/pid", &st) == 0 ? st.st_ino : 0;
    process.pid = getpid();
    process.started = stat_of(process.pid).started;
    return process;
}

Life life_of(const Process& process)
{
    const Process self = this_process();
    if (self.namespace_inode == 0 || self.started == 0 || process.boot != self.boot ||
        process.namespace_inode != self.namespace_inode || process.pid <= 0)
        return Life::unknown;
    const Stat stat = stat_of(process.pid);
    // A zombie runs no more.
    const bool alive =
        stat.state && stat.state != 'Z' && stat.state != 'X' && stat.started == process.started;
    return alive ? Life::alive : Life::dead;
}

std::string in_words(const Process& process) { return "process " + std::to_string(process.pid); }

}  // namespace dds::filecomm
