#include "limit_records.hpp"

#include <fcntl.h>
#include <nmmintrin.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

#include "control.hpp"

namespace bench {
namespace {

// CRC-32C, as the records have; a processor without the instruction is given the bytes unlooked at.
__attribute__((target("sse4.2"))) uint64_t checksum(const std::vector<char>& bytes)
{
    uint64_t state = UINT32_MAX;
    size_t at = 0;
    for (; at + 8 <= bytes.size(); at += 8) {
        uint64_t word;
        memcpy(&word, bytes.data() + at, sizeof word);
        state = _mm_crc32_u64(state, word);
    }
    for (; at < bytes.size(); at++)
        state = _mm_crc32_u8(static_cast<uint32_t>(state), static_cast<unsigned char>(bytes[at]));
    return state;
}

}  // namespace

Records::Records(std::string directory) : path_(std::move(directory))
{
    std::error_code error;
    for (const auto& file : std::filesystem::directory_iterator(path_, error))
        if (file.path().extension() == ".core")
            core_ = file.path().filename();
    if (core_.empty())
        die("there is no record of a job in %s", path_.c_str());
}

Records::~Records() { close(); }

void Records::open()
{
    directory_ = ::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory_ < 0)
        die("cannot open %s: %s", path_.c_str(), strerror(errno));
}

void Records::close()
{
    if (directory_ >= 0)
        ::close(directory_);
    directory_ = -1;
}

void Records::read(const std::string& file) const
{
    const int fd = openat(directory_, file.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat status;
    if (fd < 0 || fstat(fd, &status) != 0)
        die("cannot open %s/%s: %s", path_.c_str(), file.c_str(), strerror(errno));
    std::vector<char> bytes(static_cast<size_t>(status.st_size));
    if (::read(fd, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()))
        die("cannot read %s/%s", path_.c_str(), file.c_str());
    ::close(fd);
    static const bool checks = __builtin_cpu_supports("sse4.2");
    uint64_t sum = checks ? checksum(bytes) : 0;
    __asm__ volatile("" : "+r"(sum));
}

}  // namespace bench
