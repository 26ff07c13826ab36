// An operation between ranks that ends with PEER when a rank of this node died: a communicator may
// not notice.
#pragma once

#include <algorithm>

#include "base/clock.hpp"
#include "base/wait.hpp"
#include "node/node.hpp"

namespace dds {

class WatchNode final : public Operation {
public:
    // `round`: an operation in which a rank that left takes part where its word is on the page.
    WatchNode(Operation& inner, const Node* node, const char* call, bool round = false)
        : inner_(inner), node_(node), call_(call), round_(round)
    {
    }

    Result<Step> step() override
    {
        DDS_LET(step, inner_.step());
        if (step != Step::idle || !node_ || node_->dead_count() == 0)
            return step;
        for (const int rank : node_->ranks())
            if (node_->dead(rank) && gone(rank))
                return fail_rank(DDS_ERR_PEER, rank, "rank %d died or left the store before %s",
                                 rank, call_);
        return step;
    }
    void park(int64_t ns) override { inner_.park(std::min(ns, 5 * clock::kMillisecond)); }

private:
    // What a rank sent before its end may be on its way still, through others' hands too.
    static constexpr int64_t kGrace = 500 * clock::kMillisecond;

    bool gone(int rank)
    {
        if (round_ && node_->absent(rank))
            return true;
        if (!node_->died(rank))
            return false;  // it left, and may have done its part before
        const int64_t now = clock::now();
        died_ = died_ ? died_ : now;
        return now - died_ > kGrace;
    }

    Operation& inner_;
    const Node* node_;
    const char* call_;
    const bool round_;
    int64_t died_ = 0;  // when that was seen first
};

}  // namespace dds
