// The rows of a collective read that no load reaches: every rank sends the numbers of the rows to
// their owners, and gets the rows, in rounds of bounded size (after MDLoader).
#pragma once

#include <memory>
#include <vector>

#include "plan/rounds.hpp"
#include "store/store.hpp"

namespace dds {

class Exchange {
public:
    // What this rank asks of which rank.  `rows` and `out` stay the caller's; rows must be in range.
    Exchange(Comm& comm, const Node& node, const Variable& variable, size_t most_bytes);
    void ask(int64_t n, const int64_t* rows, std::byte* out);
    // The longest of its streams in rows: the ranks tell each other.
    int64_t longest() const { return longest_; }
    int64_t rows() const { return static_cast<int64_t>(places_.size()); }

    // Collective; `longest` is the most of all ranks.
    Result<void> run(int64_t longest, int64_t timeout_ms);

private:
    struct Sides;
    struct Memory;

    void reserve();
    Result<void> pack(int64_t round, Sides& serve) const;
    void scatter(int64_t round, const Sides& ask) const;
    Result<void> move(const Comm::Parts& from, const Comm::Parts& to,
                      const std::shared_ptr<void>& keep, int64_t timeout_ms);

    Comm& comm_;
    const Node& node_;
    const Variable& variable_;
    Rounds rounds_;
    std::byte* out_ = nullptr;
    int64_t longest_ = 0;
    std::shared_ptr<Memory> memory_;  // what is sent and received
    std::vector<int64_t> begin_;      // a rank: where its stream begins in the next two
    std::vector<int64_t> locals_;     // rows within their shards, by owner
    std::vector<int64_t> places_;     // of the same numbers: where they go in `out`
};

}  // namespace dds
