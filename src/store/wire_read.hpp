// A read of which some rows need a transport: its runs are posted first, rows that are mapped are
// copied while they fly, and steps move it to its end.
#pragma once

#include "plan/runs.hpp"
#include "store/store.hpp"

namespace dds {

// Copy those of n rows, which are in range, that are mapped; each to its place in `out`.
struct Copied {
    int64_t own = 0, others = 0;
};
Copied copy_mapped(const Variable& v, int64_t n, const int64_t* rows, std::byte* out);

class WireRead final : public Operation {
public:
    // Rows must be in range and `out` must hold them; `rows`, `out` and `status` (one code a row, or
    // NULL) stay the caller's and untouched until the end.
    static Result<std::unique_ptr<WireRead>> start(Store& store, std::shared_ptr<Variable> variable,
                                                   int64_t n, const int64_t* rows, std::byte* out,
                                                   int32_t* status);
    static Result<std::unique_ptr<WireRead>> start_range(Store& store,
                                                         std::shared_ptr<Variable> variable,
                                                         int64_t first, int64_t nrows,
                                                         std::byte* out);
    ~WireRead() override;

    Result<Step> step() override;  // never fails: the end has the result
    void park(int64_t ns) override;
    bool ended() const { return ended_; }
    // Rows that are not there get `why`, which tells where something may still land in `out`.
    void abandon(const Error& why);
    void time_out();                                // abandon for the deadline of reads
    const Error& result() const { return error_; }  // code DDS_SUCCESS: all rows are there
    const Variable& variable() const { return *variable_; }

    // How long it may go on without progress: the store's deadline of reads, or that of collective
    // calls where an owner must call the library to serve it.
    int64_t patience_ms() const;
    // To the end, under that deadline.
    Result<void> finish();

private:
    struct Part {
        Transport* transport;
        Batch batch;
        std::vector<WireRun> runs;  // of the same numbers
        bool done = false;
    };

    WireRead(Store& store, std::shared_ptr<Variable> variable, int64_t n, int32_t* status);
    Part& part_for(Transport& transport);
    Result<void> post(const std::vector<WireRun>& runs, std::byte* out);
    void conclude();
    bool timed() const { return variable_->mapped.profiled; }
    void note();           // what it took, for dds_profile
    bool patient() const;  // some owner must call the library to serve us
    std::vector<uint8_t> wired() const;

    Store& store_;
    std::shared_ptr<Variable> variable_;
    int64_t n_;
    int32_t* status_;
    std::vector<Part> parts_;
    Copied copied_;
    bool ended_ = false;
    int parks_ = 0;
    int64_t post_ns_ = 0, complete_ns_ = 0;  // where timed()
    Error error_{DDS_SUCCESS, -1, {}};
};

}  // namespace dds
