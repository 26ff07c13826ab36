// What stands for a transport that cannot be had: a read says why.
#include "transport/registry.hpp"

namespace dds {
namespace {

class Unreachable final : public Transport {
public:
    explicit Unreachable(const TransportConfig& config) : why_(config.argument) {}

    const char* name() const override { return "none"; }
    int path() const override { return DDS_PATH_SELF; }
    bool reads_own_memory() const override { return true; }

    Result<void> expose(uint32_t, const Block&, Key&) override { return {}; }
    Result<void> expose(uint32_t, std::span<const std::byte>, Key&) override { return {}; }
    Result<void> attach(std::span<const Attach>, int64_t) override { return {}; }
    bool attached(uint32_t, uint32_t) const override { return true; }
    void detach(uint32_t, uint32_t) override {}

    Result<void> post(Batch& batch) override
    {
        const int rank = static_cast<int>(batch.runs.front().from.peer);
        return fail_rank(DDS_ERR_UNSUPPORTED, rank, "rows of rank %d: %s", rank, why_.c_str());
    }
    bool progress(Batch&) override { return true; }
    void abandon(Batch&) override {}

private:
    std::string why_;
};

}  // namespace

std::unique_ptr<Transport> unreachable(const char* why)
{
    return std::make_unique<Unreachable>(TransportConfig{nullptr, 0, why});
}

}  // namespace dds
