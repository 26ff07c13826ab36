// The variants of the bare gather that may be the limit, and the best of them for one size of row.
#pragma once

#include <vector>

#include "limit_gather.h"
#include "measure.hpp"

namespace bench {

struct GatherVariant {
    std::string name;  // "avx2 loop, 8192 ahead"
    limit_gather_fn* gather;
    limit_how how;
};

// Worth trying for calls of n rows of this size out of so many shards; all: for a table of everything.
std::vector<GatherVariant> gather_variants(size_t row, int64_t n, int shards, bool all);

// Of calls of one row.
std::vector<Side> one_sides(const limit_shards& shards);

Side gather_side(const GatherVariant& variant, const limit_shards& shards, int64_t n);

}  // namespace bench
