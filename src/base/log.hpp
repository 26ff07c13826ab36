// The log callback of dds_set_log.  The library never prints by itself, and it logs only from a
// thread that is inside a dds_ call.
#pragma once

namespace dds {

void set_log(void (*fn)(void*, int, const char*), void* ctx);
[[gnu::format(printf, 2, 3)]] void log(int level, const char* format, ...);

}  // namespace dds
