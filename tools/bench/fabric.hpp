// Bare libfabric for the limit: what opens an endpoint of one provider, and nothing that helps.
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_rma.h>

#include <memory>
#include <string>

namespace bench {

struct CloseFabric {
    template <class T>
    void operator()(T* object) const
    {
        fi_close(&object->fid);
    }
};
template <class T>
using Closed = std::unique_ptr<T, CloseFabric>;

// A provider, opened on the interface that has `address` (empty: any).
class FabricDomain {
public:
    FabricDomain(const std::string& provider, const std::string& address);
    ~FabricDomain();
    FabricDomain(const FabricDomain&) = delete;
    FabricDomain& operator=(const FabricDomain&) = delete;

    const fi_info& info() const { return *info_; }
    fid_domain* domain() const { return domain_.get(); }
    bool by_address() const { return info_->domain_attr->mr_mode & FI_MR_VIRT_ADDR; }
    // For others to read; and for our own reads to land in.
    Closed<fid_mr> expose(const char* memory, size_t bytes, fid_ep* endpoint) const
    {
        return enroll(memory, bytes, FI_REMOTE_READ, endpoint);
    }
    Closed<fid_mr> land(char* memory, size_t bytes, fid_ep* endpoint) const
    {
        return enroll(memory, bytes, FI_READ, endpoint);
    }

private:
    Closed<fid_mr> enroll(const char* memory, size_t bytes, uint64_t access,
                          fid_ep* endpoint) const;

    fi_info* info_ = nullptr;
    Closed<fid_fabric> fabric_;
    Closed<fid_domain> domain_;
};

// An endpoint with a queue and a table of addresses.
struct FabricEnd {
    explicit FabricEnd(const FabricDomain& domain);

    std::string name() const;
    fi_addr_t insert(const std::string& name) const;

    Closed<fid_av> vector;
    Closed<fid_cq> queue;
    Closed<fid_ep> endpoint;
};

}  // namespace bench
