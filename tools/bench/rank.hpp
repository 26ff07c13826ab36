// One rank's life: opens a store with the others, measures, leaves.
#pragma once

#include "options.hpp"

namespace bench {

int run_rank(const Options& options);  // the exit status

}  // namespace bench
