// libfabric, found at run time: the few functions that its headers do not inline, as a table.  All
// else goes through the tables inside its objects, so no symbol of it is ever linked.
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include <memory>

#include "base/fork.hpp"
#include "base/result.hpp"

namespace dds {

struct Fabric {
    decltype(&::fi_getinfo) getinfo;
    decltype(&::fi_freeinfo) freeinfo;
    decltype(&::fi_dupinfo) dupinfo;
    decltype(&::fi_fabric) fabric;
    decltype(&::fi_version) version;
    decltype(&::fi_strerror) strerror;
    decltype(&::fi_tostr) tostr;
    uint32_t api;  // the version of its interface that we ask for

    // Loaded by the first call, and never unloaded.  One that the process has already serves, so
    // never before the program's MPI is there: that brings its own.
    static Result<const Fabric*> get();

    Error error(int64_t code, const char* what) const;  // a negative return value in words
};

struct FreeFabricInfo {
    const Fabric* library;
    void operator()(fi_info* info) const { library->freeinfo(info); }
};
using FabricInfo = std::unique_ptr<fi_info, FreeFabricInfo>;

// An object of libfabric, closed with its owner.  In a forked child it is left as it is: closing it
// would end the parent's connections.
struct CloseFid {
    uint64_t process = fork_count();
    template <class T>
    void operator()(T* object) const
    {
        if (process == fork_count())
            fi_close(&object->fid);
        else
            leave_to_parent(object);
    }
};
template <class T>
using Fid = std::unique_ptr<T, CloseFid>;

}  // namespace dds
