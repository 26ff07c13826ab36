#include "transport/fabric_fork.hpp"

#include <strings.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <memory>
#include <string_view>
#include <utility>

#include "base/env.hpp"

namespace dds {
namespace {

// Asked for where a lock is held that a fork takes, too: so no lock, and two that look see the same.
std::atomic<const ForkFacts*> seen{nullptr};

constexpr const char* kInstead =
    "or read on the node of the rows, from threads, or in processes that are not forked";

Error refused(const char* provider, const char* what, const char* remedy)
{
    return fail(DDS_ERR_UNSUPPORTED,
                "libfabric's provider %s in a forked child: %s; before the program starts %s, %s",
                provider, what, remedy, kInstead);
}

// A Linux that copies pinned pages when a process forks needs no help of user space.
bool copies_pinned_pages(const std::string& kernel, int major, int minor)
{
    int first = 0, second = 0;
    return sscanf(kernel.c_str(), "%d.%d", &first, &second) == 2 &&
           std::pair(first, second) >= std::pair(major, minor);
}

// kdreg2 belongs to the process that opened it.  Where no monitor is named, a library that was built
// with it may take it; which one it took nothing tells.
Result<void> may_open_cxi(const ForkFacts& facts)
{
    constexpr const char* kMonitor = "set FI_MR_CACHE_MONITOR=memhooks";
    if (facts.monitor == "kdreg2")
        return refused("cxi", "FI_MR_CACHE_MONITOR=kdreg2 watches memory of the parent alone",
                       kMonitor);
    if (facts.monitor.empty() && facts.kdreg2)
        return refused("cxi",
                       "FI_MR_CACHE_MONITOR is not set and /dev/kdreg2 is there, which would watch "
                       "memory of the parent alone",
                       kMonitor);
    if (!facts.cxi_safe)
        return refused("cxi", "the parent opened it without CXI_FORK_SAFE",
                       "set DDSTORE_FORK_WORKERS=1");
    return {};
}

bool said(const char* name) { return env::foreign(name).has_value(); }

// As libfabric reads a switch of its own.
bool on(const char* name)
{
    const auto value = env::foreign(name);
    constexpr const char* kOn[] = {"1", "yes", "true", "on"};
    return value && std::ranges::any_of(kOn, [&](const char* word) {
               return strcasecmp(value->c_str(), word) == 0;
           });
}

ForkFacts look()
{
    ForkFacts facts;
    facts.monitor = env::foreign("FI_MR_CACHE_MONITOR").value_or("");
    facts.kdreg2 = access("/dev/kdreg2", F_OK) == 0;
    facts.cxi_safe = said("CXI_FORK_SAFE");  // whatever it says
    facts.ibv_safe = said("RDMAV_FORK_SAFE") || said("IBV_FORK_SAFE");
    facts.efa_safe = on("FI_EFA_FORK_SAFE");
    utsname here{};
    if (uname(&here) == 0)
        facts.kernel = here.release;
    return facts;
}

}  // namespace

Result<void> may_open_in_child(const std::string& provider, const ForkFacts& facts)
{
    if (provider == "cxi")
        return may_open_cxi(facts);
    if (provider == "efa" && !facts.efa_safe && !facts.ibv_safe &&
        !copies_pinned_pages(facts.kernel, 5, 13))
        return refused("efa",
                       "the parent opened it without FI_EFA_FORK_SAFE on a Linux before 5.13",
                       "set FI_EFA_FORK_SAFE=1");
    if (provider.starts_with("verbs") && !facts.ibv_safe &&
        !copies_pinned_pages(facts.kernel, 5, 12))
        return refused("verbs",
                       "the parent opened it without RDMAV_FORK_SAFE on a Linux before 5.12",
                       "set RDMAV_FORK_SAFE=1");
    return {};
}

Result<void> prepare_for_forks()
{
    if (seen.load(std::memory_order_acquire))
        return {};
    DDS_LET(workers, env::flag("DDSTORE_FORK_WORKERS"));
    if (workers.value_or(false))
        for (const char* name : {"CXI_FORK_SAFE", "CXI_FORK_SAFE_HP"})
            env::preset(name, "1");
    auto facts = std::make_unique<const ForkFacts>(look());
    const ForkFacts* none = nullptr;
    if (seen.compare_exchange_strong(none, facts.get(), std::memory_order_acq_rel))
        static_cast<void>(facts.release());  // until the process ends
    return {};
}

ForkFacts fork_facts()
{
    const ForkFacts* facts = seen.load(std::memory_order_acquire);
    return facts ? *facts : ForkFacts{};
}

}  // namespace dds
