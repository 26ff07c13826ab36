#include "transport/router.hpp"

#include <algorithm>

#include "base/env.hpp"

namespace dds {
namespace {

#if DDS_TESTING
// DDSTORE_TEST_WIRE=name:argument, so that tests walk the wires' paths on one node.
Result<std::unique_ptr<Transport>> open_test_wire(const TransportConfig& config)
{
    const auto plan = env::text("DDSTORE_TEST_WIRE");
    if (!plan)
        return std::unique_ptr<Transport>();
    const size_t colon = plan->find(':');
    const std::string name = plan->substr(0, colon);
    const std::string argument = colon == std::string::npos ? "" : plan->substr(colon + 1);
    return open_transport(name.c_str(), {config.node, config.rank, argument.c_str(), config.comm});
}
#endif

std::string list(const std::vector<int>& ranks)
{
    constexpr size_t kMost = 8;
    std::string text;
    for (size_t i = 0; i < ranks.size() && i < kMost; i++)
        text += (i ? ", " : "") + std::to_string(ranks[i]);
    if (ranks.size() > kMost)
        text += " and " + std::to_string(ranks.size() - kMost) + " more";
    return text;
}

}  // namespace

Result<std::unique_ptr<Router>> Router::open(const RouterConfig& how)
{
    auto router = std::make_unique<Router>();
    const auto& [node, comm, share, wired, fabric] = how;
    const int rank = comm->rank();
    const TransportConfig config{&node, rank, "", comm, fabric ? &*fabric : nullptr};
    DDS_LET(shm, open_transport("shm", config));
    DDS_LET(cma, open_transport("cma", config));
    router->shared_ = std::move(shm);
    router->cma_ = std::move(cma);
#if DDS_TESTING
    DDS_LET(wire, open_test_wire(config));
    router->wire_ = std::move(wire);
#endif
    const bool everywhere = router->wire_ != nullptr;  // for tests, on the node too
    if (const char* name = fabric                 ? "fabric"
                           : wired && comm->mpi() ? "mpi"
                                                  : nullptr;
        name && !everywhere) {
        DDS_LET(opened, open_transport(name, config));
        router->wire_ = std::move(opened);
    }
    std::vector<int> unreachable;
    for (int peer = 0; peer < comm->size(); peer++) {
        Way way = Way::none;
        if (peer == rank)
            way = Way::self;
        else if (node.has(peer) && share && !everywhere)
            way = Way::shared;
        else if (router->wire_)
            way = Way::wire;
        if (way == Way::none)
            unreachable.push_back(peer);
        router->ways_.push_back(way);
        router->why_.push_back(!node.has(peer) ? "another node" : share ? "" : "DDSTORE_SHM=0");
    }
    if (!unreachable.empty())
        return fail_rank(
            DDS_ERR_UNSUPPORTED, unreachable.front(),
            "rank %d cannot reach rank%s %s (%s): open the store with method 1, or on a "
            "communicator of MPI (dds_comm_mpi), or put all ranks on one node%s",
            rank, unreachable.size() > 1 ? "s" : "", list(unreachable).c_str(),
            router->why_[static_cast<size_t>(unreachable.front())].c_str(),
            share ? "" : " and unset DDSTORE_SHM");
    return router;
}

Result<std::unique_ptr<Router>> Router::of_reader(std::vector<Way> ways,
                                                  std::vector<std::string> why,
                                                  SegmentSource* source,
                                                  std::unique_ptr<Transport> wire)
{
    auto router = std::make_unique<Router>();
    why.resize(ways.size(), "nothing is joined yet");
    router->ways_ = std::move(ways);
    router->why_ = std::move(why);
    DDS_LET(shm, open_transport("shm", {nullptr, -1, "", nullptr, nullptr, source}));
    router->shared_ = std::move(shm);
    router->cma_ = unreachable("they lie in their owner's own memory (DDS_NOCOPY), and nothing "
                               "reaches it from here");
    router->wire_ = std::move(wire);
    router->nowhere_ = unreachable("they are on another node, and one of the two jobs has no "
                                   "libfabric: install it, or read on the node of the core job");
    return router;
}

Result<std::shared_ptr<Router>> Router::in_child(const Router& parent)
{
    auto router = std::make_shared<Router>();
    router->ways_ = parent.ways_;
    router->why_ = parent.why_;
    DDS_LET(shm, open_transport("shm", {nullptr, 0, ""}));
    router->shared_ = std::move(shm);
    router->cma_ =
        unreachable("they lie in their owner's own memory (DDS_NOCOPY), of which a forked "
                    "child has an old copy at best: read them in the parent, or add the "
                    "variable without DDS_NOCOPY");
    if (parent.wire_ && !parent.wire_->collective() && parent.has(Way::wire)) {
        DDS_LET(wire, parent.wire_->in_child());
        router->wire_ = std::move(wire);
    } else if (parent.wire_ && parent.wire_->collective()) {
        router->wire_ = unreachable("they are on another node, and MPI cannot be used in a forked "
                                    "child: read from threads, or open the store with method 1");
    }
    return router;
}

bool Router::has(Way way) const
{
    return std::find(ways_.begin(), ways_.end(), way) != ways_.end();
}

std::string Router::words(int rank) const
{
    const std::string& why = why_[static_cast<size_t>(rank)];
    switch (way(rank)) {
    case Way::self: return "self";
    case Way::shared: return "shm";
    case Way::wire: return wire_->words() + (why.empty() ? "" : ": " + why);
    case Way::none: break;
    }
    return "none: " + why;
}

}  // namespace dds
