// The limit of reading rows over libfabric: bare pipelined fi_read of the provider that the library
// chose, on the very memory that the library reads, with the best window, from targets that block or
// that poll.
#pragma once

#include <memory>
#include <vector>

#include "measure.hpp"
#include "variable.hpp"

namespace bench {

class FabricLimit {
public:
    // Collective.  Exits where the program was built without libfabric's headers, or there is none.
    static std::unique_ptr<FabricLimit> make(Rank& rank, const Variable& variable);
    virtual ~FabricLimit() = default;  // collective
    // For one thread.
    virtual std::vector<Side> sides(int64_t n) = 0;
};

}  // namespace bench
