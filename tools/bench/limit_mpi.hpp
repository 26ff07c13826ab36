// The limit of reading rows over MPI: bare MPI_Get and MPI_Win_flush, or MPI_Rget and MPI_Waitall, on
// a window over the very memory that the library reads, under one lock for all.
#pragma once

#include <memory>

#include "measure.hpp"

namespace bench {

struct MpiShards {
    const int64_t* first;  // as in limit_shards
    int ranks, me;
    size_t row;
    const char* own;  // own + g * row is row g, for the rows of this rank
};

class MpiWindow {
public:
    static std::unique_ptr<MpiWindow> make(const MpiShards& shards);  // collective
    virtual ~MpiWindow() = default;                                   // collective
    // For one thread.
    virtual std::vector<Side> sides(int64_t n) const = 0;
};

}  // namespace bench
