// What dds_profile tells of a variable, counted by the threads that read it.
#pragma once

#include <atomic>
#include <cstdint>

#include "ddstore.h"

namespace dds {

struct Profile {
    std::atomic<uint64_t> calls{0}, rows{0}, missed{0}, lock_ns{0}, post_ns{0}, complete_ns{0};

    static void add(std::atomic<uint64_t>& count, uint64_t n)
    {
        count.fetch_add(n, std::memory_order_relaxed);
    }
    void read(uint64_t n)
    {
        add(calls, 1);
        add(rows, n);
    }
    void tell(dds_profile_t& out) const
    {
        const auto of = [](const auto& count) { return count.load(std::memory_order_relaxed); };
        out.calls = of(calls);
        out.rows = of(rows);
        out.mr_miss = of(missed);
        out.lock_wait_ns = of(lock_ns);
        out.read_ns = of(post_ns);
        out.cq_ns = of(complete_ns);
    }
};

}  // namespace dds
