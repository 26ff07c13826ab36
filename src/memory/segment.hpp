// A segment: memory that other processes of the node can map, as a sealed memfd.  Nothing of it has a
// name, so nothing is left when every process is gone, however it went.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/fd.hpp"
#include "base/result.hpp"

namespace dds {

enum class Sharing {
    read,   // shards: the owner writes through the mapping it made before sealing, nobody else can
    write,  // the control page: every process that has the descriptor writes
};

class Segment {
public:
    static constexpr size_t kHugePage = size_t{2} << 20;

    // `bytes` of zeros, sealed; the memory is taken when it is touched.  `huge` advises huge pages.
    static Result<Segment> create(const char* name, size_t bytes, Sharing sharing, bool huge);
    // Another process's segment, whose descriptor it sent: it must be what `sharing` promises and
    // have `bytes`.  The mapping stays when the descriptor is closed.
    static Result<Segment> attach(const Fd& fd, size_t bytes, Sharing sharing);

    // One more mapping of a segment that was created here, to be read only: in a forked child.
    Result<Segment> again() const;

    Segment() = default;
    Segment(Segment&& other) noexcept;
    Segment& operator=(Segment&& other) noexcept;
    ~Segment();

    std::byte* data() const { return data_; }
    size_t bytes() const { return bytes_; }
    int fd() const { return fd_.get(); }  // to send; -1 where attached

private:
    Segment(Fd fd, std::byte* data, size_t bytes) : fd_(std::move(fd)), data_(data), bytes_(bytes)
    {
    }

    Fd fd_;
    std::byte* data_ = nullptr;
    size_t bytes_ = 0;
};

}  // namespace dds
