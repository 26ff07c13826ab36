// The caller's own allgather: torch.distributed, PMIx, threads.  Its step blocks, in the thread that
// is inside a dds_ call; how long is the callback's promise.
#include <cstdint>
#include <cstring>

#include "base/readers.hpp"
#include "comm/comm.hpp"

namespace dds {
namespace {

class CustomComm : public Comm {
public:
    CustomComm(const dds_comm_ops_t& ops, void* ctx)
        : Comm(ops.rank, ops.size), allgather_(ops.allgather), free_(ops.free), ctx_(ctx)
    {
    }
    ~CustomComm() override
    {
        if (!free_)
            return;
        const Readers::Hold hold;
        free_(ctx_);
    }
    const char* kind() const override { return "custom"; }

    Result<std::unique_ptr<Operation>> start_allgather(std::span<const std::byte> in,
                                                       std::span<std::byte> out,
                                                       int timeout_ms) override;

private:
    class Call;
    int (*allgather_)(void*, const void*, size_t, void*, int);
    void (*free_)(void*);
    void* ctx_;
    bool broken_ = false;  // an allgather failed or was left: the ranks are out of step
};

class CustomComm::Call : public Operation {
public:
    Call(CustomComm& comm, std::span<const std::byte> in, std::span<std::byte> out, int timeout_ms)
        : comm_(comm), in_(in), out_(out), timeout_ms_(timeout_ms)
    {
        comm_.broken_ = true;  // until it ended
    }

    Result<Step> step() override
    {
        // An allgather of nothing may return without waiting; a barrier is one byte from each.
        if (in_.empty()) {
            const std::byte mine{};
            std::vector<std::byte> all(static_cast<size_t>(comm_.size()));
            return call(&mine, 1, all.data());
        }
        return call(in_.data(), in_.size(), out_.data());
    }

private:
    Result<Step> call(const std::byte* in, size_t bytes, std::byte* out)
    {
        int code;
        {
            const Readers::Hold hold;
            code = comm_.allgather_(comm_.ctx_, in, bytes, out, timeout_ms_);
        }
        if (code == DDS_ERR_TIMEOUT)
            return fail(code, "the custom communicator's allgather took more than %d ms",
                        timeout_ms_);
        if (code < DDS_SUCCESS || code > DDS_ERR_INTERNAL)
            return fail(DDS_ERR_IO,
                        "the custom communicator's allgather returned %d, which is "
                        "none of DDS_ERR_*",
                        code);
        if (code)
            return fail(code, "the custom communicator's allgather failed with code %d", code);
        comm_.broken_ = false;
        return Step::ended;
    }

    CustomComm& comm_;
    std::span<const std::byte> in_;
    std::span<std::byte> out_;
    int timeout_ms_;
};

Result<std::unique_ptr<Operation>> CustomComm::start_allgather(std::span<const std::byte> in,
                                                               std::span<std::byte> out,
                                                               int timeout_ms)
{
    if (broken_)
        return fail(DDS_ERR_STATE, "the custom communicator: an earlier allgather was not "
                                   "completed");
    return std::unique_ptr<Operation>(std::make_unique<Call>(*this, in, out, timeout_ms));
}

// A struct of a later release may be longer: what we do not know of it must be zero.
Result<void> check_size(const dds_comm_ops_t& ops)
{
    if (ops.struct_size < sizeof ops)
        return fail(DDS_ERR_ARG,
                    "dds_comm_ops_t: struct_size is %u, at least %zu is needed (set it "
                    "with DDS_COMM_OPS_INIT)",
                    ops.struct_size, sizeof ops);
    // No release will be that long: the field was never set, and the bytes are not there to read.
    if (ops.struct_size > 64 * sizeof ops)
        return fail(DDS_ERR_ARG, "dds_comm_ops_t: struct_size is %u", ops.struct_size);
    const auto* bytes = reinterpret_cast<const unsigned char*>(&ops);
    for (size_t i = sizeof ops; i < ops.struct_size; i++)
        if (bytes[i] != 0)
            return fail(DDS_ERR_UNSUPPORTED,
                        "dds_comm_ops_t: byte %zu is set, which this release "
                        "does not know",
                        i);
    return {};
}

}  // namespace

Result<std::unique_ptr<Comm>> open_custom(const dds_comm_ops_t& ops, void* ctx)
{
    DDS_TRY(check_size(ops));
    if (ops.flags)
        return fail(DDS_ERR_ARG, "dds_comm_ops_t: unknown flags %#x", ops.flags);
    if (ops.size < 1 || ops.rank < 0 || ops.rank >= ops.size)
        return fail(DDS_ERR_ARG, "dds_comm_ops_t: rank %d of %d", ops.rank, ops.size);
    if (!ops.allgather)
        return fail(DDS_ERR_ARG, "dds_comm_ops_t: allgather is NULL");
    return std::unique_ptr<Comm>(std::make_unique<CustomComm>(ops, ctx));
}

}  // namespace dds
