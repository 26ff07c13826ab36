// Work on files in a thread of its own: a file system that does not answer (a hard NFS mount) holds
// up that thread and not the caller, who still keeps its deadline.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "base/wait.hpp"

namespace dds::filecomm {

// What a helper works on.  It owns all that it touches, and is let go when both sides are done.
class Task {
public:
    virtual ~Task() = default;
    virtual Result<Step> step() = 0;  // like an Operation's
    virtual int64_t nap() = 0;        // ns until the next step after one that was idle

    virtual std::vector<int> missing() { return {}; }
    virtual std::optional<Error> doubt() { return std::nullopt; }
    virtual void give_up(const Error& why) { static_cast<void>(why); }
};

class Helper : public Operation {
public:
    static Result<std::unique_ptr<Helper>> start(std::shared_ptr<Task> task);
    ~Helper() override;  // lets the thread go

    Result<Step> step() override;  // has it ended?
    void park(int64_t ns) override;

    // Answers of the thread between two steps; it gets a second to give them.
    struct Report {
        std::vector<int> missing;
        std::optional<Error> doubt;
    };
    std::optional<Report> report();
    // False where it did not come to it: it may still touch the task.
    bool give_up(const Error& why);
    bool finish();  // wait for the end

private:
    struct Shared;
    explicit Helper(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}
    static void* run(void* shared);
    std::shared_ptr<Shared> shared_;
};

}  // namespace dds::filecomm
