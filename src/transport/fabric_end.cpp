#include "transport/fabric_end.hpp"

namespace dds {

Result<FabricEnd> FabricEnd::open(const Fabric& library, fid_domain* domain, const fi_info& info,
                                  std::initializer_list<fi_wait_obj> waits, size_t entries)
{
    FabricEnd end;
    fi_av_attr attributes{};
    attributes.type = FI_AV_TABLE;
    fid_av* vector = nullptr;
    if (const int code = fi_av_open(domain, &attributes, &vector, nullptr))
        return library.error(code, "fi_av_open");
    end.vector.reset(vector);
    if (const int code = end.open_queue(domain, waits, entries))
        return library.error(code, "fi_cq_open");
    fid_ep* endpoint = nullptr;
    if (const int code = fi_endpoint(domain, const_cast<fi_info*>(&info), &endpoint, nullptr))
        return library.error(code, "fi_endpoint");
    end.endpoint.reset(endpoint);
    int code = fi_ep_bind(endpoint, &vector->fid, 0);
    if (!code)
        code = fi_ep_bind(endpoint, &end.queue->fid, FI_TRANSMIT | FI_RECV);
    if (!code)
        code = fi_enable(endpoint);
    if (code)
        return library.error(code, "fi_enable");
    return end;
}

int FabricEnd::open_queue(fid_domain* domain, std::initializer_list<fi_wait_obj> waits,
                          size_t entries)
{
    int code = -FI_EINVAL;
    for (const fi_wait_obj way : waits) {
        fi_cq_attr attributes{};
        attributes.format = FI_CQ_FORMAT_CONTEXT;
        attributes.wait_obj = way;
        attributes.size = entries;
        fid_cq* made = nullptr;
        code = fi_cq_open(domain, &attributes, &made, nullptr);
        if (code)
            continue;
        queue.reset(made);
        wait = way;
        break;
    }
    return code;
}

}  // namespace dds
