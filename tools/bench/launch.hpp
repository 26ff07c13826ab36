// Starts the ranks, as copies of this program, and cleans up after them.
#pragma once

#include "options.hpp"

namespace bench {

// The exit status.
int launch(const Options& options, int argc, char** argv);

}  // namespace bench
