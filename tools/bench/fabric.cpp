#include "fabric.hpp"

#include <dlfcn.h>
#include <sys/random.h>

#include <cstring>

#include "control.hpp"

namespace bench {
namespace {

struct Library {
    decltype(&::fi_getinfo) getinfo;
    decltype(&::fi_freeinfo) freeinfo;
    decltype(&::fi_dupinfo) dupinfo;
    decltype(&::fi_fabric) fabric;
    decltype(&::fi_strerror) strerror;
};

template <class Function>
void bind(void* library, const char* name, const char* version, Function& function)
{
    function = reinterpret_cast<Function>(dlvsym(library, name, version));
    if (!function)
        die("libfabric.so.1 has no %s of %s", name, version);
}

const Library& library()
{
    static const Library bound = [] {
        void* loaded = dlopen("libfabric.so.1", RTLD_NOW | RTLD_LOCAL);
        if (!loaded)
            die("%s", dlerror());
        Library table{};
        bind(loaded, "fi_getinfo", "FABRIC_1.3", table.getinfo);
        bind(loaded, "fi_freeinfo", "FABRIC_1.3", table.freeinfo);
        bind(loaded, "fi_dupinfo", "FABRIC_1.3", table.dupinfo);
        bind(loaded, "fi_fabric", "FABRIC_1.1", table.fabric);
        bind(loaded, "fi_strerror", "FABRIC_1.0", table.strerror);
        return table;
    }();
    return bound;
}

void must(ssize_t code, const char* call)
{
    if (code < 0)
        die("%s: %s", call, library().strerror(static_cast<int>(-code)));
}

template <class T, class Open>
Closed<T> opened(const char* call, Open open)
{
    T* object = nullptr;
    must(open(&object), call);
    return Closed<T>(object);
}

}  // namespace

FabricDomain::FabricDomain(const std::string& provider, const std::string& address)
{
    const Library& fabric = library();
    fi_info* hints = fabric.dupinfo(nullptr);
    hints->caps = FI_RMA | FI_READ | FI_REMOTE_READ;
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->ep_attr->type = FI_EP_RDM;
    hints->domain_attr->mr_mode =
        FI_MR_LOCAL | FI_MR_ALLOCATED | FI_MR_ENDPOINT | FI_MR_PROV_KEY | FI_MR_VIRT_ADDR;
    hints->domain_attr->threading = FI_THREAD_SAFE;
    hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
    hints->fabric_attr->prov_name = strdup(provider.c_str());
    const char* const node = address.empty() ? nullptr : address.c_str();
    const int code =
        fabric.getinfo(FI_VERSION(1, 14), node, nullptr, node ? FI_SOURCE : 0, hints, &info_);
    fabric.freeinfo(hints);
    must(code, "fi_getinfo");
    info_->tx_attr->op_flags = 0;
    fabric_ = opened<fid_fabric>("fi_fabric", [&](fid_fabric** made) {
        return fabric.fabric(info_->fabric_attr, made, nullptr);
    });
    domain_ = opened<fid_domain>("fi_domain", [&](fid_domain** made) {
        return fi_domain(fabric_.get(), info_, made, nullptr);
    });
}

FabricDomain::~FabricDomain()
{
    domain_.reset();
    fabric_.reset();
    library().freeinfo(info_);
}

Closed<fid_mr> FabricDomain::enroll(const char* memory, size_t bytes, uint64_t access,
                                    fid_ep* endpoint) const
{
    uint64_t key = 0;
    if (getrandom(&key, sizeof key, 0) != sizeof key)
        die("getrandom failed");
    const size_t size = info_->domain_attr->mr_key_size;
    if (size < sizeof key)
        key &= (uint64_t{1} << 8 * size) - 1;
    auto region = opened<fid_mr>("fi_mr_reg", [&](fid_mr** made) {
        return fi_mr_reg(domain(), memory, bytes, access, 0, key, 0, made, nullptr);
    });
    if (info_->domain_attr->mr_mode & FI_MR_ENDPOINT) {
        must(fi_mr_bind(region.get(), &endpoint->fid, 0), "fi_mr_bind");
        must(fi_mr_enable(region.get()), "fi_mr_enable");
    }
    return region;
}

FabricEnd::FabricEnd(const FabricDomain& domain)
{
    fi_av_attr addresses{};
    fi_cq_attr queues{};
    queues.format = FI_CQ_FORMAT_CONTEXT;
    queues.wait_obj = FI_WAIT_UNSPEC;
    vector = opened<fid_av>("fi_av_open", [&](fid_av** made) {
        return fi_av_open(domain.domain(), &addresses, made, nullptr);
    });
    queue = opened<fid_cq>("fi_cq_open", [&](fid_cq** made) {
        return fi_cq_open(domain.domain(), &queues, made, nullptr);
    });
    endpoint = opened<fid_ep>("fi_endpoint", [&](fid_ep** made) {
        return fi_endpoint(domain.domain(), const_cast<fi_info*>(&domain.info()), made, nullptr);
    });
    must(fi_ep_bind(endpoint.get(), &vector->fid, 0), "fi_ep_bind");
    must(fi_ep_bind(endpoint.get(), &queue->fid, FI_TRANSMIT | FI_RECV), "fi_ep_bind");
    must(fi_enable(endpoint.get()), "fi_enable");
}

std::string FabricEnd::name() const
{
    size_t bytes = 1024;
    std::string name(bytes, '\0');
    must(fi_getname(&endpoint->fid, name.data(), &bytes), "fi_getname");
    name.resize(bytes);
    return name;
}

fi_addr_t FabricEnd::insert(const std::string& name) const
{
    fi_addr_t address = FI_ADDR_NOTAVAIL;
    if (fi_av_insert(vector.get(), name.data(), 1, &address, 0, nullptr) != 1)
        die("fi_av_insert refused an address");
    return address;
}

}  // namespace bench
