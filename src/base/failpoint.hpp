// Points in the product where a test makes something go wrong.  DDSTORE_FAILPOINT is a list
// "name:action[:nth]" separated by commas; actions: kill, stop, delay=MS, error=CODE.  Without nth
// the action is taken each time the point is passed, with it only the nth time, from 1.  With
// DDSTORE_FAILPOINT_TRACE=FILE every point that is passed appends its name.  Compiled out unless the
// build has -Dtesting=true.
#pragma once

#include "base/result.hpp"

#if DDS_TESTING
namespace dds::failpoint {
Result<void> hit(const char* name);  // ARG where the list is junk
}
#define DDS_FAILPOINT(name) DDS_TRY(::dds::failpoint::hit(name))
#else
#define DDS_FAILPOINT(name) \
    do {                    \
    } while (0)
#endif
