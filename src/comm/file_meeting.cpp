#include "comm/file_meeting.hpp"

#include <algorithm>
#include <cstring>

#include "base/clock.hpp"

namespace dds::filecomm {
namespace {

constexpr uint64_t kMaxCall = uint64_t{64} << 20;  // 4 million ranks
constexpr int64_t kLinger = clock::kSecond;        // for rank 0 to read a complaint

}  // namespace

Meeting::Meeting(std::shared_ptr<Group> group) : shared_(std::move(group)), group_(*shared_)
{
    if (group_.rank == 0) {
        seen_.resize(static_cast<size_t>(group_.size));
        answers_.resize(static_cast<size_t>(group_.size));
        seen_[0] = group_.nonce;
        answers_[0] = true;
    }
}

Result<Step> Meeting::step()
{
    auto step = step_on();
    const bool told = state_ == State::quarrelling || state_ == State::dismissing;
    if (step || told || step.error().code == DDS_ERR_MISMATCH)
        return step;
    if (group_.rank == 0 && group_.arrived)
        return dismiss(std::move(step).error());
    group_.announce(step.error());
    return step;
}

Result<Step> Meeting::step_on()
{
    switch (state_) {
    case State::arriving: return claim();
    case State::quarrelling: return keep_quarrelling();
    case State::dismissing: return keep_dismissing();
    case State::waiting: break;
    }
    DDS_TRY(rounds());
    if (auto own = check_own_place(); !own) {
        if (state_ == State::quarrelling)
            return Step::moved;
        return group_.rank == 0 ? dismiss(std::move(own).error()) : Result<Step>(own.error());
    }
    return group_.rank == 0 ? host() : answer();
}

// ---- A place is one rank's ---------------------------------------------------------------------

Result<Step> Meeting::claim()
{
    DDS_LET(directory, Directory::open(group_.path));
    group_.directory = std::move(directory);
    DDS_LET(before, group_.read_hello(group_.rank));
    const bool taken = before && before->header.status == DDS_SUCCESS &&
                       life_of(before->hello.process) == Life::alive;
    if (taken)
        return quarrel(*before);
    DDS_TRY(group_.write_hello());
    state_ = State::waiting;
    return Step::moved;
}

// Another process, which runs or may run, is in this rank's place: neither can go on.  The other
// one, and rank 0, learn it from the complaint.
Result<Step> Meeting::quarrel(const Group::Greeting& other)
{
    error_ = fail_rank(DDS_ERR_MISMATCH, group_.rank, "%s is claimed twice: by %s and by %s",
                       in_words(group_, group_.rank).c_str(), in_words(other.hello.process).c_str(),
                       in_words(group_.process).c_str());
    rival_ = other;
    until_ = clock::now() + kLinger;
    state_ = State::quarrelling;
    DDS_TRY(group_.write_clash(other, other.header.run, error_));
    return Step::moved;
}

// Rank 0 believes a complaint that names its call; it may have to be waited for.
Result<Step> Meeting::keep_quarrelling()
{
    DDS_LET(call, read_call());
    const auto caller = call ? caller_of(group_.rank, rival_->hello.nonce, *call) : std::nullopt;
    if (caller && !call->header.status)
        DDS_TRY(group_.write_clash(*rival_, *caller, error_));
    if (caller)
        return error_;
    if (clock::now() >= until_)
        return error_;
    return Step::idle;
}

Result<void> Meeting::check_own_place()
{
    DDS_LET(clash, group_.read_clash(group_.rank));
    if (clash && clash->hello.nonce == group_.nonce)
        return error_of(clash->header, std::as_bytes(std::span(clash->hello.text)));
    DDS_LET(own, group_.read_hello(group_.rank));
    if (own && own->hello.nonce != group_.nonce) {
        DDS_TRY(quarrel(*own));
        return error_;
    }
    // Taken away: by the last of an earlier run, or by hand.
    if (!own && !group_.directory.exists(hello_name(group_.space, group_.rank)))
        return group_.write_hello();
    return {};
}

// ---- Ranks but 0 -------------------------------------------------------------------------------

Result<std::optional<Group::Message>> Meeting::read_call()
{
    return group_.read(call_name(group_.space), Kind::call, kMaxCall);
}

// The caller's nonce where the call lists `nonce` as rank's.
std::optional<Nonce> Meeting::caller_of(int rank, const Nonce& nonce,
                                        const Group::Message& call) const
{
    const size_t at = static_cast<size_t>(rank) * sizeof(Nonce);
    if (static_cast<uint32_t>(rank) >= call.header.count || call.body.size() < at + sizeof(Nonce) ||
        std::memcmp(call.body.data() + at, nonce.data(), sizeof(Nonce)) != 0)
        return std::nullopt;
    return call.header.run;
}

Result<Step> Meeting::answer()
{
    DDS_LET(call, read_call());
    const auto caller = call ? caller_of(group_.rank, group_.nonce, *call) : std::nullopt;
    if (!caller)
        return Step::idle;
    const size_t list = call->header.count * sizeof(Nonce);
    if (call->header.status)
        return error_of(call->header,
                        std::span(call->body).subspan(std::min(list, call->body.size())));
    if (*caller != group_.acknowledged) {
        group_.acknowledged = *caller;
        DDS_TRY(group_.write_hello());
        pace_.moved();
        return Step::moved;
    }
    if (call->header.seq == 0)
        return Step::idle;
    group_.run = *caller;
    return Step::ended;
}

// ---- All of them -------------------------------------------------------------------------------

Result<void> Meeting::rounds()
{
    if (!pace_.time_for_rounds() && (group_.rank == 0 || host_ != Nonce{}))
        return {};
    DDS_TRY(group_.directory.still_there());
    group_.directory.list(group_.space + ".", 1);
    if (group_.rank == 0)
        return {};
    DDS_LET(first, group_.read_hello(0));
    if (!first)
        return {};
    // Of this meeting, and not left over, if it is known or still runs.
    if (first->header.status &&
        (first->hello.nonce == host_ || first->hello.nonce == group_.acknowledged ||
         life_of(first->hello.process) == Life::alive))
        return error_of(first->header, std::as_bytes(std::span(first->hello.text)));
    if (!first->header.status)
        host_ = first->hello.nonce;
    // Rank 0 never looks for a rank that it does not expect; one that it does expect answers, so
    // that the verdict reaches all.
    if (first->header.size <= group_.rank && life_of(first->hello.process) == Life::alive)
        return fail_rank(DDS_ERR_MISMATCH, 0, "'%s' in %s: rank 0 says %d ranks, rank %d says %d",
                         group_.ns.c_str(), group_.path.c_str(), first->header.size, group_.rank,
                         group_.size);
    return {};
}

std::vector<int> Meeting::missing()
{
    std::vector<int> missing;
    for (int rank = 0; rank < group_.size; rank++) {
        if (rank == group_.rank || (group_.rank == 0 && answers_[static_cast<size_t>(rank)]))
            continue;
        const auto greeting = group_.read_hello(rank);
        const bool here = greeting && *greeting && (*greeting)->header.size == group_.size &&
                          life_of((*greeting)->hello.process) == Life::alive;
        if (!here)
            missing.push_back(rank);
    }
    return missing;
}

std::optional<Error> Meeting::doubt()
{
    if (state_ == State::quarrelling || state_ == State::dismissing)
        return error_;
    group_.doubt.reset();
    const std::vector<int> gone = missing();  // looks at all hellos again
    for (const std::string& name : group_.directory.list("")) {
        // A rank that waits under another name says that the ranks' order of creation differs.
        const size_t at = name.find(".hello.");
        if (at == std::string::npos || name.starts_with(group_.space + "."))
            continue;
        const int rank = atoi(name.c_str() + at + strlen(".hello."));
        const auto other = group_.read(name, Kind::hello, sizeof(Hello));
        if (!std::ranges::binary_search(gone, rank) || !other || !*other ||
            (*other)->body.size() != sizeof(Hello))
            continue;
        Hello hello;
        std::memcpy(&hello, (*other)->body.data(), sizeof hello);
        if (life_of(hello.process) == Life::alive)
            return fail_rank(DDS_ERR_MISMATCH, rank,
                             "rank %d waits as %s: the ranks must create "
                             "their communicators in the same order and with the same names",
                             rank, group_.directory.in_words(name).c_str());
    }
    return group_.doubt ? std::optional(group_.doubt->error) : std::nullopt;
}

void Meeting::give_up(const Error& why)
{
    if (why.code != DDS_ERR_TIMEOUT)
        group_.announce(why);
}

}  // namespace dds::filecomm
