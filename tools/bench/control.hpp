// The page that the launcher makes and all ranks map: where they meet, and the channels of the limit
// of get_batch_all.
#pragma once

#include <cstddef>

#include "team.hpp"

namespace bench {

struct Control {
    Meeting all, readers;
    char* channels() { return reinterpret_cast<char*>(this + 1); }
};

// A descriptor that the ranks inherit, or exits; `channels` bytes come after the page.
int make_control(size_t channels);
Control& map_control(int fd);

[[noreturn, gnu::format(printf, 1, 2)]] void die(const char* format, ...);

}  // namespace bench
