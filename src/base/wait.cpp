#include "base/wait.hpp"

#include <sched.h>

#include <algorithm>
#include <atomic>

#include "base/clock.hpp"
#include "base/readers.hpp"

namespace dds {
namespace {

constexpr int64_t kAsk =
    50 * clock::kMillisecond;  // the interrupt check's period, half the promise

struct Interrupt {
    int (*check)(void*);
    void* ctx;
};
// Two slots in turns, so that a check that is being asked stays whole while another is set.
Interrupt interrupts[2];
std::atomic<Interrupt*> interrupt{nullptr};

}  // namespace

void set_interrupt(int (*check)(void*), void* ctx)
{
    Interrupt* next = interrupt.load() == &interrupts[0] ? &interrupts[1] : &interrupts[0];
    *next = {check, ctx};
    interrupt.store(check ? next : nullptr, std::memory_order_release);
}

bool interrupted()
{
    const Interrupt* now = interrupt.load(std::memory_order_acquire);
    if (!now)
        return false;
    const Readers::Hold hold;  // the check may call the library again
    return now->check(now->ctx) != 0;
}

void Operation::park(int64_t ns) { clock::sleep(ns); }

Result<Waited> wait(Operation& operation, const Patience& patience)
{
    const int64_t timeout = patience.timeout_ms * clock::kMillisecond;
    int64_t deadline = 0, asked = 0;  // no clock is read before the first yield
    int64_t nap = 20'000;
    for (int round = 0;; round++) {
        DDS_LET(step, operation.step());
        if (step == Step::ended)
            return Waited::ended;
        if (step == Step::moved) {
            round = 0;
            nap = 20'000;
            if (patience.stall)
                deadline = 0;
        }
        if (round < patience.spins && step == Step::idle) {
            __builtin_ia32_pause();
            continue;
        }
        const int64_t now = clock::now();
        if (deadline == 0) {
            deadline = now + timeout;
            asked = asked ? asked : now;
        }
        if (now - asked >= kAsk) {
            asked = now;
            if (interrupted())
                return Waited::interrupted;
        }
        if (now >= deadline)
            return Waited::timeout;
        if (step == Step::moved)
            continue;  // there is work: the processor is not given away between two pieces of it
        if (round < patience.spins + patience.yields) {
            sched_yield();
            continue;
        }
        operation.park(std::min({nap, deadline - now, kAsk, patience.park_max_ns}));
        nap = std::min(2 * nap, patience.park_max_ns);
    }
}

}  // namespace dds
