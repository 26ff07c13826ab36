// One dds_add or dds_create under way: what a rank does between the rounds.
#pragma once

#include "store/store.hpp"
#include "store/variable_card.hpp"

namespace dds {

class Store::Adding {
public:
    // Where a rank's shard lies: the card of the second round.
    struct Placed {
        uint64_t offset, bytes;  // bytes: of the segment
        uint32_t segment;
        uint32_t own;  // nothing else will ever be in it
        Key key;       // for ranks of its node
        Key wire_key;  // for others
    };
    // Of the third: whether the callers' memory cannot be read from here, and whether some rows need
    // a transport.
    struct Reached {
        uint32_t refused, wired;
    };

    Adding(Store& store, Op op, const VariableSpec& spec) : store_(store), op_(op), spec_(spec) {}
    ~Adding();

    Result<void> run();

private:
    Result<void> check();
    Result<void> prepare();
    Result<void> place();
    Result<void> expose();
    Result<void> reach();
    Result<void> publish();
    Result<void> give_key(const Block& block);
    Result<void> show();
    Transport& reader_of(int rank) const;
    std::vector<Transport::Attach> not_attached(Transport& transport) const;
    void locate();
    void use();
    void unuse();
    int64_t patience() const { return store_.collective_ms(); }

    Store& store_;
    Op op_;
    const VariableSpec& spec_;
    VariableCard card_{};
    std::vector<int64_t> rows_;                // a rank
    std::vector<Placed> placed_;               // a rank
    std::vector<Transport::Attach> together_;  // what all ranks attach at once
    std::shared_ptr<Variable> variable_;
    bool in_place_ = false;
    bool used_ = false;       // uses_ counts it
    bool published_ = false;  // readers of other jobs may have seen it
    Placed own_{};
    Reached reached_{};
};

}  // namespace dds
