// This process at one provider and interface, shared by its stores: the domain, the endpoint that
// others read from, and the thread that serves them; and the contexts that it reads through itself.
#pragma once

#include <atomic>
#include <deque>
#include <mutex>
#include <span>
#include <thread>
#include <unordered_map>

#include "transport/fabric_end.hpp"
#include "transport/fabric_info.hpp"

namespace dds {

class FabricContext;

// Whom we read from: one endpoint, however many stores have ranks behind it.
struct FabricPeer {
    uint32_t number;
    std::string address;
    // It was found dead, and has answered nothing since.
    std::atomic<bool> suspect{false};
};

// Memory that is registered while this lives: for others to read, or for our own reads to land in.
struct FabricRegion {
    Fid<fid_mr> mr;
    uint64_t key = 0;   // others', like what follows
    uint64_t base = 0;  // the address of its first byte for a reader
};

class FabricPort {
public:
    // The port of that choice: another one only where no store of this process uses it.  In a forked
    // child the parent's are not there, and it gets its own.
    static Result<std::shared_ptr<FabricPort>> get(const FabricChoice& choice);
    ~FabricPort();

    const Fabric& library() const { return library_; }
    const fi_info& info() const { return *info_; }
    fid_fabric* fabric() const { return fabric_.get(); }
    fid_domain* domain() const { return domain_.get(); }
    const std::string& address() const { return address_; }  // of the endpoint, for others to read
    const std::string& provider() const { return provider_; }
    bool inherited() const { return process_ != fork_count(); }
    bool needs_local() const { return info_->domain_attr->mr_mode & FI_MR_LOCAL; }

    Result<FabricRegion> expose(std::span<const std::byte> memory);
    // For our own reads to land in; `endpoint` where the provider ties registrations to one.
    Result<FabricRegion> land(std::span<std::byte> memory, fid_ep* endpoint);

    FabricPeer& peer(const std::string& address);
    // The context with the fewest batches; at most kContexts are made.
    std::shared_ptr<FabricContext> take_context();

private:
    static constexpr size_t kContexts = 4;

    FabricPort(const Fabric& library, FabricInfo info);
    Result<void> open();
    Result<void> start();
    void serve();
    Result<FabricRegion> register_memory(std::span<const std::byte> memory, uint64_t access,
                                         fid_ep* endpoint);

    const Fabric& library_;
    const uint64_t process_ = fork_count();
    const std::string provider_;
    FabricInfo info_;
    Fid<fid_fabric> fabric_;
    Fid<fid_domain> domain_;
    FabricEnd end_;
    std::string address_;

    std::atomic<bool> waits_{false};  // the queue can be waited for
    std::atomic<bool> stopping_{false};
    std::unique_ptr<std::thread> thread_;

    std::mutex mutex_;  // of what follows
    std::deque<FabricPeer> peers_;
    std::unordered_map<std::string, FabricPeer*> by_address_;
    std::vector<std::shared_ptr<FabricContext>> contexts_;
};

}  // namespace dds
