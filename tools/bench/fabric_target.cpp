#include "fabric_target.hpp"

#include <linux/futex.h>
#include <rdma/fi_errno.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace bench {

FabricTarget::FabricTarget(const FabricDomain& domain, const Variable& variable, int me,
                           std::atomic<uint32_t>* polls)
    : end_(domain), polls_(polls)
{
    const auto first = static_cast<size_t>(variable.first()[static_cast<size_t>(me)]);
    const auto next = static_cast<size_t>(variable.first()[static_cast<size_t>(me) + 1]);
    const size_t row = variable.row();
    region_ = domain.expose(variable.own(), (next - first) * row, end_.endpoint.get());
    const std::string name = end_.name();
    if (name.size() > sizeof place_.name)
        die("the provider's addresses have %zu bytes", name.size());
    place_.name_bytes = name.copy(place_.name, sizeof place_.name);
    place_.key = fi_mr_key(region_.get());
    place_.base =
        (domain.by_address() ? reinterpret_cast<uint64_t>(variable.own()) : 0) - first * row;
    thread_ = std::thread([this] { polls_ ? poll() : block(); });
}

FabricTarget::~FabricTarget()
{
    stop_ = true;
    if (polls_)
        syscall(SYS_futex, polls_, FUTEX_WAKE, INT32_MAX, nullptr, nullptr, 0);
    fi_cq_signal(end_.queue.get());
    thread_.join();
}

void FabricTarget::block()
{
    fi_cq_entry entry;
    while (!stop_)
        if (const auto n = fi_cq_sread(end_.queue.get(), &entry, 1, nullptr, 500); n < 0)
            forget(n);
}

void FabricTarget::poll()
{
    constexpr timespec kLook{0, 100'000'000};
    fi_cq_entry entry;
    while (!stop_) {
        if (polls_->load() == 0) {
            syscall(SYS_futex, polls_, FUTEX_WAIT, 0, &kLook, nullptr, 0);
            continue;
        }
        if (const auto n = fi_cq_read(end_.queue.get(), &entry, 1); n < 0)
            forget(n);
        sched_yield();
    }
}

// Of a peer that has gone.
void FabricTarget::forget(ssize_t code)
{
    fi_cq_err_entry error{};
    if (code == -FI_EAVAIL)
        fi_cq_readerr(end_.queue.get(), &error, 0);
}

}  // namespace bench
