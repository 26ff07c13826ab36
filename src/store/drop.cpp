// dds_drop, and the other calls of all ranks that move no rows.
#include <emmintrin.h>

#include <cstring>

#include "base/failpoint.hpp"
#include "store/request.hpp"
#include "store/store.hpp"
#include "store/variable_card.hpp"

namespace dds {
namespace {

struct DropCard {
    char name[256];
};

Result<void> compare_names(const Agreement& agreement)
{
    const int first = agreement.ranks()[0];
    const auto& a = agreement.card<DropCard>(first);
    for (const int rank : agreement.ranks())
        if (const auto& b = agreement.card<DropCard>(rank);
            strncmp(a.name, b.name, sizeof a.name) != 0)
            return fail_rank(DDS_ERR_MISMATCH, rank,
                             "rank %d drops variable \"%s\", rank %d drops "
                             "\"%s\"",
                             first, a.name, rank, b.name);
    return {};
}

// Until no thread of ours is in a read that began before the variable was taken off the table.
Result<void> wait_for_readers(const char* name, uint64_t token, int64_t timeout_ms)
{
    struct Gone final : Operation {
        // Not those that wait for their turn in a collective call: they wait for us.
        explicit Gone(uint64_t token) : leaving(token, false) {}
        Result<Step> step() override { return leaving.gone() ? Step::ended : Step::idle; }
        Readers::Leaving leaving;
    } gone(token);
    Waited waited = Waited::timeout;
    if (!Readers::held_here(token)) {
        DDS_LET(end, wait(gone, {.timeout_ms = timeout_ms}));
        waited = end;
    }
    if (waited == Waited::ended)
        return {};
    return fail(waited == Waited::interrupted ? DDS_ERR_INTERRUPTED : DDS_ERR_BUSY,
                "variable \"%s\" is still being read by another thread", name);
}

// Until no read that was given up is under way over the wire.
Result<void> wait_for_quiet(const Transport& wire, const char* name, int64_t timeout_ms)
{
    struct Quiet final : Operation {
        explicit Quiet(const Transport& asked) : wire(asked) {}
        Result<Step> step() override { return wire.quiet() ? Step::ended : Step::idle; }
        const Transport& wire;
    } quiet(wire);
    DDS_LET(waited, wait(quiet, {.timeout_ms = timeout_ms}));
    if (waited == Waited::ended)
        return {};
    return fail(waited == Waited::interrupted ? DDS_ERR_INTERRUPTED : DDS_ERR_BUSY,
                "variable \"%s\": a read over %s that was given up is still under way", name,
                wire.words().c_str());
}

}  // namespace

Result<void> Store::drop(const char* name, uint64_t token)
{
    DDS_TRY(check_member("dds_drop"));
    DDS_LET(turn, agreement_->turn(collective_ms()));
    DropCard card{};
    const Result<void> mine = [&]() -> Result<void> {
        DDS_FAILPOINT("drop.begin");
        DDS_TRY(check_name(name));
        strncpy(card.name, name, sizeof card.name - 1);
        if (!table_.find(NameKey(name), name))
            return fail(DDS_ERR_NOTFOUND, "there is no variable \"%s\" to drop", name);
        return {};
    }();
    DDS_TRY(agreement_->round(Op::drop, mine, std::as_bytes(std::span(&card, 1)), collective_ms()));
    // Every rank sees the same names, so the comparison needs no round.
    DDS_TRY(compare_names(*agreement_));

    if (publisher_)
        publisher_->remove(name);
    std::shared_ptr<Variable> variable = table_.remove(name);
    end_requests(variable.get(), "the variable was dropped");
    Result<void> done = wait_for_readers(name, token, collective_ms());
    if (Transport* wire = router_->collective(); done && wire)
        done = wait_for_quiet(*wire, name, collective_ms());
    if (done)
        table_.collect();
    // After this round no rank reads any more: memory of the callers is theirs again.
    const Result<void> end = agreement_->round(Op::dropped, done, {}, collective_ms());
    // Where a thread of some rank still reads, all ranks keep what it may read of theirs.
    if (!end) {
        graves_.push_back(variable);
        return end;
    }
    for (size_t shard = 0; shard < variable->places.size() && variable->mapped.row > 0; shard++)
        unuse(static_cast<uint32_t>(variable->partition->rank_of(static_cast<int>(shard))),
              variable->places[shard].segment);
    if (Transport* wire = router_->collective())
        return wire->reap();
    return {};
}

Result<void> Store::epoch(Op op)
{
    if (options_.method != DDS_METHOD_MPI)
        return {};
    DDS_TRY(check_member(op_name(op)));
    DDS_LET(turn, agreement_->turn(collective_ms()));
    _mm_sfence();  // streaming stores of updates, before others are told
    Transport* wire = router_->collective();
    Result<void> mine = wire ? wire->sync() : Result<void>();
    DDS_TRY(agreement_->round(op, mine, {}, collective_ms()));
    return wire ? wire->sync() : Result<void>();
}

}  // namespace dds
