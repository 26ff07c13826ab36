// A read that was started and not waited for.  Rows of the node are there at once; others come with
// the steps of whoever tests or waits.  It ends by itself at the deadline of reads.
#pragma once

#include <mutex>

#include "store/wire_read.hpp"

namespace dds {

class Request final : public Operation {
public:
    // Ended already: every row was mapped.
    Request() = default;
    // `token` is the store's: whoever steps or ends the request has announced it and seen it live.
    static std::shared_ptr<Request> start(Store& store, uint64_t token,
                                          std::unique_ptr<WireRead> read);

    uint64_t token() const { return token_; }
    Result<Step> step() override;
    Result<void> result();
    bool ended();
    void end(const Error& why);            // abandon it; nothing happens where it has ended
    bool reads(const Variable* variable);  // NULL: any

private:
    void finish_locked(const Error& error);

    std::mutex mutex_;
    uint64_t token_ = 0;
    Store* store_ = nullptr;
    std::unique_ptr<WireRead> read_;  // NULL once ended
    int64_t moved_ = 0;               // when it last did
    Error error_{DDS_SUCCESS, -1, {}};
};

}  // namespace dds
