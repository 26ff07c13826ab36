#include "store/adding.hpp"

#include "base/checked.hpp"
#include "base/failpoint.hpp"
#include "memory/fill.hpp"

namespace dds {

Store::Adding::~Adding()
{
    if (published_)
        store_.publisher_->remove(spec_.name);
    unuse();
    // An arena of its own goes with the variable that it was made for.
    if (variable_ && variable_->block.arena && variable_->block.arena->own) {
        store_.node_->withdraw(variable_->block.arena->id);
        store_.shown_.erase(variable_->block.arena->id);
        store_.hide(variable_->block.arena->id);
    } else if (variable_ && in_place_ && own_.bytes) {
        store_.hide(own_.segment);
    }
}

// Everything that follows from the cards alone.
Result<void> Store::Adding::prepare()
{
    DDS_FAILPOINT("add.prepare");
    const Agreement& agreement = *store_.agreement_;
    const int first = agreement.ranks()[0];
    rows_.reserve(agreement.ranks().size());
    placed_.resize(agreement.ranks().size());
    for (const int rank : agreement.ranks()) {
        const auto& card = agreement.card<VariableCard>(rank);
        DDS_TRY(compare_cards(agreement.card<VariableCard>(first), first, card, rank));
        rows_.push_back(card.nrows);
    }
    DDS_LET(partition, Partition::make(rows_));
    const size_t itemsize = type_size(spec_.type);
    if (!checked_mul(partition->total(), spec_.disp * static_cast<int64_t>(itemsize)))
        return fail(DDS_ERR_OVERFLOW,
                    "variable \"%s\": the shards of all ranks together pass 2^63 "
                    "bytes",
                    spec_.name);
    variable_ = std::make_shared<Variable>();
    Variable& v = *variable_;
    v.name = spec_.name;
    v.order = store_.next_order_;
    v.id = static_cast<uint16_t>(v.order);
    v.type = spec_.type;
    v.flags = spec_.options.flags;
    v.disp = spec_.disp;
    v.itemsize = itemsize;
    v.shape.assign(spec_.options.shape, spec_.options.shape + spec_.options.ndim);
    const auto* meta = static_cast<const std::byte*>(spec_.options.meta);
    v.meta.assign(meta, meta + spec_.options.meta_bytes);
    v.own_rows = spec_.nrows;
    v.partition = store_.intern(std::move(partition));
    v.places.resize(static_cast<size_t>(v.partition->shards()));
    v.bases.resize(static_cast<size_t>(v.partition->shards()));
    v.mapped.profiled = store_.options_.profile;
    store_.table_.prepare();
    return {};
}

Result<void> Store::Adding::place()
{
    DDS_FAILPOINT("add.place");
    Variable& v = *variable_;
    const size_t bytes =
        static_cast<size_t>(spec_.nrows) * static_cast<size_t>(spec_.disp) * v.itemsize;
    own_ = {};
    if (bytes == 0)
        return {};
    if (in_place_) {
        auto* data = static_cast<std::byte*>(const_cast<void*>(spec_.data));
        v.own_data = data;
        own_.segment = store_.arenas_->next_id();
        own_.bytes = bytes;
        own_.own = true;
        DDS_TRY(
            store_.router_->own_memory().expose(own_.segment, std::span(data, bytes), own_.key));
        if (Transport* wire = store_.router_->wire(); wire && wire->reads_own_memory())
            DDS_TRY(wire->expose(own_.segment, std::span(data, bytes), own_.wire_key));
        return {};
    }
    std::shared_ptr<Arena> fresh;
    DDS_LET(block, store_.arenas_->take(bytes, spec_.options.flags & DDS_HUGEPAGES, fresh));
    DDS_TRY(fill(block.data(), op_ == Op::add ? spec_.data : nullptr, bytes));
    v.block = block;
    v.own_data = block.data();
    own_.segment = block.arena->id;
    own_.offset = block.offset;
    own_.bytes = block.arena->segment.bytes();
    own_.own = block.arena->own;
    return give_key(block);
}

// A wire with keys knows an arena from the first shard in it on; every card has the key, as no rank
// may have attached the arena yet.
Result<void> Store::Adding::give_key(const Block& block)
{
    Transport* wire = store_.router_->wire();
    if (!wire || !wire->keyed())
        return {};
    const auto [key, fresh] = store_.keys_.try_emplace(block.arena->id);
    if (fresh)
        if (const auto exposed = wire->expose(block.arena->id, block, key->second); !exposed) {
            store_.keys_.erase(key);
            return exposed;
        }
    own_.wire_key = key->second;
    return {};
}

// An arena is shown once, in the first variable that all ranks have placed.
Result<void> Store::Adding::show()
{
    const Block& block = variable_->block;
    if (!block.arena || store_.shown_.count(block.arena->id))
        return {};
    Router& router = *store_.router_;
    std::set<uint32_t> shown{block.arena->id};  // before it is out: its note can fail no more
    if (router.has(Way::shared))
        DDS_TRY(router.shared().expose(block.arena->id, block, own_.key));
    if (Transport* wire = router.wire();
        wire && !wire->keyed() && (router.has(Way::wire) || wire->collective()))
        DDS_TRY(wire->expose(block.arena->id, block, own_.wire_key));
    if (store_.publisher_)
        store_.publisher_->show(block.arena);
    store_.shown_.merge(shown);
    return {};
}

// What reads `rank`'s shard.
Transport& Store::Adding::reader_of(int rank) const { return store_.router_->of(rank, in_place_); }

std::vector<Transport::Attach> Store::Adding::not_attached(Transport& transport) const
{
    std::vector<Transport::Attach> segments;
    for (size_t rank = 0; rank < placed_.size(); rank++) {
        const Placed& placed = placed_[rank];
        const auto peer = static_cast<uint32_t>(rank);
        const bool read_here = static_cast<int>(rank) != store_.rank() &&
                               &reader_of(static_cast<int>(rank)) == &transport;
        if (placed.bytes == 0 || !(transport.collective() || read_here) ||
            transport.attached(peer, placed.segment))
            continue;
        const bool wire = &transport == store_.router_->wire();
        segments.push_back(
            {peer, placed.segment, placed.bytes, wire ? placed.wire_key : placed.key});
    }
    return segments;
}

// The others may come to read what was placed.
Result<void> Store::Adding::expose()
{
    variable_->in_place = in_place_;
    use();
    if (!in_place_)
        DDS_TRY(show());
    if (Transport* wire = store_.router_->collective()) {
        together_ = not_attached(*wire);
        DDS_TRY(wire->ready());
    }
    return {};
}

Result<void> Store::Adding::reach()
{
    Router& router = *store_.router_;
    // First what all ranks do together: nothing fails before it that the others have not heard of.
    if (Transport* wire = router.collective())
        DDS_TRY(wire->attach(together_, patience()));
    DDS_FAILPOINT("add.reach");
    if (!router.collective())
        DDS_TRY(expose());
    if (in_place_) {
        const auto attached =
            router.own_memory().attach(not_attached(router.own_memory()), patience());
        if (!attached && attached.error().code != DDS_ERR_PERM)
            return attached.error();
        reached_.refused = !attached;
    } else if (router.has(Way::shared)) {
        DDS_TRY(router.shared().attach(not_attached(router.shared()), patience()));
    }
    if (router.has(Way::wire) && !router.collective())
        DDS_TRY(router.wire()->attach(not_attached(*router.wire()), patience()));
    DDS_FAILPOINT("add.reached");
    if (!reached_.refused)
        locate();
    reached_.wired = !variable_->mapped.whole;
    return {};
}

// Rank 0 leaves word for readers of other jobs, which may come to it at once: all is in its place.
Result<void> Store::Adding::publish()
{
    if (!store_.publisher_ || store_.rank() != 0 || reached_.refused)
        return {};
    const Variable& v = *variable_;
    VariableRecord record;
    record.name = v.name;
    record.type = v.type;
    record.flags = in_place_ ? v.flags : v.flags & ~static_cast<uint32_t>(DDS_NOCOPY);
    record.itemsize = v.itemsize;
    record.disp = v.disp;
    record.shape = v.shape;
    record.meta = v.meta;
    record.rows = rows_;
    for (size_t rank = 0; rank < placed_.size(); rank++) {
        const Placed& placed = placed_[rank];
        const auto* key = placed.wire_key.bytes.data();
        if (placed.bytes)
            record.segments.push_back({static_cast<uint32_t>(rank),
                                       placed.segment,
                                       placed.offset,
                                       placed.bytes,
                                       {key, key + placed.wire_key.used}});
    }
    DDS_TRY(store_.publisher_->put(std::move(record)));
    published_ = true;
    return {};
}

// Where each shard's rows are for this process.
void Store::Adding::locate()
{
    Variable& v = *variable_;
    Router& router = *store_.router_;
    const Partition& partition = *v.partition;
    const size_t row = static_cast<size_t>(v.disp) * v.itemsize;
    v.mapped.own = partition.shard_of_rank(store_.rank());
    for (int shard = 0; shard < partition.shards(); shard++) {
        const int rank = partition.rank_of(shard);
        const Placed& placed = placed_[static_cast<size_t>(rank)];
        const auto at = static_cast<size_t>(shard);
        v.places[at] = {placed.offset, placed.segment, false};
        const std::byte* data = nullptr;
        if (rank == store_.rank())
            data = v.own_data;
        else if (!in_place_ && router.way(rank) == Way::shared)
            data =
                router.shared().mapped(static_cast<uint32_t>(rank), placed.segment) + placed.offset;
        else
            v.places[at].wired = row != 0;
        v.bases[at] = data ? data - static_cast<size_t>(partition.start(shard)) * row : nullptr;
    }
    v.map();
}

void Store::Adding::use()
{
    for (size_t rank = 0; rank < placed_.size(); rank++)
        if (placed_[rank].bytes)
            store_.use(static_cast<uint32_t>(rank), placed_[rank].segment, placed_[rank].own,
                       in_place_);
    used_ = true;
}

void Store::Adding::unuse()
{
    if (!std::exchange(used_, false))
        return;
    for (size_t rank = 0; rank < placed_.size(); rank++)
        if (placed_[rank].bytes)
            store_.unuse(static_cast<uint32_t>(rank), placed_[rank].segment);
}

}  // namespace dds
