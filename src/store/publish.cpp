// dds_publish: what the owners wrote before it is what readers of that version see.
#include <emmintrin.h>

#include <cstring>

#include "store/contain.hpp"
#include "store/store.hpp"

namespace dds {
namespace {

struct VersionCard {
    int64_t version;
    char name[256];
};

Result<void> compare_versions(const Agreement& agreement)
{
    const int first = agreement.ranks()[0];
    const auto& a = agreement.card<VersionCard>(first);
    for (const int rank : agreement.ranks())
        if (const auto& b = agreement.card<VersionCard>(rank);
            a.version != b.version || strncmp(a.name, b.name, sizeof a.name) != 0)
            return fail_rank(
                DDS_ERR_MISMATCH, rank,
                "rank %d publishes version %lld of variable \"%s\", rank %d version %lld "
                "of \"%s\"",
                first, static_cast<long long>(a.version), a.name, rank,
                static_cast<long long>(b.version), b.name);
    return {};
}

}  // namespace

Result<void> Store::publish(const char* name, int64_t version)
{
    DDS_TRY(check_member("dds_publish"));
    DDS_LET(turn, agreement_->turn(collective_ms()));
    VersionCard card{version, {}};
    std::shared_ptr<Variable> v;
    const Result<void> mine = [&]() -> Result<void> {
        if (!publisher_)
            return fail(DDS_ERR_STATE,
                        "the store is not one of method 2: it has no readers to tell");
        DDS_LET(found, variable(name));
        v = found;
        strncpy(card.name, name, sizeof card.name - 1);
        if (version <= v->version)
            return fail(DDS_ERR_ARG, "variable \"%s\": version %lld does not follow %lld", name,
                        static_cast<long long>(version), static_cast<long long>(v->version.load()));
        return {};
    }();
    _mm_sfence();  // streaming stores of updates, before others are told
    DDS_TRY(
        agreement_->round(Op::publish, mine, std::as_bytes(std::span(&card, 1)), collective_ms()));
    DDS_TRY(compare_versions(*agreement_));
    Result<void> put;
    if (rank() == 0)
        put = contain([&] { return publisher_->put_version(name, version); });
    DDS_TRY(agreement_->round(Op::published, put, {}, collective_ms()));
    v->version.store(version, std::memory_order_release);
    return {};
}

}  // namespace dds
