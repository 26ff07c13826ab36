// The page that the launcher makes and all ranks map: where they meet, and the channels of the limit
// of get_batch_all.
#pragma once

#include <cstddef>
#include <string>

#include "team.hpp"

namespace bench {

struct Control {
    Meeting all, readers;
    std::atomic<uint32_t> polls;  // readers whose targets shall poll (limit_fabric.cpp)
    char provider[64];  // of libfabric, as a reader of another job found it (case_join.cpp)
    char* channels() { return reinterpret_cast<char*>(this + 1); }
};

// The file where ranks find it, or exits; `channels` bytes come after the page.  Ranks that we start
// inherit it; those of an mpirun find it in `dir`.
std::string make_control(size_t channels);
std::string make_control(const std::string& dir, size_t channels);
Control& map_control(const std::string& file);

[[noreturn, gnu::format(printf, 1, 2)]] void die(const char* format, ...);

}  // namespace bench
