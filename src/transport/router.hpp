// Which way rows of each rank come: chosen once, when the store is opened, and readable in words.
#pragma once

#include <optional>
#include <string>

#include "transport/fabric.hpp"
#include "transport/registry.hpp"

namespace dds {

enum class Way : uint8_t { self, shared, wire, none };

struct RouterConfig {
    Node& node;
    std::shared_ptr<Comm> comm;
    bool share;  // map the memory of the node's other ranks
    bool wired;  // some rank of the store needs a wire, so that all take part in it:
    std::optional<FabricChoice> fabric;  // this, or the communicator's own
};

class Router {
public:
    // UNSUPPORTED names the ranks that nothing reaches.
    static Result<std::unique_ptr<Router>> open(const RouterConfig& config);

    // Of a reader of another job, whose ways are known: `source` gives what is mapped.
    static Result<std::unique_ptr<Router>> of_reader(std::vector<Way> ways,
                                                     std::vector<std::string> why,
                                                     SegmentSource* source,
                                                     std::unique_ptr<Transport> wire);
    // The same ways in a forked child.
    static Result<std::shared_ptr<Router>> in_child(const Router& parent);

    Way way(int rank) const { return ways_[static_cast<size_t>(rank)]; }
    bool has(Way way) const;  // some rank is reached so
    std::string words(int rank) const;

    // Whose segments are mapped or read; all of them are exposed to.
    Transport& shared() { return *shared_; }
    Transport& own_memory() { return *cma_; }  // shards that stay where the caller has them
    Transport* wire() { return wire_.get(); }
    // The wire, where its attach is a call of all ranks.
    Transport* collective() { return wire_ && wire_->collective() ? wire_.get() : nullptr; }
    // The transport that reads `rank`'s memory: the library's, or the caller's own.
    Transport& of(int rank, bool own_memory)
    {
        if (way(rank) == Way::none)
            return *nowhere_;
        const bool wired = way(rank) == Way::wire;
        if (own_memory && !(wired && wire_->reads_own_memory()))
            return *cma_;
        return wired ? *wire_ : *shared_;
    }

private:
    std::vector<Way> ways_;
    std::vector<std::string> why_;
    std::unique_ptr<Transport> shared_, cma_, wire_;
    std::unique_ptr<Transport> nowhere_;  // of a reader of another job
};

}  // namespace dds
