// One rank's life: opens a store with the others, measures, leaves.
#pragma once

#include "options.hpp"

namespace bench {

void run_rank(const Options& options);  // or exits with kFailed

}  // namespace bench
