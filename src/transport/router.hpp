// Which way rows of each rank come: chosen once, when the store is opened, and readable in words.
#pragma once

#include <string>

#include "transport/registry.hpp"

namespace dds {

enum class Way : uint8_t { self, shared, wire, none };

class Router {
public:
    // `node` is this rank's; UNSUPPORTED names the ranks that nothing here reaches.
    static Result<std::unique_ptr<Router>> open(Node& node, int rank, int size);

    Way way(int rank) const { return ways_[static_cast<size_t>(rank)]; }
    bool has(Way way) const;  // some rank is reached so
    std::string words(int rank) const;

    // Whose segments are mapped or read; all of them are exposed to.
    Transport& shared() { return *shared_; }
    Transport& own_memory() { return *cma_; }  // shards that stay where the caller has them
    Transport* wire() { return wire_.get(); }
    // The transport that reads `rank`'s library memory.
    Transport& of(int rank) { return way(rank) == Way::wire ? *wire_ : *shared_; }

private:
    std::vector<Way> ways_;
    std::vector<std::string> why_;
    std::unique_ptr<Transport> shared_, cma_, wire_;
};

}  // namespace dds
