// Test builds only: a wire over shared memory whose runs land one after another, MS milliseconds
// apart, so that deadlines, stalls and cancelling are walked.  DDSTORE_TEST_WIRE=slow:MS.
#include <cstdlib>

#include "base/clock.hpp"
#include "transport/shm.hpp"

namespace dds {
namespace {

class Slow final : public Shm {
public:
    Slow(const TransportConfig& config, int64_t ms) : Shm(config), gap_(ms * clock::kMillisecond) {}

    const char* name() const override { return "test slow"; }
    int path() const override { return DDS_PATH_FABRIC; }

    Result<void> post(Batch& batch) override
    {
        auto timer = std::make_unique<Timer>();
        timer->next = clock::now() + gap_;
        batch.state = std::move(timer);
        return {};
    }

    bool progress(Batch& batch) override
    {
        auto& timer = *static_cast<Timer*>(batch.state.get());
        while (!batch.done() && clock::now() >= timer.next) {
            Run& run = batch.runs[batch.ended];
            copy(run);
            batch.end(run, DDS_SUCCESS);
            timer.next += gap_;
        }
        return batch.done();
    }

private:
    struct Timer final : Batch::State {
        int64_t next = 0;
    };
    const int64_t gap_;
};

}  // namespace

Result<std::unique_ptr<Transport>> open_slow(const TransportConfig& config)
{
    return std::unique_ptr<Transport>(
        std::make_unique<Slow>(config, strtol(config.argument, nullptr, 10)));
}

}  // namespace dds
