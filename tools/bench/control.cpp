#include "control.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "options.hpp"

namespace bench {

void die(const char* format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("ddstore-bench: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    _exit(kFailed);
}

namespace {

void size(int fd, size_t channels)
{
    if (fd < 0 || ftruncate(fd, static_cast<off_t>(sizeof(Control) + channels)))
        die("no shared page: %s", strerror(errno));
}

}  // namespace

std::string make_control(size_t channels)
{
    const int fd = memfd_create("bench-control", 0);
    size(fd, channels);
    return "/proc/self/fd/" + std::to_string(fd);
}

std::string make_control(const std::string& dir, size_t channels)
{
    const std::string file = dir + "/control";
    const int fd = open(file.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    size(fd, channels);
    close(fd);
    return file;
}

Control& map_control(const std::string& file)
{
    const int fd = open(file.c_str(), O_RDWR | O_CLOEXEC);
    struct stat status;
    void* page = MAP_FAILED;
    if (fd >= 0 && fstat(fd, &status) == 0)
        page = mmap(nullptr, static_cast<size_t>(status.st_size), PROT_READ | PROT_WRITE,
                    MAP_SHARED, fd, 0);
    if (page == MAP_FAILED)
        die("no shared page: %s", strerror(errno));
    close(fd);
    return *static_cast<Control*>(page);
}

}  // namespace bench
