#include "memory/segment.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif
#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

namespace dds {
namespace {

constexpr int kShardSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL;
constexpr int kSharedSeals = F_SEAL_SHRINK | F_SEAL_GROW;

Result<Fd> open_memfd(const char* name)
{
    // Kernels before 6.3 know no MFD_NOEXEC_SEAL.
    int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
    if (fd < 0 && errno == EINVAL)
        fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return fail_errno(errno, "memfd_create");
    return Fd(fd);
}

// Addresses aligned to a huge page, so that owner and readers can map whole ones.
Result<std::byte*> map(int fd, size_t bytes, int protection)
{
    const size_t slack = bytes >= Segment::kHugePage ? Segment::kHugePage : 0;
    void* place =
        mmap(nullptr, bytes + slack, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (place == MAP_FAILED)
        return fail_errno(errno, "mmap of %zu bytes of address space", bytes + slack);
    auto* at = static_cast<std::byte*>(place);
    if (slack) {
        const auto address = reinterpret_cast<uintptr_t>(at);
        const size_t head = (slack - address % slack) % slack;
        if (head)
            munmap(at, head);
        if (slack - head)
            munmap(at + head + bytes, slack - head);
        at += head;
    }
    if (mmap(at, bytes, protection, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED) {
        const int error = errno;
        munmap(at, bytes);
        if (error == ENOMEM)
            return fail(DDS_ERR_LIMIT,
                        "mmap of %zu bytes: too many mappings or too little address "
                        "space (see vm.max_map_count and `ulimit -v`)",
                        bytes);
        return fail_errno(error, "mmap of %zu bytes", bytes);
    }
    return at;
}

// Seals the segment and returns the descriptor that peers may have.
Result<Fd> seal(Fd fd, Sharing sharing)
{
    const int seals = sharing == Sharing::read ? kShardSeals : kSharedSeals;
    if (fcntl(fd.get(), F_ADD_SEALS, seals) == 0)
        return fd;
    // Kernels before 5.1 cannot forbid later writable mappings; there it is a read-only descriptor.
    if (errno != EINVAL || fcntl(fd.get(), F_ADD_SEALS, seals & ~F_SEAL_FUTURE_WRITE) != 0)
        return fail_errno(errno, "F_ADD_SEALS");
    char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd.get());
    Fd read_only(open(path, O_RDONLY | O_CLOEXEC));
    if (!read_only)
        return fail_errno(errno, "open %s", path);
    return read_only;
}

}  // namespace

Result<Segment> Segment::create(const char* name, size_t bytes, Sharing sharing, bool huge)
{
    DDS_LET(fd, open_memfd(name));
    if (ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0)
        return fail_errno(errno, "ftruncate of a memfd to %zu bytes", bytes);
    DDS_LET(data, map(fd.get(), bytes, PROT_READ | PROT_WRITE));
    Segment made(Fd(), data, bytes);
    // Only whole huge pages: one for the tail would take memory that no shard uses.
    if (const size_t whole = bytes & ~(kHugePage - 1); huge && whole)
        madvise(data, whole, MADV_HUGEPAGE);
    DDS_LET(shown, seal(std::move(fd), sharing));
    made.fd_ = std::move(shown);
    return made;
}

Result<Segment> Segment::attach(const Fd& fd, size_t bytes, Sharing sharing)
{
    struct stat status;
    if (fstat(fd.get(), &status) != 0)
        return fail_errno(errno, "fstat of a peer's segment");
    const int seals = fcntl(fd.get(), F_GET_SEALS);
    // Without these a peer could shrink it later, and a read would end in SIGBUS.
    if (!S_ISREG(status.st_mode) || seals < 0 || (seals & kSharedSeals) != kSharedSeals)
        return fail(DDS_ERR_CORRUPT, "a peer sent a descriptor that is no sealed segment");
    if (static_cast<uint64_t>(status.st_size) != bytes)
        return fail(DDS_ERR_CORRUPT, "a peer's segment has %lld bytes where it said %zu",
                    static_cast<long long>(status.st_size), bytes);
    DDS_LET(data,
            map(fd.get(), bytes, sharing == Sharing::read ? PROT_READ : PROT_READ | PROT_WRITE));
    return Segment(Fd(), data, bytes);
}

Result<Segment> Segment::again() const
{
    DDS_LET(data, map(fd_.get(), bytes_, PROT_READ));
    return Segment(Fd(), data, bytes_);
}

Segment::Segment(Segment&& other) noexcept
    : fd_(std::move(other.fd_)),
      data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0))
{
}

Segment& Segment::operator=(Segment&& other) noexcept
{
    std::swap(fd_, other.fd_);
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
}

Segment::~Segment()
{
    if (data_)
        munmap(data_, bytes_);
}

}  // namespace dds
