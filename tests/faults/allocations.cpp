// Every allocation can fail: while it is armed, the n-th operator new or malloc of this thread has no
// memory.  The C test counts n up until a call passes (n_th_allocation.c).
#include <dlfcn.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

thread_local long countdown = 0;  // 0: not armed
thread_local long failures = 0;

bool fails_now()
{
    if (countdown == 0 || --countdown > 0)
        return false;
    failures++;
    return true;
}

void* take(std::size_t bytes, std::size_t alignment, bool may_throw)
{
    void* memory = nullptr;
    if (!fails_now()) {
        const long armed = countdown;
        countdown = 0;  // the allocation below is the same one
        memory = alignment <= alignof(std::max_align_t)
                     ? malloc(bytes ? bytes : 1)
                     : aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
        countdown = armed;
    }
    if (!memory && may_throw)
        throw std::bad_alloc();
    return memory;
}

}  // namespace

extern "C" void fail_allocation(long nth)
{
    failures = 0;
    countdown = nth;
}
extern "C" long allocation_failures()
{
    countdown = 0;
    return failures;
}

void* operator new(std::size_t bytes) { return take(bytes, 0, true); }
void* operator new[](std::size_t bytes) { return take(bytes, 0, true); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept
{
    return take(bytes, 0, false);
}
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept
{
    return take(bytes, 0, false);
}
void* operator new(std::size_t bytes, std::align_val_t alignment)
{
    return take(bytes, static_cast<std::size_t>(alignment), true);
}
void* operator new[](std::size_t bytes, std::align_val_t alignment)
{
    return take(bytes, static_cast<std::size_t>(alignment), true);
}
void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept
{
    return take(bytes, static_cast<std::size_t>(alignment), false);
}
void operator delete(void* memory) noexcept { free(memory); }
void operator delete[](void* memory) noexcept { free(memory); }
void operator delete(void* memory, std::size_t) noexcept { free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { free(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { free(memory); }

#if !DDS_SANITIZED
// What is asked of malloc directly.  The sanitizers own it in their builds.
namespace {
using Malloc = void* (*)(std::size_t);
Malloc real_malloc()
{
    static const Malloc real = reinterpret_cast<Malloc>(dlsym(RTLD_NEXT, "malloc"));
    return real;
}
}  // namespace

extern "C" void* malloc(std::size_t bytes)
{
    if (countdown != 0 && fails_now()) {
        errno = ENOMEM;
        return nullptr;
    }
    return real_malloc()(bytes);
}
#endif
