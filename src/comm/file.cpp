// FileComm: processes that share nothing but a directory.
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/checked.hpp"
#include "base/clock.hpp"
#include "comm/comm.hpp"
#include "comm/file_gather.hpp"
#include "comm/file_meeting.hpp"
#include "comm/helper.hpp"
#include "comm/watched.hpp"
#include "comm/words.hpp"

namespace dds {
namespace {

using namespace filecomm;

constexpr size_t kLongestSpace = 200;  // with our suffixes a name still has at most 255 bytes

// The last thing that a rank does.
class Leaving : public Task {
public:
    explicit Leaving(std::shared_ptr<Group> group) : group_(std::move(group)) {}
    Result<Step> step() override
    {
        group_->leave();
        return Step::ended;
    }
    int64_t nap() override { return 0; }

private:
    std::shared_ptr<Group> group_;
};

class FileComm : public Comm {
public:
    explicit FileComm(std::shared_ptr<Group> group)
        : Comm(group->rank, group->size), group_(std::move(group))
    {
    }
    ~FileComm() override
    {
        // A forked child leaves its parent's files alone; a wedged helper still works on them.
        if (group_->process.pid != getpid() || stuck_)
            return;
        if (const auto leaving = Helper::start(std::make_shared<Leaving>(group_)))
            (*leaving)->finish();
        else
            group_->leave();
    }
    const char* kind() const override { return "file"; }

    Result<std::unique_ptr<Operation>> start_allgather(std::span<const std::byte> in,
                                                       std::span<std::byte> out, int) override;
    std::vector<int> missing() const override;
    std::optional<Error> doubt() const override { return doubt_; }
    void give_up(const Error& why) override;

