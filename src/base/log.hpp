// The log callback of dds_set_log.  The library never prints by itself, and it logs only from a
// thread that is inside a dds_ call.
#pragma once

namespace dds {

// An earlier callback may still be running in another thread when this returns.
void set_log(void (*fn)(void*, int, const char*), void* ctx);
[[gnu::format(printf, 2, 3)]] void log(int level, const char* format, ...);

// Called once by a thread of the library's own: log() says nothing in it from then on.
void never_log_here();

}  // namespace dds
