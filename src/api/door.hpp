// The door: every dds_* function checks, translates, makes one call inwards and translates back.  The
// only folder with extern "C", try and catch, the handle tables and the thread's last error.
#pragma once

#include <cstring>
#include <new>

#include "base/result.hpp"

namespace dds {

// Remember the error as this thread's last and return its code.
[[gnu::cold]] int refuse(const Error& error) noexcept;
// What escaped from inside, as an error.
[[gnu::cold]] int refuse_exception() noexcept;

// Run `work`, which returns Result<void>: no exception leaves the library.
template <class Work>
int guarded(Work work) noexcept
{
    try {
        const Result<void> result = work();
        return result ? DDS_SUCCESS : refuse(result.error());
    } catch (...) {
        return refuse_exception();
    }
}

[[gnu::cold]] Error null_argument(const char* what);

// The caller's option struct in our size: NULL means defaults, a longer one must be zero where we know
// nothing of it.  All of them begin with struct_size.
template <class T>
Result<T> read_struct(const T* given, const char* what)
{
    T ours{};
    ours.struct_size = sizeof(T);
    if (!given)
        return ours;
    const size_t bytes = given->struct_size;
    if (bytes < sizeof(T))
        return fail(DDS_ERR_ARG, "%s has struct_size %zu: set it with its _INIT macro", what,
                    bytes);
    for (size_t i = sizeof(T); i < bytes; i++)
        if (reinterpret_cast<const unsigned char*>(given)[i] != 0)
            return fail(DDS_ERR_UNSUPPORTED, "%s has fields that this release does not know", what);
    memcpy(&ours, given, sizeof(T));
    return ours;
}

// Fill the caller's output struct up to the shorter of the two sizes; the rest of it is zeroed.
template <class T>
Result<void> write_struct(T* to, T ours, const char* what)
{
    const size_t bytes = to->struct_size;
    if (bytes < sizeof(uint32_t) * 2)
        return fail(DDS_ERR_ARG, "%s has struct_size %zu: set it with its _INIT macro", what,
                    bytes);
    ours.struct_size = to->struct_size;
    memset(to, 0, bytes);
    memcpy(to, &ours, bytes < sizeof(T) ? bytes : sizeof(T));
    return {};
}

}  // namespace dds