    Result<void> meet(int timeout_ms);

private:
    class Exchange;
    const std::shared_ptr<Group> group_;
    uint64_t seq_ = 0;
    Helper* current_ = nullptr;  // the exchange that is under way
    mutable std::optional<Error> doubt_;
    bool broken_ = false, stuck_ = false;
};

// A gather that works on copies, and tells its communicator how it ended.
class FileComm::Exchange : public Operation {
public:
    Exchange(FileComm& comm, std::shared_ptr<Gather> gather, std::unique_ptr<Helper> helper,
             std::span<std::byte> out)
        : comm_(comm), gather_(std::move(gather)), helper_(std::move(helper)), out_(out)
    {
        comm_.current_ = helper_.get();
    }
    ~Exchange() override
    {
        if (comm_.current_)
            comm_.give_up(fail_rank(DDS_ERR_PEER, comm_.rank(), "a collective call was left"));
    }
    Result<Step> step() override
    {
        auto step = helper_->step();
        if (step && *step != Step::ended)
            return step;
        if (!gather_->agreed()) {
            comm_.give_up(step.error());
            return step;
        }
        comm_.current_ = nullptr;
        comm_.seq_++;
        if (step && !out_.empty())
            std::memcpy(out_.data(), gather_->result().data(), out_.size());
        return step;
    }
    void park(int64_t ns) override { helper_->park(ns); }

private:
    FileComm& comm_;
    std::shared_ptr<Gather> gather_;
    std::unique_ptr<Helper> helper_;
    std::span<std::byte> out_;
};

Result<std::unique_ptr<Operation>> FileComm::start_allgather(std::span<const std::byte> in,
                                                             std::span<std::byte> out, int)
{
    if (broken_)
        return fail(DDS_ERR_STATE, "%s: an earlier collective call was not completed",
                    in_words(*group_, rank()).c_str());
    if (current_)
        return fail(DDS_ERR_STATE, "%s: another collective call is under way",
                    in_words(*group_, rank()).c_str());
    const auto total = checked_mul<uint64_t>(in.size(), static_cast<uint64_t>(size()));
    if (!total || *total > kMaxBody)
        return fail(DDS_ERR_OVERFLOW, "allgather of %zu bytes from each of %d ranks", in.size(),
                    size());
    doubt_.reset();
    auto gather = std::make_shared<Gather>(group_, seq_, in);
    DDS_LET(helper, Helper::start(gather));
    return std::unique_ptr<Operation>(
        std::make_unique<Exchange>(*this, std::move(gather), std::move(helper), out));
}

std::vector<int> FileComm::missing() const
{
    if (!current_)
        return {};
    auto report = current_->report();
    if (!report)
        return {};
    doubt_ = std::move(report->doubt);
    return std::move(report->missing);
}

void FileComm::give_up(const Error& why)
{
    if (!current_)
        return;
    broken_ = true;
    stuck_ = !current_->give_up(why);
    current_ = nullptr;
}

Result<void> FileComm::meet(int timeout_ms)
{
    DDS_LET(helper, Helper::start(std::make_shared<Meeting>(group_)));
    const std::string who = in_words(*group_, rank());
    const auto whom = [&] {
        const auto report = helper->report();
        return report ? ranks_in_words(report->missing)
                      : std::string("unknown, the file system does not answer");
    };
    Watched watched(*helper, who.c_str(), whom);
    auto met = wait(
        watched, {.timeout_ms = timeout_ms, .yields = 0, .park_max_ns = 50 * clock::kMillisecond});
    if (!met)
        return std::move(met).error();
    if (*met == Waited::ended)
        return {};
    Error why = fail_rank(DDS_ERR_INTERRUPTED, rank(),
                          "%s was interrupted while it waited for the "
                          "others",
                          who.c_str());
    if (*met == Waited::timeout) {
        const auto report = helper->report();
        const std::string text =
            !report ? "unknown, the file system does not answer" : ranks_in_words(report->missing);
        why = fail_rank(DDS_ERR_TIMEOUT,
                        report && !report->missing.empty() ? report->missing.front() : -1,
                        "%s waited %g s for the others; missing: %s", who.c_str(),
                        timeout_ms / 1000.0, text.c_str());
        if (report && report->doubt) {
            why.code = report->doubt->code;
            why.text += "; " + report->doubt->text;
        }
    }
    stuck_ = !helper->give_up(why);
    return why;
}

// The scheduler's job and step: ranks of two jobs do not meet.
std::array<char, 64> scheduler_job()
{
    std::array<char, 64> job{};
    const char* id = secure_getenv("SLURM_JOB_ID");
    const char* step = secure_getenv("SLURM_STEP_ID");
    if (id && strlen(id) < 30 && (!step || strlen(step) < 30))
        snprintf(job.data(), job.size(), "%s.%s", id, step ? step : "");
    return job;
}

}  // namespace

Result<std::unique_ptr<Comm>> open_file(const std::string& dir, const std::string& ns, int rank,
                                        int size, int timeout_ms)
{
    const auto deadline = clock::Deadline::after_ms(timeout_ms);
    if (size < 1 || rank < 0 || rank >= size)
        return fail(DDS_ERR_ARG, "rank %d of %d", rank, size);
    const std::string space = encode(ns);
    if (ns.empty() || space.size() > kLongestSpace)
        return fail(DDS_ERR_ARG,
                    "the name of a group of ranks has %zu bytes (%zu when encoded); it "
                    "takes 1 to %zu",
                    ns.size(), space.size(), kLongestSpace);
    Nonce nonce;
    if (!clock::random(nonce.data(), nonce.size()))
        return fail(DDS_ERR_IO, "the system gives no random numbers");
    auto group = std::make_shared<Group>(Group{.path = dir,
                                               .ns = ns,
                                               .space = space,
                                               .rank = rank,
                                               .size = size,
                                               .nonce = nonce,
                                               .process = this_process(),
                                               .job = scheduler_job()});
    auto comm = std::make_unique<FileComm>(group);
    DDS_TRY(comm->meet(timeout_ms));
    // Nobody returns before everybody has met; then the call has served, and the first exchange of
    // rank 0 has taken it away.
    DDS_TRY(barrier(*comm, deadline.left_ms()));
    return std::unique_ptr<Comm>(std::move(comm));
}

}  // namespace dds
