// One allgather through files: each rank writes its part, rank 0 collects them and writes all of
// them in one file, which everybody reads.  From 64 ranks on the parts go through leaders, each of a
// group of about sqrt(size) ranks, so that no rank looks for more than 2 sqrt(size) files.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/wait.hpp"
#include "comm/group.hpp"
#include "comm/pace.hpp"

namespace dds {

class Gather : public Operation {
public:
    Gather(Group& group, uint64_t seq, std::span<const std::byte> in, std::span<std::byte> out);

    Result<Step> step() override;
    void park(int64_t ns) override { pace_.rest(ns); }

    std::vector<int> missing() const;
    // True where the ranks agreed on the error: they are in step still.
    bool agreed() const { return agreed_; }

private:
    enum class State { collecting, awaiting, done };
    struct Child {
        int rank;   // whose file
        int count;  // ranks in it, from `rank` on
        bool here = false;
    };

    Result<Step> collect();
    Result<bool> take(Child& child);
    Result<void> pass_on();
    Result<Step> await();
    Result<void> rounds();
    std::span<std::byte> slot(int rank, int count);

    Group& group_;
    const uint64_t seq_;
    const size_t bytes_;
    const std::span<std::byte> out_;
    Pace pace_;
    State state_ = State::collecting;
    int first_ = 0, ranks_ = 1;  // whose bytes this rank collects
    std::vector<Child> children_;
    std::vector<std::byte> collected_;
    std::optional<Error> verdict_;
    bool marked_ = false;
    bool agreed_ = false;
};

}  // namespace dds
