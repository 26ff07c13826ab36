// dds_add and dds_create: three rounds.  The ranks compare what they were given; each places its
// shard and tells where; each maps the others' segments, where a wire's attach is a call of all ranks
// after one round more that tells whether all can come to it.  What fails on one rank between two rounds,
// a lack of memory too, goes into the next, so that all end alike and the table has it on all or none.
#include "base/failpoint.hpp"
#include "store/adding.hpp"
#include "store/contain.hpp"

namespace dds {
namespace {

template <class Card>
std::span<const std::byte> bytes_of(const Card& card)
{
    return std::as_bytes(std::span(&card, 1));
}

}  // namespace

Result<void> Store::Adding::run()
{
    Agreement& agreement = *store_.agreement_;
    Result<void> mine = contain([&] { return check(); });
    DDS_TRY(agreement.round(op_, mine, bytes_of(card_), patience()));
    in_place_ = spec_.options.flags & DDS_NOCOPY;
    mine = contain([&] { return prepare(); });
    for (;;) {
        if (mine)
            mine = contain([&] { return place(); });
        DDS_TRY(agreement.round(Op::place, mine, bytes_of(own_), patience()));
        for (const int rank : agreement.ranks())
            placed_[static_cast<size_t>(rank)] = agreement.card<Placed>(rank);
        if (store_.router_->collective()) {
            mine = contain([&] { return expose(); });
            DDS_TRY(agreement.round(Op::expose, mine, {}, patience()));
        }
        mine = contain([&] { return reach(); });
        if (mine)
            mine = contain([&] { return publish(); });
        const auto attached = agreement.round(Op::attach, mine, bytes_of(reached_), patience());
        if (Transport* wire = store_.router_->collective(); wire && !attached)
            wire->spoil();
        DDS_TRY(attached);
        bool refused = false;
        for (const int rank : agreement.ranks())
            refused = refused || agreement.card<Reached>(rank).refused;
        if (!refused)
            break;
        // Some rank may not read the callers' memory: then it is copied like any other, and no rank
        // goes on using it in place.
        unuse();
        in_place_ = false;
        reached_.refused = 0;
    }
    for (const int rank : agreement.ranks())
        variable_->wired_somewhere |= agreement.card<Reached>(rank).wired != 0;
    used_ = published_ = false;
    store_.next_order_++;
    store_.table_.insert(std::move(variable_));
    return {};
}

Result<void> Store::Adding::check()
{
    DDS_FAILPOINT("add.check");
    DDS_TRY(spec_.problem);
    DDS_LET(card, make_card(spec_));
    card_ = card;
    if (store_.table_.find(NameKey(spec_.name), spec_.name))
        return fail(DDS_ERR_EXISTS, "variable \"%s\" is there already; drop it first", spec_.name);
    if (op_ == Op::add && !spec_.data && spec_.nrows > 0 && spec_.disp > 0)
        return fail(DDS_ERR_ARG, "variable \"%s\": data is NULL and there are %lld rows",
                    spec_.name, static_cast<long long>(spec_.nrows));
    if (op_ == Op::create && (spec_.options.flags & DDS_NOCOPY))
        return fail(DDS_ERR_ARG,
                    "variable \"%s\": DDS_NOCOPY needs the caller's memory: use dds_add",
                    spec_.name);
    return {};
}

std::shared_ptr<const Partition> Store::intern(std::shared_ptr<const Partition> partition)
{
    const uint64_t hash = partition->hash();
    const auto [first, last] = partitions_.equal_range(hash);
    for (auto at = first; at != last;) {
        auto known = at->second.lock();
        if (known && *known == *partition)
            return known;
        at = known ? std::next(at) : partitions_.erase(at);
    }
    partitions_.emplace(hash, partition);
    return partition;
}

void Store::use(uint32_t peer, uint32_t segment, bool own, bool in_place)
{
    Use& use = uses_[{peer, segment}];
    if (use.variables++ == 0 && static_cast<int>(peer) != rank())
        peer_maps_.fetch_add(1, std::memory_order_relaxed);
    use.own = own;
    use.in_place = in_place;
    if (own)
        return;
    // The peer has begun a new arena: the one before gets no more variables.
    const auto before = newest_.find(peer);
    if (before != newest_.end() && before->second != segment) {
        uses_[{peer, before->second}].variables++;
        const uint32_t old = std::exchange(before->second, segment);
        unuse(peer, old);
    } else {
        newest_[peer] = segment;
    }
}

void Store::unuse(uint32_t peer, uint32_t segment)
{
    const auto at = uses_.find({peer, segment});
    const auto newest = newest_.find(peer);
    if (--at->second.variables > 0 ||
        (!at->second.own && newest != newest_.end() && newest->second == segment))
        return;
    Transport& reader = router_->of(static_cast<int>(peer), at->second.in_place);
    reader.detach(peer, segment);
    // What all ranks attached, all ranks detach.
    if (Transport* wire = router_->collective(); wire && wire != &reader)
        wire->detach(peer, segment);
    uses_.erase(at);
    if (static_cast<int>(peer) != rank()) {
        peer_maps_.fetch_sub(1, std::memory_order_relaxed);
    } else {
        hide(segment);
    }
}

void Store::hide(uint32_t segment)
{
    if (Transport* wire = router_->wire())
        wire->unexpose(segment);
    if (publisher_)
        publisher_->hide(segment);
    keys_.erase(segment);
}

Result<void> Store::add(Op op, const VariableSpec& spec)
{
    DDS_TRY(check_member(op_name(op)));
    DDS_LET(turn, agreement_->turn(collective_ms()));
    return Adding(*this, op, spec).run();
}

}  // namespace dds
