// The limit of adding rows: memory that others can map is made, its pages come up, the rows are
// copied into it.
#pragma once

#include <string>
#include <vector>

#include "measure.hpp"

namespace bench {

struct AddVariant {
    std::string name;
    int threads;
    bool populate;  // page faults in one call before the copy, not one by one in it
};
std::vector<AddVariant> add_variants(int cores);

// Seconds for one shard of `bytes` at `data`; the memory is given back after the clock stops.
double add_limit(const AddVariant& variant, const char* data, size_t bytes, bool huge);

}  // namespace bench
