// Work between the rounds of a collective call: a lack of memory is a failure that the others hear of.
#pragma once

#include <new>

#include "base/result.hpp"

namespace dds {

template <class Work>
Result<void> contain(Work work)
{
    try {
        return work();
    } catch (const std::bad_alloc&) {
        return Error{DDS_ERR_NOMEM, -1, "no memory"};
    }
}

}  // namespace dds
