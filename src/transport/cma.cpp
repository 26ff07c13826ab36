// Cross-memory attach: process_vm_readv from a peer of this node whose shard stays in its own memory
// (DDS_NOCOPY).  May be refused (yama, containers): attach probes each segment.
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <shared_mutex>

#include "transport/registry.hpp"

namespace dds {
namespace {

class Cma final : public Transport {
public:
    explicit Cma(const TransportConfig& config) : node_(config.node) {}

    const char* name() const override { return "cma"; }
    int path() const override { return DDS_PATH_CMA; }

    Result<void> expose(uint32_t, const Block&, Key&) override
    {
        return fail(DDS_ERR_UNSUPPORTED, "library memory is mapped, not read by process_vm_readv");
    }

    Result<void> expose(uint32_t, std::span<const std::byte> own, Key& key) override
    {
        const std::byte* address = own.data();
        memcpy(key.bytes.data(), &address, sizeof address);
        key.used = sizeof address;
        return {};
    }

    Result<void> attach(std::span<const Attach> segments, int64_t) override
    {
        for (const Attach& segment : segments) {
            Place place{};
            if (segment.key.used != sizeof place.address)
                return fail_rank(DDS_ERR_CORRUPT, static_cast<int>(segment.peer),
                                 "rank %u gave no address for its memory", segment.peer);
            memcpy(&place.address, segment.key.bytes.data(), sizeof place.address);
            place.pid = node_->pid(static_cast<int>(segment.peer));
            DDS_TRY(probe(segment, place));
            const std::lock_guard lock(mutex_);
            places_[{segment.peer, segment.segment}] = place;
        }
        return {};
    }

    bool attached(uint32_t peer, uint32_t segment) const override
    {
        const std::shared_lock lock(mutex_);
        return places_.count({peer, segment}) != 0;
    }

    void detach(uint32_t peer, uint32_t segment) override
    {
        const std::lock_guard lock(mutex_);
        places_.erase({peer, segment});
    }

    Result<void> post(Batch& batch) override
    {
        batch.state = std::make_unique<Cursor>();
        return {};
    }

    // One system call, so that the caller's deadline is looked at between two.
    bool progress(Batch& batch) override
    {
        auto& cursor = *static_cast<Cursor*>(batch.state.get());
        if (batch.done())
            return true;
        const size_t first = batch.ended;
        const uint32_t peer = batch.runs[first].from.peer;
        iovec here[kVectors], there[kVectors];
        size_t n = 0;
        int pid = 0;
        {
            const std::shared_lock lock(mutex_);
            for (size_t i = first; i < batch.runs.size() && n < kVectors; i++, n++) {
                const Run& run = batch.runs[i];
                if (run.from.peer != peer)
                    break;
                const uint64_t skip = i == first ? cursor.done : 0;
                const Place& place = places_.at({peer, run.from.segment});
                pid = place.pid;
                here[n] = {run.to + skip, run.bytes - skip};
                there[n] = {const_cast<std::byte*>(place.address) + run.from.offset + skip,
                            run.bytes - skip};
            }
        }
        const ssize_t got = process_vm_readv(pid, here, n, there, n, 0);
        const int error = got < 0 ? errno : 0;
        // A process id may be used again: what was read counts only while its owner is there.
        if (node_->gone(static_cast<int>(peer)) || error == ESRCH)
            return fail_rest(
                batch, first,
                fail_rank(DDS_ERR_PEER, static_cast<int>(peer),
                          "rank %u is gone, and its rows were in its own memory", peer));
        if (got <= 0)
            return fail_rest(batch, first, refused(peer, error));
        cursor.done += static_cast<uint64_t>(got);
        while (!batch.done() && cursor.done >= batch.runs[batch.ended].bytes) {
            cursor.done -= batch.runs[batch.ended].bytes;
            batch.end(batch.runs[batch.ended], DDS_SUCCESS);
        }
        return batch.done();
    }

    void abandon(Batch&) override {}

private:
    static constexpr size_t kVectors = 128;

    struct Place {
        const std::byte* address;
        int pid;
    };
    struct Cursor final : Batch::State {
        uint64_t done = 0;  // bytes of the first run that is open
    };

    static Error refused(uint32_t peer, int error)
    {
        Error why = fail_errno(error, "process_vm_readv from rank %u", peer);
        why.rank = static_cast<int>(peer);
        if (error == EFAULT)
            why.text += " (was the memory given with DDS_NOCOPY freed before the drop?)";
        return why;
    }

    bool fail_rest(Batch& batch, size_t first, const Error& why)
    {
        for (size_t i = first; i < batch.runs.size(); i++)
            batch.fail_run(batch.runs[i], why);
        return true;
    }

    Result<void> probe(const Attach& segment, const Place& place) const
    {
        std::byte bytes[8];
        const size_t n = std::min<size_t>(sizeof bytes, segment.bytes);
        const iovec here{bytes, n}, there{const_cast<std::byte*>(place.address), n};
        if (process_vm_readv(place.pid, &here, 1, &there, 1, 0) == static_cast<ssize_t>(n))
            return {};
        return refused(segment.peer, errno == ENOSYS ? EPERM : errno);
    }

    Node* node_;
    mutable std::shared_mutex mutex_;
    std::map<std::pair<uint32_t, uint32_t>, Place> places_;
};

}  // namespace

Result<std::unique_ptr<Transport>> open_cma(const TransportConfig& config)
{
    return std::unique_ptr<Transport>(std::make_unique<Cma>(config));
}

}  // namespace dds
