#include "transport/fabric_line.hpp"

#include <algorithm>

#include "transport/fabric_hangup.hpp"

namespace dds {

Result<std::unique_ptr<FabricContext::Line>> FabricContext::Line::open(FabricPort& port)
{
    auto line = std::make_unique<Line>();
    const size_t n = std::clamp<size_t>(port.info().tx_attr->size / 2, 1, kMost);
    line->slots.resize(n);
    for (size_t i = n; i-- > 0;)
        line->free.push_back(static_cast<uint32_t>(i));
    line->proofs.resize(n);

    DDS_LET(end, FabricEnd::open(port.library(), port.domain(), port.info(),
                                 {FI_WAIT_FD, FI_WAIT_NONE}, 2 * n));
    line->end = std::move(end);
    if (line->end.wait == FI_WAIT_FD &&
        fi_control(&line->end.queue->fid, FI_GETWAIT, &line->wakes) != 0)
        line->wakes = -1;
    if (port.needs_local()) {
        DDS_LET(local, port.land(std::as_writable_bytes(std::span(line->proofs)),
                                 line->end.endpoint.get()));
        line->proofs_local = std::move(local);
    }
    return line;
}

bool FabricContext::Line::may_sleep(const FabricPort& port)
{
    fid* waited = &end.queue->fid;
    return fi_trywait(port.fabric(), &waited, 1) == FI_SUCCESS;
}

// Whatever is under way comes, or fails, before the endpoint is closed: what has come is in the kernel,
// and nothing follows.  Looks are counted, as time passes also while nobody lets us look.
void FabricContext::Line::end_answers()
{
    constexpr int kEmptyLooks = 10'000;  // some 10 ms
    hang_up(wakes, known);
    size_t open = slots.size() - free.size() - failed;
    for (int empty = 0; open > 0 && empty < kEmptyLooks; empty++) {
        fi_cq_entry entry;
        ssize_t got = fi_cq_read(end.queue.get(), &entry, 1);
        if (got == -FI_EAVAIL) {
            fi_cq_err_entry error{};
            got = fi_cq_readerr(end.queue.get(), &error, 0);
        }
        if (got == 1) {
            open--;
            empty = 0;
        }
    }
}

int FabricContext::Line::close(const FabricPort& port)
{
    if (slots.size() > free.size() + failed && must_hang_up(port.library(), port.provider()))
        end_answers();
    const int code = fi_close(&end.endpoint->fid);
    if (code == 0)
        end.endpoint.release();
    return code;
}

Result<fi_addr_t> FabricContext::Line::address_of(const FabricPort& port, const FabricPeer& peer)
{
    if (peer.number >= addresses.size()) {
        addresses.resize(peer.number + 1, FI_ADDR_NOTAVAIL);
        answered.resize(peer.number + 1);
    }
    fi_addr_t& address = addresses[peer.number];
    if (address == FI_ADDR_NOTAVAIL) {
        const int n = fi_av_insert(end.vector.get(), peer.address.data(), 1, &address, 0, nullptr);
        if (n != 1) {
            address = FI_ADDR_NOTAVAIL;
            return port.library().error(n < 0 ? n : -FI_EADDRNOTAVAIL, "fi_av_insert");
        }
        known.push_back(peer.address);
    }
    return address;
}

Result<void> FabricContext::Line::make_stage(FabricPort& port)
{
    if (!stage.empty())
        return {};
    std::vector<std::byte> memory(slots.size() * kStage);
    if (port.needs_local()) {
        DDS_LET(local, port.land(memory, end.endpoint.get()));
        stage_local = std::move(local);
    }
    stage = std::move(memory);
    return {};
}

}  // namespace dds
