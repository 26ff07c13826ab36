// The half of a meeting that is rank 0's: it calls the ranks, hears their answers and complaints, and
// tells how the meeting ends.
#include <algorithm>

#include "base/clock.hpp"
#include "base/failpoint.hpp"
#include "comm/file_meeting.hpp"

namespace dds::filecomm {
namespace {

constexpr int kMostNamed = 1 << 16;
constexpr int64_t kLinger = clock::kSecond;  // for the others to read the bad news

}  // namespace

Result<Step> Meeting::host()
{
    bool all = true, moved = false;
    for (int rank = 1; rank < group_.size; rank++) {
        const auto at = static_cast<size_t>(rank);
        if (answers_[at])
            continue;
        DDS_LET(greeting, group_.read_hello(rank));
        if (greeting) {
            if (auto heard = hear(rank, *greeting); !heard)
                return dismiss(std::move(heard).error(), greeting->header.size);
            moved = moved || changed_ || answers_[at];
        }
        all = all && answers_[at];
    }
    if (auto clear = hear_clashes(); !clear)
        return dismiss(std::move(clear).error());
    if (all) {
        DDS_FAILPOINT("comm.file.final");
        sweep();
        DDS_TRY(publish(true, nullptr));
        group_.run = group_.acknowledged = group_.nonce;
        return Step::ended;
    }
    if (changed_)
        DDS_TRY(publish(false, nullptr));
    changed_ = false;
    if (moved)
        pace_.moved();
    return moved ? Step::moved : Step::idle;
}

Result<void> Meeting::hear(int rank, const Group::Greeting& greeting)
{
    const auto at = static_cast<size_t>(rank);
    if (seen_[at] != greeting.hello.nonce) {
        seen_[at] = greeting.hello.nonce;
        changed_ = true;
    }
    if (greeting.header.run != group_.nonce)
        return {};  // it has not seen this call: of an earlier run, perhaps
    answers_[at] = true;
    if (greeting.header.status)
        return error_of(greeting.header, std::as_bytes(std::span(greeting.hello.text)));
    if (greeting.header.size != group_.size)
        return fail_rank(DDS_ERR_MISMATCH, rank,
                         "'%s' in %s: rank 0 says %d ranks, rank %d says %d", group_.ns.c_str(),
                         group_.path.c_str(), group_.size, rank, greeting.header.size);
    if (greeting.hello.job != group_.job)
        return fail_rank(DDS_ERR_MISMATCH, rank,
                         "'%s' in %s: rank 0 belongs to job '%.63s', rank "
                         "%d to job '%.63s'",
                         group_.ns.c_str(), group_.path.c_str(), group_.job.data(), rank,
                         greeting.hello.job.data());
    return {};
}

// A complaint is of this meeting if it names this call, or a rank that has acknowledged it; for
// another one the call lists the nonce that it is about, which whoever complained waits for.
Result<void> Meeting::hear_clashes()
{
    const std::string prefix = clash_prefix(group_.space);
    for (const std::string& name : group_.directory.list(prefix)) {
        const int rank = atoi(name.c_str() + prefix.size());
        if (rank < 0 || rank >= group_.size || name != clash_name(group_.space, rank))
            continue;
        DDS_LET(clash, group_.read_clash(rank));
        if (!clash)
            continue;
        const auto at = static_cast<size_t>(rank);
        const bool known = seen_[at] == clash->hello.nonce;
        if (clash->header.run == group_.nonce || (known && answers_[at]))
            return error_of(clash->header, std::as_bytes(std::span(clash->hello.text)));
        if (!known && !answers_[at] && !group_.directory.exists(hello_name(group_.space, rank))) {
            seen_[at] = clash->hello.nonce;
            changed_ = true;
        }
    }
    return {};
}

Result<void> Meeting::publish(bool final, const Error* verdict)
{
    Header header = make_header(Kind::call, group_.rank, group_.size);
    header.run = group_.nonce;
    header.seq = final;
    std::vector<std::byte> text, body;
    if (verdict) {
        set_error(header, text, *verdict);
        header.status_rank = verdict->rank >= 0 ? verdict->rank : group_.rank;
    }
    header.count = static_cast<uint32_t>(seen_.size());
    const auto list = std::as_bytes(std::span(seen_));
    body.assign(list.begin(), list.end());
    body.insert(body.end(), text.begin(), text.end());
    return group_.write(call_name(group_.space), header, body);
}

// Every rank is here and none has begun: what else bears this name is left over.
void Meeting::sweep()
{
    for (const std::string& name : group_.directory.list(group_.space + ".")) {
        const std::string hello = group_.space + ".hello.";
        bool current = name == call_name(group_.space);
        if (name.starts_with(hello)) {
            char* end;
            const long rank = strtol(name.c_str() + hello.size(), &end, 10);
            current = *end == '\0' && rank >= 0 && rank < group_.size;
        }
        if (current)
            continue;
        const auto file = group_.directory.open_file(name);
        Header header;
        const bool ours =
            file && *file &&
            group_.directory.read(**file, 0, std::as_writable_bytes(std::span(&header, 1)), name) &&
            examine(header) != Verdict::damaged;
        if (ours || (file && *file && name.starts_with(group_.space + ".tmp.")))
            group_.directory.remove(name);
    }
}

// The verdict goes to everybody who is there, or comes within a second, and to ranks that were not
// expected too.
Result<Step> Meeting::dismiss(Error error, int ranks)
{
    error_ = std::move(error);
    seen_.resize(static_cast<size_t>(std::max(group_.size, std::min(ranks, kMostNamed))));
    answers_.assign(seen_.size(), false);
    name_all();
    if (!publish(false, &error_))  // no space for a call: the hello has its own
        group_.announce(error_);
    state_ = State::dismissing;
    until_ = clock::now() + kLinger;
    return Step::moved;
}

// Who is there; true where somebody new is.  From now on answers_ says who is named.
bool Meeting::name_all()
{
    bool more = false;
    for (size_t at = 1; at < seen_.size(); at++) {
        const auto greeting = answers_[at] ? Result<std::optional<Group::Greeting>>(std::nullopt)
                                           : group_.read_hello(static_cast<int>(at));
        if (!greeting || !*greeting || life_of((*greeting)->hello.process) == Life::dead)
            continue;
        seen_[at] = (*greeting)->hello.nonce;
        answers_[at] = more = true;
    }
    return more;
}

// A rank that has read the verdict takes its hello away; then nobody needs the call.
Result<Step> Meeting::keep_dismissing()
{
    if (name_all())
        static_cast<void>(publish(false, &error_));
    bool waiting = false;
    for (size_t at = 1; at < seen_.size() && clock::now() < until_ && !waiting; at++)
        waiting = !answers_[at] ||
                  group_.directory.exists(hello_name(group_.space, static_cast<int>(at)));
    if (waiting)
        return Step::idle;
    for (size_t at = 0; at < seen_.size(); at++) {
        const int rank = static_cast<int>(at);
        const auto words = group_.read_hello(rank);
        if (words && *words && (*words)->header.status &&
            ((*words)->header.run == group_.nonce || rank == 0))
            group_.directory.remove(hello_name(group_.space, rank));
        const auto clash = group_.read_clash(rank);
        if (clash && *clash && (*clash)->hello.nonce == seen_[at])
            group_.directory.remove(clash_name(group_.space, rank));
    }
    group_.directory.remove(call_name(group_.space));
    return error_;
}

}  // namespace dds::filecomm
