// What the ranks tell each other while dds_init opens a store: cards that go round, each with what its
// rank found wrong, and how the first that failed decides for all.
#pragma once

#include <algorithm>
#include <climits>
#include <cstring>
#include <span>
#include <vector>

#include "base/clock.hpp"
#include "comm/comm.hpp"
#include "store/watch.hpp"
#include "transport/fabric.hpp"

namespace dds {

// Every card has one as its `verdict`.
template <size_t kText>
struct Verdict {
    int32_t code = DDS_SUCCESS, rank = -1;
    char text[kText] = "";

    void tell(const Result<void>& result)
    {
        if (result)
            return;
        const Error& error = result.error();
        code = error.code;
        rank = error.rank;
        const size_t n = std::min(error.text.size(), sizeof text - 1);
        memcpy(text, error.text.data(), n);
        text[n] = '\0';
    }
};

// One that only lost a peer tells no cause, so it decides where there is no other.
template <class Card>
Result<void> first_failure(std::span<const Card> cards, int own, const Result<void>& mine)
{
    const auto failed = [](const Card& card) { return card.verdict.code != DDS_SUCCESS; };
    const auto caused = [&](const Card& card) {
        return failed(card) && card.verdict.code != DDS_ERR_PEER;
    };
    auto card = std::find_if(cards.begin(), cards.end(), caused);
    if (card == cards.end())
        card = std::find_if(cards.begin(), cards.end(), failed);
    if (card == cards.end())
        return {};
    const int rank = static_cast<int>(card - cards.begin());
    if (rank == own)
        return mine.error();
    const auto& verdict = card->verdict;
    return fail_rank(verdict.code, verdict.rank >= 0 ? verdict.rank : rank,
                     "rank %d in dds_init: %.*s", rank, static_cast<int>(sizeof verdict.text),
                     verdict.text);
}

template <class Card>
Result<std::vector<Card>> exchange(Comm& comm, const Card& mine, int64_t timeout_ms,
                                   const Node* node)
{
    std::vector<Card> all(static_cast<size_t>(comm.size()));
    DDS_LET(operation,
            comm.start_allgather(std::as_bytes(std::span(&mine, 1)),
                                 std::as_writable_bytes(std::span(all)),
                                 static_cast<int>(std::min<int64_t>(timeout_ms, INT_MAX))));
    WatchNode watched(*operation, node, "dds_init ended");
    DDS_LET(waited,
            wait(watched, {.timeout_ms = timeout_ms, .park_max_ns = 20 * clock::kMillisecond}));
    if (waited == Waited::interrupted)
        return fail(DDS_ERR_INTERRUPTED, "interrupted in dds_init");
    if (waited == Waited::timeout) {
        const std::vector<int> missing = comm.missing();
        if (missing.empty())  // MPI does not tell
            return fail(DDS_ERR_TIMEOUT,
                        "rank %d waited %lld ms for another rank to come to dds_init", comm.rank(),
                        static_cast<long long>(timeout_ms));
        const int rank = missing.front();
        return fail_rank(DDS_ERR_TIMEOUT, rank,
                         "rank %d: rank %d did not come to dds_init within "
                         "%lld ms",
                         comm.rank(), rank, static_cast<long long>(timeout_ms));
    }
    return all;
}

// The way of libfabric that all ranks have, the best by rank 0's judgement.  Collective.
Result<FabricOffer> agree_on_fabric(Comm& comm, const FabricWish& wish, int64_t timeout_ms);

}  // namespace dds
