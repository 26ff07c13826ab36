#include "transport/fabric_port.hpp"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <system_error>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "transport/fabric_context.hpp"
#include "transport/fabric_fork.hpp"

namespace dds {
namespace {

constexpr int kTick = 500;          // ms; how long the thread may take to see its end
constexpr int64_t kPoll = 200'000;  // ns, where the provider cannot wait
constexpr int kTries = 16;          // keys, where the first are taken
constexpr size_t kStrongKey = sizeof(uint64_t);

ForkSafeMutex mutex;  // of the ports
using Ports = std::map<std::string, std::weak_ptr<FabricPort>>;
Ports& ports()
{
    static auto* map = new Ports;
    return *map;
}
std::atomic<bool> said_weak{false};

// The providers that the processes above this one had open when they forked.
using Providers = std::set<std::string>;
Providers& parents()
{
    static auto* set = new Providers;
    return *set;
}

[[maybe_unused]] const bool registered = [] {
    at_fork_in_child([] {
        for (const auto& [name, port] : ports())
            if (!port.expired())
                parents().insert(name.substr(0, name.find('|')));
        leave_to_parent(new Ports(std::move(ports())));
        ports().clear();
    });
    return true;
}();

Result<FabricInfo> find(const Fabric& library, const FabricChoice& choice)
{
    DDS_LET(entries, fabric_entries(library));
    for (FabricEntry& entry : entries)
        if (entry.offer.same(choice.offer) && entry.interface == choice.interface &&
            entry.address == choice.address)
            return std::move(entry.info);
    return fail(DDS_ERR_UNSUPPORTED, "libfabric's provider %s is not on %s (%s) any more",
                choice.offer.provider, choice.interface.c_str(), choice.address.c_str());
}

}  // namespace

FabricPort::FabricPort(const Fabric& library, FabricInfo info)
    : library_(library), provider_(info->fabric_attr->prov_name), info_(std::move(info))
{
}

Result<std::shared_ptr<FabricPort>> FabricPort::get(const FabricChoice& choice)
{
    DDS_LET(library, Fabric::get());
    const std::string name =
        std::string(choice.offer.provider) + '|' + choice.interface + '|' + choice.address;
    const std::lock_guard lock(mutex);
    if (auto open = ports()[name].lock())
        return open;
    if (parents().contains(choice.offer.provider))
        DDS_TRY(may_open_in_child(choice.offer.provider, fork_facts()));
    DDS_LET(info, find(*library, choice));
    std::shared_ptr<FabricPort> made(new FabricPort(*library, std::move(info)));
    DDS_TRY(made->open());
    DDS_TRY(made->start());
    ports()[name] = made;
    return made;
}

Result<void> FabricPort::open()
{
    fid_fabric* fabric = nullptr;
    if (const int code = library_.fabric(info_->fabric_attr, &fabric, nullptr))
        return library_.error(code, "fi_fabric");
    fabric_.reset(fabric);
    fid_domain* domain = nullptr;
    if (const int code = fi_domain(fabric, info_.get(), &domain, nullptr))
        return library_.error(code, "fi_domain");
    domain_.reset(domain);
    DDS_LET(end, FabricEnd::open(library_, domain, *info_,
                                 {FI_WAIT_UNSPEC, FI_WAIT_FD, FI_WAIT_NONE}, 0));
    end_ = std::move(end);
    waits_ = end_.wait != FI_WAIT_NONE;
    char name[512];
    size_t bytes = sizeof name;
    if (const int failed = fi_getname(&end_.endpoint->fid, name, &bytes))
        return library_.error(failed, "fi_getname");
    address_.assign(name, bytes);
    if (info_->domain_attr->mr_key_size < kStrongKey && !said_weak.exchange(true))
        log(DDS_LOG_WARN, "%s has keys of %zu bytes: who is on its network can guess them",
            provider_.c_str(), info_->domain_attr->mr_key_size);
    return {};
}

Result<void> FabricPort::start()
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = 0;
    try {
        thread_ = std::make_unique<std::thread>([this] { serve(); });
    } catch (const std::system_error& failed) {
        error = failed.code().value();
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (error)
        return fail(DDS_ERR_LIMIT,
                    "no thread for serving reads of libfabric: %s (raise `ulimit -u`)",
                    strerrordesc_np(error));
    return {};
}

// Providers that promise to serve by themselves do not: somebody has to look at the queue.  Nothing
// comes out of it but errors of connections, which are their readers' to notice.
void FabricPort::serve()
{
    never_log_here();
    fi_cq_entry entries[8];
    while (!stopping_.load(std::memory_order_relaxed)) {
        const ssize_t got = waits_ ? fi_cq_sread(end_.queue.get(), entries, 8, nullptr, kTick)
                                   : fi_cq_read(end_.queue.get(), entries, 8);
        if (got == -FI_EAVAIL) {
            fi_cq_err_entry error{};
            fi_cq_readerr(end_.queue.get(), &error, 0);
        } else if (got == -FI_ENOSYS) {
            waits_ = false;
        } else if (got <= 0 && (!waits_ || (got != -FI_EAGAIN && got != -FI_EINTR))) {
            clock::sleep(kPoll);
        }
    }
}

FabricPort::~FabricPort()
{
    contexts_.clear();
    if (!thread_)
        return;
    if (inherited()) {  // there is no such thread here
        leave_to_parent(thread_.release());
        return;
    }
    stopping_ = true;
    if (waits_)
        fi_cq_signal(end_.queue.get());
    thread_->join();
}

Result<FabricRegion> FabricPort::register_memory(std::span<const std::byte> memory, uint64_t access,
                                                 fid_ep* endpoint)
{
    const fi_domain_attr& domain = *info_->domain_attr;
    const uint64_t mask = domain.mr_key_size >= kStrongKey
                              ? ~uint64_t{0}
                              : (uint64_t{1} << (8 * domain.mr_key_size)) - 1;
    FabricRegion region;
    int code = -FI_ENOKEY;
    for (int i = 0; i < kTries && code == -FI_ENOKEY; i++) {
        uint64_t key = 0;
        if (!clock::random(&key, sizeof key))
            return fail(DDS_ERR_IO, "no random numbers for a key: getrandom failed");
        if ((key &= mask) == 0)
            continue;
        fid_mr* mr = nullptr;
        code =
            fi_mr_reg(domain_.get(), memory.data(), memory.size(), access, 0, key, 0, &mr, nullptr);
        if (code == 0)
            region.mr.reset(mr);
    }
    if (!code && domain.mr_mode & FI_MR_ENDPOINT) {
        code = fi_mr_bind(region.mr.get(), &endpoint->fid, 0);
        if (!code)
            code = fi_mr_enable(region.mr.get());
    }
    if (code == -FI_ENOMEM || code == -FI_EPERM)
        return fail(DDS_ERR_LIMIT,
                    "%s cannot register %zu bytes: %s (raise `ulimit -l`, the memory that may be "
                    "locked)",
                    provider_.c_str(), memory.size(), library_.strerror(-code));
    if (code)
        return library_.error(code, "fi_mr_reg");
    return region;
}

Result<FabricRegion> FabricPort::expose(std::span<const std::byte> memory)
{
    auto region = register_memory(memory, FI_REMOTE_READ, end_.endpoint.get());
    if (!region)
        return region;
    region->key = fi_mr_key(region->mr.get());
    if (region->key == FI_KEY_NOTAVAIL)
        return fail(DDS_ERR_UNSUPPORTED, "%s gives no key of 64 bits", provider_.c_str());
    const bool by_address = info_->domain_attr->mr_mode & FI_MR_VIRT_ADDR;
    region->base = by_address ? reinterpret_cast<uintptr_t>(memory.data()) : 0;
    return region;
}

Result<FabricRegion> FabricPort::land(std::span<std::byte> memory, fid_ep* endpoint)
{
    return register_memory(memory, FI_READ, endpoint);
}

FabricPeer& FabricPort::peer(const std::string& address)
{
    const std::lock_guard lock(mutex_);
    FabricPeer*& known = by_address_[address];
    if (!known) {
        peers_.emplace_back();
        known = &peers_.back();
        known->number = static_cast<uint32_t>(peers_.size() - 1);
        known->address = address;
    }
    return *known;
}

std::shared_ptr<FabricContext> FabricPort::take_context()
{
    const std::lock_guard lock(mutex_);
    std::shared_ptr<FabricContext> least;
    for (const auto& context : contexts_)
        if (!least || context->batches < least->batches)
            least = context;
    if (!least || (least->batches > 0 && contexts_.size() < kContexts)) {
        least = std::make_shared<FabricContext>(*this);
        contexts_.push_back(least);
    }
    least->batches++;
    return least;
}

}  // namespace dds
