// The communicator of one process alone.
#include <cstring>

#include "comm/comm.hpp"

namespace dds {
namespace {

class Nothing : public Operation {
public:
    Result<Step> step() override { return Step::ended; }
};

class SelfComm : public Comm {
public:
    SelfComm() : Comm(0, 1) {}
    const char* kind() const override { return "self"; }

    Result<std::unique_ptr<Operation>> start_allgather(std::span<const std::byte> in,
                                                       std::span<std::byte> out, int) override
    {
        if (!in.empty())
            std::memmove(out.data(), in.data(), in.size());
        return std::unique_ptr<Operation>(std::make_unique<Nothing>());
    }
};

}  // namespace

Result<std::unique_ptr<Comm>> open_self()
{
    return std::unique_ptr<Comm>(std::make_unique<SelfComm>());
}

}  // namespace dds
