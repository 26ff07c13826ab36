// What the limit reads from: a rank's rows, shown by an endpoint of its own, and the thread that makes
// others' reads move on.
#pragma once

#include <atomic>
#include <string>
#include <thread>

#include "fabric.hpp"
#include "variable.hpp"

namespace bench {

// Where one rank's rows are read.  Plain bytes: they are sent.
struct FabricPlace {
    char name[256];
    uint64_t name_bytes;
    uint64_t key, base;  // base + g * row is row g

    std::string address() const { return {name, name_bytes}; }
};

class FabricTarget {
public:
    // The thread blocks in the queue; where there are `polls`, it polls it while some reader
    // measures so.
    FabricTarget(const FabricDomain& domain, const Variable& variable, int me,
                 std::atomic<uint32_t>* polls);
    ~FabricTarget();
    FabricTarget(const FabricTarget&) = delete;
    FabricTarget& operator=(const FabricTarget&) = delete;

    const FabricPlace& place() const { return place_; }

private:
    void block();
    void poll();
    void forget(ssize_t code);

    FabricEnd end_;
    Closed<fid_mr> region_;
    FabricPlace place_{};
    std::atomic<uint32_t>* polls_;
    std::atomic<bool> stop_{false};
    std::thread thread_;
};

}  // namespace bench
