// Views of shards that the program holds (dds_local): each keeps its arena open, past the variable's
// drop and the store's free, until it is given back.
#pragma once

#include <cstddef>

#include "memory/arena.hpp"

namespace dds::views {

void add(const void* data, const std::shared_ptr<Arena>& arena);  // NULL: the caller's own memory
bool remove(const void* data);                                    // false: no such view
size_t parked_bytes();  // memory of freed stores that views hold

}  // namespace dds::views
