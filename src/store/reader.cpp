// Stores that only read what another store of this process has, or had when the process was forked.
#include "store/store.hpp"

namespace dds {
namespace {

// Library memory is mapped in a child as in its parent; but of the parent's own arenas a wire may have
// told the system to leave them out of children, so they are mapped anew.
Result<void> remap_own(const Variable& origin, Variable& v)
{
    if (v.mapped.own < 0 || origin.mapped.row == 0)
        return {};
    const auto shard = static_cast<size_t>(v.mapped.own);
    if (v.in_place) {
        v.places[shard].wired = true;  // of the caller's memory a child has a copy
        return {};
    }
    if (!origin.block.arena)  // a reader's itself, which did that
        return {};
    const Segment& segment = origin.block.arena->segment;
    DDS_LET(mapped, segment.again());
    v.bases[shard] += mapped.data() - segment.data();
    v.holds.push_back(std::make_shared<Segment>(std::move(mapped)));
    return {};
}

// What the shards' bases are in stays mapped as long as the variable.
void hold_mapped(const Variable& origin, Router& router, Variable& v)
{
    v.holds = origin.holds;
    for (size_t shard = 0; shard < v.places.size(); shard++) {
        const int rank = v.partition->rank_of(static_cast<int>(shard));
        if (static_cast<int>(shard) == v.mapped.own)
            v.holds.push_back(origin.block.arena);
        else if (!v.places[shard].wired)
            v.holds.push_back(
                router.shared().hold(static_cast<uint32_t>(rank), v.places[shard].segment));
    }
}

}  // namespace

Result<std::unique_ptr<Store>> Store::open_reader(const Store& origin, bool child)
{
    if (origin.attached_)
        return attach_again(origin, child);
    std::unique_ptr<Store> reader(new Store(origin.rank_, origin.size_));
    reader->options_ = origin.options_;
    reader->set_timeout(origin.read_ms(), origin.collective_ms());
    reader->crowded_ = origin.crowded_;
    reader->spare_ = origin.spare_;
    if (child) {
        DDS_LET(router, Router::in_child(*origin.router_));
        reader->router_ = std::move(router);
    } else if (origin.router_->collective()) {
        return fail(DDS_ERR_UNSUPPORTED,
                    "a second reader of a store whose rows come over MPI: any thread may read from "
                    "the store itself");
    } else {
        reader->node_ = origin.node_;
        reader->router_ = origin.router_;
    }
    const auto add = [&](const Variable& variable) -> Result<void> {
        auto v = variable.twin();
        if (child)
            DDS_TRY(remap_own(variable, *v));
        else
            hold_mapped(variable, *origin.router_, *v);
        v->map();
        reader->table_.prepare();
        reader->table_.insert(std::move(v));
        return {};
    };
    if (child)
        for (const Variable* variable : origin.table_.inherited())
            DDS_TRY(add(*variable));
    else
        for (const auto& variable : origin.table_.all())
            DDS_TRY(add(*variable));
    return reader;
}

Result<void> Store::check_member(const char* call) const
{
    if (!reads_only())
        return {};
    return fail(DDS_ERR_STATE,
                "%s on a store that only reads: the ranks of the store itself call it", call);
}

}  // namespace dds
