// The log callback: who gets what the library has to say.  A sink is made once for each callback and
// never freed, so a thread that still uses the last one sees a whole pair, and no lock is taken that
// a forked child could inherit.
#include "base/log.hpp"

#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <new>

#include "base/readers.hpp"

namespace dds {
namespace {

struct Sink {
    void (*fn)(void*, int, const char*);
    void* ctx;
    Sink* next;
};
std::atomic<Sink*> sinks{nullptr};  // every sink there ever was
std::atomic<Sink*> current{nullptr};
thread_local bool quiet = false;  // a thread of ours, or one inside the callback

Sink* sink_of(void (*fn)(void*, int, const char*), void* ctx)
{
    Sink* head = sinks.load(std::memory_order_acquire);
    for (Sink* sink = head; sink; sink = sink->next)
        if (sink->fn == fn && sink->ctx == ctx)
            return sink;
    auto* sink = new (std::nothrow) Sink{fn, ctx, head};
    while (sink && !sinks.compare_exchange_weak(sink->next, sink, std::memory_order_acq_rel)) {}
    return sink;
}

}  // namespace

void set_log(void (*fn)(void*, int, const char*), void* ctx)
{
    current.store(fn ? sink_of(fn, ctx) : nullptr, std::memory_order_release);
}

void never_log_here() { quiet = true; }

void log(int level, const char* format, ...)
{
    const Sink* sink = current.load(std::memory_order_acquire);
    if (!sink || quiet)
        return;
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    for (char* at = text; *at; at++)
        if (*at == '\n' || *at == '\r')
            *at = ' ';
    const Readers::Hold hold;
    quiet = true;  // the callback may call the library, which may have something to say
    sink->fn(sink->ctx, level, text);
    quiet = false;
}

}  // namespace dds
