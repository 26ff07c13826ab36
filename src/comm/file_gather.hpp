// One allgather through files: each rank writes its part, rank 0 collects them and writes all of
// them in one file, which everybody reads.  From 64 ranks on the parts go through leaders, each of a
// group of about sqrt(size) ranks, so that no rank looks for more than 2 sqrt(size) files.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "comm/group.hpp"
#include "comm/helper.hpp"
#include "comm/pace.hpp"

namespace dds::filecomm {

class Gather : public Task {
public:
    Gather(std::shared_ptr<Group> group, uint64_t seq, std::span<const std::byte> in);

    Result<Step> step() override;
    int64_t nap() override { return pace_.nap(); }

    std::vector<int> missing() override;
    std::optional<Error> doubt() override;
    void give_up(const Error& why) override { group_.announce(why); }

    // To be asked when it has ended.  Agreed: also an error was every rank's, and they are in step.
    bool agreed() const { return agreed_; }
    std::span<const std::byte> result() const { return collected_; }

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
    Result<void> mark();
    Result<void> rounds();
    Result<void> check_doubt();
    Result<void> check_peers();
    bool gone(int rank);
    std::span<std::byte> slot(int rank, int count);

    const std::shared_ptr<Group> shared_;
    Group& group_;
    const uint64_t seq_;
    const size_t bytes_;
    Pace pace_;
    State state_ = State::collecting;
    int first_ = 0, ranks_ = 1;  // whose bytes this rank collects
    std::vector<Child> children_;
    std::vector<std::byte> collected_;  // in the end, of all ranks
    std::optional<Error> verdict_;
    bool marked_ = false;
    int64_t doubted_ = 0;  // since when a file is damaged
    int suspect_ = -1;     // a rank that seemed gone in the last round
    int next_ = 1;         // rank 0: where the next round goes on
    bool agreed_ = false;
};

}  // namespace dds::filecomm
