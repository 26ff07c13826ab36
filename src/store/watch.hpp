// An operation between ranks that ends with PEER when a rank of this node dies: a communicator may
// not notice.
#pragma once

#include <algorithm>

#include "base/clock.hpp"
#include "base/wait.hpp"
#include "node/node.hpp"

namespace dds {

class WatchNode final : public Operation {
public:
    WatchNode(Operation& inner, const Node* node, const char* call)
        : inner_(inner), node_(node), call_(call)
    {
    }

    Result<Step> step() override
    {
        DDS_LET(step, inner_.step());
        if (step != Step::idle || !node_ || node_->dead_count() == 0)
            return step;
        // What it sent before its end may just have come.
        if (dead_looks_++ < kLooks)
            return step;
        for (const int rank : node_->ranks())
            if (node_->lost(rank))
                return fail_rank(DDS_ERR_PEER, rank, "rank %d died or left the store before %s",
                                 rank, call_);
        return step;
    }
    void park(int64_t ns) override { inner_.park(std::min(ns, 5 * clock::kMillisecond)); }

private:
    static constexpr int kLooks = 100;
    Operation& inner_;
    const Node* node_;
    const char* call_;
    int dead_looks_ = 0;
};

}  // namespace dds
