// The one wait.  Nothing else in the library blocks: an operation is a step that never waits, and
// this turns it into a blocking call that keeps a deadline and asks the interrupt check.
#pragma once

#include <cstdint>

#include "base/result.hpp"

namespace dds {

enum class Step {
    ended,
    moved,  // not ended, but something happened: re-arms a stall deadline
    idle,
};

class Operation {
public:
    virtual ~Operation() = default;
    virtual Result<Step> step() = 0;
    // Sleep until a step may find something, at most `ns`.  The default just sleeps.
    virtual void park(int64_t ns);
};

struct Patience {
    int64_t timeout_ms;
    bool stall = false;               // the deadline counts from the last step that moved
    int spins = 0;                    // steps with a pause between
    int yields = 50;                  // then steps with sched_yield between; then park
    int64_t park_max_ns = 1'000'000;  // of one park; it doubles up to this
};

enum class Waited { ended, timeout, interrupted };

// Steps until the operation ended, failed, or the patience did.  Asks the interrupt check at least
// every 100 ms.  Timeouts and interrupts are told, not worded: the caller knows what was awaited.
Result<Waited> wait(Operation& operation, const Patience& patience);

// The interrupt check of dds_set_interrupt, now: true if it says stop.
void set_interrupt(int (*check)(void*), void* ctx);
bool interrupted();

}  // namespace dds
