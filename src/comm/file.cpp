// FileComm: processes that share nothing but a directory.
#include <atomic>
#include <cstring>

#include "base/checked.hpp"
#include "base/clock.hpp"
#include "comm/comm.hpp"
#include "comm/file_gather.hpp"
#include "comm/file_meeting.hpp"

namespace dds {
namespace {

// Cut to what fits with our suffixes in a name of 255 bytes.
constexpr size_t kLongestSpace = 200;

class FileComm : public Comm {
public:
    explicit FileComm(Group group)
        : Comm(group.rank, group.size), group_(std::move(group))
    {
    }
    ~FileComm() override { group_.leave(); }
    const char* kind() const override { return "file"; }

    Result<std::unique_ptr<Operation>> start_allgather(std::span<const std::byte> in,
                                                       std::span<std::byte> out, int) override;
    std::vector<int> missing() const override
    {
        return current_ ? current_->missing() : std::vector<int>();
    }
    std::optional<Error> doubt() const override
    {
        return group_.doubt ? std::optional(group_.doubt->error) : std::nullopt;
    }
    void give_up(const Error& why) override
    {
        if (current_ && !broken_) {
            broken_ = true;
            group_.announce(why);
        }
    }
    Group& group() { return group_; }

private:
    class Exchange;
    Group group_;
    uint64_t seq_ = 0;
    Gather* current_ = nullptr;
    bool broken_ = false;
};

// A gather that tells its communicator how it ended.
class FileComm::Exchange : public Operation {
public:
    Exchange(FileComm& comm, std::span<const std::byte> in, std::span<std::byte> out)
        : comm_(comm), gather_(comm.group_, comm.seq_, in, out)
    {
        comm_.current_ = &gather_;
    }
    ~Exchange() override
    {
        if (comm_.current_)
            comm_.give_up(fail_rank(DDS_ERR_PEER, comm_.rank(), "a collective call was left"));
        comm_.current_ = nullptr;
    }
    Result<Step> step() override
    {
        auto step = gather_.step();
        if (gather_.agreed()) {
            comm_.current_ = nullptr;
            comm_.seq_++;
        } else if (!step) {
            comm_.give_up(step.error());
        }
        return step;
    }
    void park(int64_t ns) override { gather_.park(ns); }

private:
    FileComm& comm_;
    Gather gather_;
};

Result<std::unique_ptr<Operation>> FileComm::start_allgather(std::span<const std::byte> in,
                                                             std::span<std::byte> out, int)
{
    if (broken_)
        return fail(DDS_ERR_STATE, "%s: an earlier collective call was not completed",
                    in_words(group_, group_.rank).c_str());
    if (current_)
        return fail(DDS_ERR_STATE, "%s: another collective call is under way",
                    in_words(group_, group_.rank).c_str());
    const auto total = checked_mul<uint64_t>(in.size(), static_cast<uint64_t>(group_.size));
    if (!total || *total > kMaxBody)
        return fail(DDS_ERR_OVERFLOW, "allgather of %zu bytes from each of %d ranks", in.size(),
                    group_.size);
    group_.doubt.reset();
    return std::unique_ptr<Operation>(std::make_unique<Exchange>(*this, in, out));
}

std::array<char, 64> scheduler_job()
{
    std::array<char, 64> job{};
    const char* id = secure_getenv("SLURM_JOB_ID");
    const char* step = secure_getenv("SLURM_STEP_ID");
    if (id && strlen(id) < 30 && (!step || strlen(step) < 30))
        snprintf(job.data(), job.size(), "%s.%s", id, step ? step : "");
    return job;
}

Result<Group> make_group(const std::string& dir, const std::string& ns, int rank, int size)
{
    if (size < 1 || rank < 0 || rank >= size)
        return fail(DDS_ERR_ARG, "rank %d of %d", rank, size);
    const std::string space = encode(ns);
    if (ns.empty() || space.size() > kLongestSpace)
        return fail(DDS_ERR_ARG, "the name of a group of ranks has %zu bytes (%zu when encoded); it "
                    "takes 1 to %zu", ns.size(), space.size(), kLongestSpace);
    Nonce nonce;
    if (!clock::random(nonce.data(), nonce.size()))
        return fail(DDS_ERR_IO, "the system gives no random numbers");
    DDS_LET(directory, Directory::open(dir));
    return Group{std::move(directory), ns, space, rank, size, nonce, this_process(),
                 scheduler_job()};
}

}  // namespace

Result<std::unique_ptr<Comm>> open_file(const std::string& dir, const std::string& ns, int rank,
                                        int size, int timeout_ms)
{
    const auto deadline = clock::Deadline::after_ms(timeout_ms);
    DDS_LET(group, make_group(dir, ns, rank, size));
    auto comm = std::make_unique<FileComm>(std::move(group));
    Meeting meeting(comm->group());
    const Patience patience{.timeout_ms = timeout_ms, .yields = 0,
                            .park_max_ns = 50 * clock::kMillisecond};
    auto met = wait(meeting, patience);
    if (!met) {
        if (met.error().code != DDS_ERR_MISMATCH)
            comm->group().announce(met.error());
        return std::move(met).error();
    }
    if (*met == Waited::interrupted) {
        const Error why = fail_rank(DDS_ERR_INTERRUPTED, rank, "%s was interrupted while it waited "
                                    "for the others", in_words(comm->group(), rank).c_str());
        comm->group().announce(why);
        return why;
    }
    if (*met == Waited::timeout)
        return meeting.overdue(timeout_ms);
    // Nobody returns before everybody has met; then the call has served.
    DDS_TRY(barrier(*comm, deadline.left_ms()));
    if (rank == 0)
        comm->group().directory.remove(call_name(comm->group().space));
    return std::unique_ptr<Comm>(std::move(comm));
}

}  // namespace dds
