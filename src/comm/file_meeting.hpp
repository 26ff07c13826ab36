// How the ranks of a FileComm find each other, and nobody else.  Each rank puts a hello with a fresh
// nonce in its place.  Rank 0 calls: a file that lists the nonces it saw.  A rank that finds its own
// nonce in the call knows that the caller lives, and acknowledges the call in its hello; so the
// caller knows that the rank lives.  When all have, the call becomes final, and the caller's nonce
// is the run id.  What an earlier run left behind names none of these nonces.
#pragma once

#include <optional>
#include <vector>

#include "base/wait.hpp"
#include "comm/group.hpp"
#include "comm/pace.hpp"

namespace dds {

class Meeting : public Operation {
public:
    explicit Meeting(Group& group);

    Result<Step> step() override;
    void park(int64_t ns) override { pace_.rest(ns); }

    std::vector<int> missing();
    // The deadline passed: what is in the way, MISMATCH or CORRUPT or PERM where that is known.
    Error overdue(int timeout_ms);

private:
    enum class State { arriving, waiting, quarrelling, dismissing };

    Result<Step> claim();
    Result<Step> quarrel(const Group::Greeting& other);
    Result<Step> keep_quarrelling();
    Result<void> check_own_place();
    Result<void> rounds();
    Result<Step> answer();
    Result<Step> host();
    Result<void> hear(int rank, const Group::Greeting& greeting);
    Result<Step> dismiss(Error error);
    Result<Step> keep_dismissing();
    Result<void> publish(bool final, const Error* verdict);
    void sweep();
    std::optional<Nonce> caller_of(int rank, const Nonce& nonce, const Group::Message& call) const;
    Result<std::optional<Group::Message>> read_call();

    Group& group_;
    Pace pace_;
    State state_ = State::arriving;
    std::vector<Nonce> seen_;      // rank 0: by rank
    std::vector<bool> answers_;    // rank 0: who has acknowledged this call
    bool changed_ = true;          // rank 0: seen_ is not what the call says
    std::optional<Group::Greeting> rival_;
    Error error_;                  // quarrelling, dismissing: how it ends
    int64_t until_ = 0;
};

}  // namespace dds
