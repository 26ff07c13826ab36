// Where mapped segments of other ranks come from: the ranks of this job on this node (node.hpp), or
// the processes of another job that let us visit them (visitor.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "memory/segment.hpp"

namespace dds {

class SegmentSource {
public:
    virtual ~SegmentSource() = default;

    // Wait until the segments are here, each put where it goes as it comes; PEER where a rank is gone.
    // TIMEOUT names the rank that was waited for.
    struct Awaited {
        int rank;
        uint32_t id;
        size_t bytes;
        Segment* to;
    };
    virtual Result<void> settle(std::span<const Awaited> awaited, int64_t timeout_ms) = 0;
};

}  // namespace dds
