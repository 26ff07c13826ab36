#include "comm/file_gather.hpp"

#include <algorithm>
#include <cstring>

#include "base/clock.hpp"
#include "base/failpoint.hpp"

namespace dds::filecomm {
namespace {

constexpr int kTree = 64;  // ranks from which on there are leaders
constexpr int64_t kMark = 100 * clock::kMillisecond;
constexpr int64_t kDoubt = 10 * clock::kSecond;
constexpr int kPeers = 256;  // looked after in a round

int width_of(int size)
{
    int width = 1;
    while (size >= kTree && width * width < size)
        width++;
    return width;
}

}  // namespace

Gather::Gather(std::shared_ptr<Group> shared, uint64_t seq, std::span<const std::byte> in)
    : shared_(std::move(shared)), group_(*shared_), seq_(seq), bytes_(in.size())
{
    const Group& group = group_;
    group_.doubt.reset();
    const int width = width_of(group.size);
    const bool leader = group.rank % width == 0 && width > 1;
    first_ = group.rank;
    if (group.rank == 0) {
        ranks_ = group.size;
        for (int rank = 1; rank < std::min(width, group.size); rank++)
            children_.push_back({rank, 1});
        for (int rank = width; rank < group.size; rank += width)
            children_.push_back({rank, std::min(width, group.size - rank)});
    } else if (leader) {
        ranks_ = std::min(width, group.size - group.rank);
        for (int rank = first_ + 1; rank < first_ + ranks_; rank++)
            children_.push_back({rank, 1});
    }
    collected_.resize(bytes_ * static_cast<size_t>(ranks_));
    if (bytes_)
        std::memcpy(collected_.data(), in.data(), bytes_);
}

std::span<std::byte> Gather::slot(int rank, int count)
{
    return std::span(collected_)
        .subspan(static_cast<size_t>(rank - first_) * bytes_, static_cast<size_t>(count) * bytes_);
}

Result<Step> Gather::step()
{
    auto step = state_ == State::collecting ? collect() : await();
    if (step && *step == Step::idle) {
        DDS_TRY(group_.heard());
        if (auto looked = rounds(); !looked)
            step = std::move(looked).error();
    }
    if (step && *step == Step::moved)
        pace_.moved();
    if (!step && !agreed_)
        group_.announce(step.error());
    return step;
}

Result<Step> Gather::collect()
{
    bool moved = false;
    for (Child& child : children_) {
        if (child.here)
            continue;
        DDS_LET(came, take(child));
        moved = moved || came;
    }
    if (!std::ranges::all_of(children_, &Child::here))
        return moved ? Step::moved : Step::idle;
    if (group_.size > 1)
        DDS_TRY(pass_on());
    if (group_.rank != 0) {
        state_ = State::awaiting;
        return Step::moved;
    }
    // Whoever gave its part of this exchange has read all of the last one.
    if (seq_ > 0 && group_.size > 1)
        group_.directory.remove(all_name(group_.space, group_.run, seq_ - 1));
    if (seq_ == 0)
        group_.directory.remove(call_name(group_.space));  // all have met
    state_ = State::done;
    agreed_ = true;
    if (marked_)
        group_.directory.remove(part_name(group_.space, group_.run, seq_, 0));
    if (verdict_)
        return *verdict_;
    return Step::ended;
}

Result<bool> Gather::take(Child& child)
{
    const auto into = slot(child.rank, child.count);
    const std::string name = part_name(group_.space, group_.run, seq_, child.rank);
    DDS_LET(part, group_.read(name, Kind::part, std::max<uint64_t>(into.size(), kMaxText)));
    if (!part || part->header.run != group_.run || part->header.seq != seq_ ||
        part->header.rank != child.rank || part->header.size != group_.size ||
        part->header.count == 0)  // only a sign that the leader is there
        return false;
    child.here = true;
    if (part->header.status) {
        verdict_ = error_of(part->header, part->body);
    } else if (part->header.op_bytes != bytes_ || part->body.size() != into.size()) {
        verdict_ =
            fail_rank(DDS_ERR_MISMATCH, child.rank,
                      "allgather %llu of '%s': rank %d gives "
                      "%zu bytes, rank %d gives %llu",
                      static_cast<unsigned long long>(seq_), group_.ns.c_str(), group_.rank, bytes_,
                      child.rank, static_cast<unsigned long long>(part->header.op_bytes));
    } else if (!into.empty()) {
        std::memcpy(into.data(), part->body.data(), into.size());
    }
    return true;
}

// A part to the rank above, or all to everybody.
Result<void> Gather::pass_on()
{
    DDS_FAILPOINT("comm.file.pass");
    const bool all = group_.rank == 0;
    Header header = make_header(all ? Kind::all : Kind::part, group_.rank, group_.size);
    header.run = group_.run;
    header.seq = seq_;
    header.op_bytes = bytes_;
    header.count = static_cast<uint32_t>(ranks_);
    std::vector<std::byte> text;
    if (verdict_)
        set_error(header, text, *verdict_);
    return group_.write(all ? all_name(group_.space, group_.run, seq_)
                            : part_name(group_.space, group_.run, seq_, group_.rank),
                        header, verdict_ ? text : collected_);
}

Result<Step> Gather::await()
{
    const std::string name = all_name(group_.space, group_.run, seq_);
    const uint64_t total = bytes_ * static_cast<uint64_t>(group_.size);
    DDS_LET(all, group_.read(name, Kind::all, std::max<uint64_t>(total, kMaxText)));
    if (!all || all->header.run != group_.run || all->header.seq != seq_)
        return Step::idle;
    state_ = State::done;
    group_.directory.remove(part_name(group_.space, group_.run, seq_, group_.rank));
    agreed_ = true;
    if (all->header.status)
        return error_of(all->header, all->body);
    if (all->body.size() != total) {
        agreed_ = false;
        return fail(DDS_ERR_CORRUPT, "%s has %zu bytes, not %llu",
                    group_.directory.in_words(name).c_str(), all->body.size(),
                    static_cast<unsigned long long>(total));
    }
    collected_ = std::move(all->body);
    return Step::ended;
}

// A rank that collects has no file of its own yet; one without a body tells whoever looks for
// missing ranks that it is not among them.
Result<void> Gather::mark()
{
    if (marked_ || state_ != State::collecting || pace_.waited() < kMark)
        return {};
    marked_ = true;
    Header header = make_header(Kind::part, group_.rank, group_.size);
    header.run = group_.run;
    header.seq = seq_;
    header.op_bytes = bytes_;
    return group_.write(part_name(group_.space, group_.run, seq_, group_.rank), header, {});
}

Result<void> Gather::rounds()
{
    DDS_TRY(mark());
    if (!pace_.time_for_rounds())
        return {};
    DDS_TRY(group_.directory.still_there());
    group_.directory.list(group_.space + ".", 1);
    DDS_TRY(check_doubt());
    return check_peers();
}

// These names are of this run, so what stays damaged is not left over, and not on its way either.
Result<void> Gather::check_doubt()
{
    const int64_t now = clock::now();
    if (!group_.doubt)
        doubted_ = 0;
    else if (doubted_ == 0)
        doubted_ = now;
    else if (now - doubted_ >= kDoubt)
        return group_.doubt->error;
    return {};
}

// Rank 0 looks after all the ranks that are missing, the others look after rank 0: whoever died on
// this node, or left its communicator, will not come any more.  Twice, since its last file may come
// into sight later than its end.
Result<void> Gather::check_peers()
{
    if (suspect_ >= 0 && gone(suspect_))
        return fail_rank(DDS_ERR_PEER, suspect_,
                         "rank %d died, or left its communicator, before "
                         "exchange %llu of '%s'",
                         suspect_, static_cast<unsigned long long>(seq_), group_.ns.c_str());
    suspect_ = -1;
    if (group_.rank != 0) {
        suspect_ = gone(0) ? 0 : -1;
        return {};
    }
    for (int looked = 0; looked < std::min(kPeers, group_.size) && suspect_ < 0; looked++) {
        suspect_ = gone(next_ % group_.size) ? next_ % group_.size : -1;
        next_ = next_ % group_.size + 1;
    }
    return {};
}

bool Gather::gone(int rank)
{
    if (rank == group_.rank ||
        (rank > 0 && group_.directory.exists(part_name(group_.space, group_.run, seq_, rank))))
        return false;
    if (!group_.directory.exists(hello_name(group_.space, rank)))
        return true;
    const auto hello = group_.read_hello(rank);
    return hello && *hello && life_of((*hello)->hello.process) == Life::dead;
}

std::vector<int> Gather::missing()
{
    std::vector<int> missing;
    std::vector<bool> here(static_cast<size_t>(group_.size));
    for (const Child& child : children_)
        if (child.here)
            std::fill_n(here.begin() + child.rank, child.count, true);
    for (int rank = 0; rank < group_.size; rank++)
        if (rank != group_.rank && !here[static_cast<size_t>(rank)] &&
            !group_.directory.exists(part_name(group_.space, group_.run, seq_, rank)))
            missing.push_back(rank);
    return missing;
}

std::optional<Error> Gather::doubt()
{
    return group_.doubt ? std::optional(group_.doubt->error) : std::nullopt;
}

}  // namespace dds::filecomm
