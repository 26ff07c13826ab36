// An endpoint with a queue and a table of addresses of its own.
#pragma once

#include <initializer_list>

#include "drivers/fabric.hpp"

namespace dds {

struct FabricEnd {
    // With the first of these ways to wait for the queue that the provider has; `entries` is 0 for as
    // many as it thinks fit.
    static Result<FabricEnd> open(const Fabric& library, fid_domain* domain, const fi_info& info,
                                  std::initializer_list<fi_wait_obj> waits, size_t entries);

    Fid<fid_av> vector;
    Fid<fid_cq> queue;
    fi_wait_obj wait = FI_WAIT_NONE;
    Fid<fid_ep> endpoint;  // closed first

private:
    int open_queue(fid_domain* domain, std::initializer_list<fi_wait_obj> waits, size_t entries);
};

}  // namespace dds
