// Who was not invited: an endpoint of libfabric's own that knows where an owner is, and the reads and
// writes that libddstore would never ask for.
#pragma once

#include "fabric_world.hpp"

namespace unit {

inline FabricKey key_of(const Shown& shown)
{
    FabricKey key;
    memcpy(&key, shown.key.bytes.data(), sizeof key);
    return key;
}

class Stranger {
public:
    Error open(const FabricChoice& choice, const Shown& owner)
    {
        const Fabric& library = **Fabric::get();
        const FabricInfo hints(library.dupinfo(nullptr), {&library});
        hints->caps = FI_RMA | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;
        hints->ep_attr->type = FI_EP_RDM;
        hints->fabric_attr->prov_name = strdup(choice.offer.provider);
        hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
        fi_info* found = nullptr;
        EXPECT(library.getinfo(library.api, choice.address.c_str(), nullptr, FI_SOURCE, hints.get(),
                               &found) == 0);
        info_ = FabricInfo(found, {&library});
        fid_fabric* fabric = nullptr;
        EXPECT(library.fabric(found->fabric_attr, &fabric, nullptr) == 0);
        fabric_.reset(fabric);
        fid_domain* domain = nullptr;
        EXPECT(fi_domain(fabric, found, &domain, nullptr) == 0);
        domain_.reset(domain);
        return connect(owner);
    }

    // A new endpoint, as one that was refused is of no more use.
    Error connect(const Shown& owner)
    {
        endpoint_.reset();
        queue_.reset();
        vector_.reset();
        fi_av_attr of_vector{};
        of_vector.type = FI_AV_TABLE;
        fid_av* vector = nullptr;
        EXPECT(fi_av_open(domain_.get(), &of_vector, &vector, nullptr) == 0);
        vector_.reset(vector);
        fi_cq_attr of_queue{};
        of_queue.format = FI_CQ_FORMAT_CONTEXT;
        fid_cq* queue = nullptr;
        EXPECT(fi_cq_open(domain_.get(), &of_queue, &queue, nullptr) == 0);
        queue_.reset(queue);
        fid_ep* endpoint = nullptr;
        EXPECT(fi_endpoint(domain_.get(), info_.get(), &endpoint, nullptr) == 0);
        endpoint_.reset(endpoint);
        EXPECT(fi_ep_bind(endpoint, &vector->fid, 0) == 0);
        EXPECT(fi_ep_bind(endpoint, &queue->fid, FI_TRANSMIT | FI_RECV) == 0);
        EXPECT(fi_enable(endpoint) == 0);
        EXPECT(fi_av_insert(vector, owner.address, 1, &peer_, 0, nullptr) == 1);
        return kFine;
    }

    // 0 once it is under way, -FI_EAGAIN while there is no connection.
    ssize_t read(std::byte* to, size_t bytes, uint64_t from, uint64_t key)
    {
        return fi_read(endpoint_.get(), to, bytes, nullptr, peer_, from, key, &context_);
    }
    ssize_t write(const std::byte* what, size_t bytes, uint64_t to, uint64_t key)
    {
        return fi_write(endpoint_.get(), what, bytes, nullptr, peer_, to, key, &context_);
    }
    // 1: done; -FI_EAVAIL: refused, or lost; -FI_EAGAIN: neither yet.
    ssize_t ended()
    {
        fi_cq_entry entry;
        const ssize_t got = fi_cq_read(queue_.get(), &entry, 1);
        if (got == -FI_EAVAIL) {
            fi_cq_err_entry error{};
            fi_cq_readerr(queue_.get(), &error, 0);
        }
        return got;
    }

private:
    FabricInfo info_{nullptr, {nullptr}};
    Fid<fid_fabric> fabric_;
    Fid<fid_domain> domain_;
    Fid<fid_av> vector_;
    Fid<fid_cq> queue_;
    Fid<fid_ep> endpoint_;
    fi_addr_t peer_ = 0;
    fi_context2 context_{};
};

}  // namespace unit
