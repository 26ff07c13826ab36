// How the ranks of a FileComm find each other, and nobody else.  Each rank puts a hello with a fresh
// nonce in its place.  Rank 0 calls: a file that lists the nonces it saw.  A rank that finds its own
// nonce in the call knows that the caller lives, and acknowledges the call in its hello; so the
// caller knows that the rank lives.  When all have, the call becomes final, and the caller's nonce
// is the run id.  What an earlier run left behind names none of these nonces.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "comm/group.hpp"
#include "comm/helper.hpp"
#include "comm/pace.hpp"

namespace dds::filecomm {

class Meeting : public Task {
public:
    explicit Meeting(std::shared_ptr<Group> group);

    Result<Step> step() override;
    int64_t nap() override { return pace_.nap(); }

    std::vector<int> missing() override;
    // What may be in the way: MISMATCH, CORRUPT, PERM or VERSION where that is known.
    std::optional<Error> doubt() override;
    void give_up(const Error& why) override;

private:
    enum class State { arriving, waiting, quarrelling, dismissing };

    Result<Step> step_on();
    Result<Step> claim();
    Result<Step> quarrel(const Group::Greeting& other);
    Result<Step> keep_quarrelling();
    Result<void> check_own_place();
    Result<void> hear_clashes();
    Result<void> rounds();
    Result<Step> answer();
    Result<Step> host();
    Result<void> hear(int rank, const Group::Greeting& greeting);
    Result<Step> dismiss(Error error, int ranks = 0);
    bool name_all();
    Result<Step> keep_dismissing();
    Result<void> publish(bool final, const Error* verdict);
    void sweep();
    std::optional<Nonce> caller_of(int rank, const Nonce& nonce, const Group::Message& call) const;
    Result<std::optional<Group::Message>> read_call();

    const std::shared_ptr<Group> shared_;
    Group& group_;
    Pace pace_;
    State state_ = State::arriving;
    std::vector<Nonce> seen_;    // rank 0: by rank
    std::vector<bool> answers_;  // rank 0: who has acknowledged this call
    bool changed_ = true;        // rank 0: seen_ is not what the call says
    Nonce host_{};               // the others: rank 0, as it was seen without bad news
    std::optional<Group::Greeting> rival_;
    Error error_;  // quarrelling, dismissing: how it ends
    int64_t until_ = 0;
};

}  // namespace dds::filecomm
