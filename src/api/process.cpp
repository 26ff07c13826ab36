// Calls about the library as a whole: version, types, callbacks.
#include "api/door.hpp"
#include "base/log.hpp"
#include "base/wait.hpp"
#include "memory/views.hpp"
#include "store/variable_card.hpp"

extern "C" {

void dds_version(int* major, int* minor, int* patch)
{
    if (major)
        *major = DDSTORE_VERSION_MAJOR;
    if (minor)
        *minor = DDSTORE_VERSION_MINOR;
    if (patch)
        *patch = DDSTORE_VERSION_PATCH;
}

size_t dds_type_size(int type) { return dds::type_size(type); }

int dds_set_interrupt(int (*check)(void*), void* ctx)
{
    return dds::guarded([&]() -> dds::Result<void> {
        dds::set_interrupt(check, ctx);
        return {};
    });
}

int dds_set_log(void (*fn)(void*, int, const char*), void* ctx)
{
    return dds::guarded([&]() -> dds::Result<void> {
        dds::set_log(fn, ctx);
        return {};
    });
}

int dds_release_local(void* data)
{
    return dds::guarded([&]() -> dds::Result<void> {
        if (data && !dds::views::remove(data))
            return dds::fail(DDS_ERR_ARG, "%p is no view of dds_local, or was given back before",
                             data);
        return {};
    });
}
}
