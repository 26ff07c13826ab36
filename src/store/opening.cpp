#include "store/opening.hpp"

namespace dds {
namespace {

struct OfferCard {
    Verdict<192> verdict;
    FabricOffers offers;
};

}  // namespace

Result<FabricOffer> agree_on_fabric(Comm& comm, const FabricWish& wish, int64_t timeout_ms)
{
    const auto offers = fabric_offers(wish);
    const Result<void> mine = offers ? Result<void>() : Result<void>(offers.error());
    OfferCard card{{}, offers ? *offers : FabricOffers{}};
    card.verdict.tell(mine);
    DDS_LET(cards, exchange(comm, card, timeout_ms, nullptr));
    DDS_TRY(first_failure<OfferCard>(cards, comm.rank(), mine));
    std::vector<FabricOffers> by_rank;
    for (const OfferCard& each : cards)
        by_rank.push_back(each.offers);
    return fabric_agree(by_rank);
}

}  // namespace dds
