// Test builds only: a wire over shared memory whose N-th run fails, so that every error path of a
// read is walked before there is a real wire.  DDSTORE_TEST_WIRE=fault:N, counted from 1; 0: never.
#include <cstdlib>

#include "transport/shm.hpp"

namespace dds {
namespace {

class Fault final : public Shm {
public:
    Fault(const TransportConfig& config, long nth) : Shm(config), nth_(nth) {}

    const char* name() const override { return "test fault"; }
    int path() const override { return DDS_PATH_FABRIC; }
    Result<void> post(Batch&) override { return {}; }

    bool progress(Batch& batch) override
    {
        if (batch.done())
            return true;
        Run& run = batch.runs[batch.ended];
        if (++count_ == nth_) {
            batch.fail_run(run,
                           fail_rank(DDS_ERR_IO, static_cast<int>(run.from.peer),
                                     "rank %u: run %ld was made to fail", run.from.peer, nth_));
        } else {
            copy(run);
            batch.end(run, DDS_SUCCESS);
        }
        return batch.done();
    }

private:
    const long nth_;
    std::atomic<long> count_{0};
};

}  // namespace

Result<std::unique_ptr<Transport>> open_fault(const TransportConfig& config)
{
    return std::unique_ptr<Transport>(
        std::make_unique<Fault>(config, strtol(config.argument, nullptr, 10)));
}

}  // namespace dds
