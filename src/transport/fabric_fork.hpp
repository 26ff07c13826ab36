// Whether a forked child may open libfabric where its parent has it open: cards read and write pages
// by their physical addresses, of which a fork takes none or, where nobody saw to it, the wrong ones.
#pragma once

#include <string>

#include "base/result.hpp"

namespace dds {

// What the decision rests on, as it was when the parent first asked libfabric.
struct ForkFacts {
    std::string monitor;    // FI_MR_CACHE_MONITOR; empty: unset
    bool kdreg2 = false;    // its kernel module is here
    bool cxi_safe = false;  // CXI_FORK_SAFE, which DDSTORE_FORK_WORKERS=1 sets
    bool efa_safe = false;  // FI_EFA_FORK_SAFE
    bool ibv_safe = false;  // RDMAV_FORK_SAFE or IBV_FORK_SAFE
    std::string kernel;     // the release of this machine's, "5.13.0-27-generic"
};

// UNSUPPORTED names the provider, what is missing, and what to do instead.
Result<void> may_open_in_child(const std::string& provider, const ForkFacts& facts);

// Before the first question to libfabric: do what DDSTORE_FORK_WORKERS asks for, and note how things
// are.  Later calls, of children too, change nothing.
Result<void> prepare_for_forks();
ForkFacts fork_facts();

}  // namespace dds
