#include "team.hpp"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace bench {
namespace {

constexpr int kSpins = 20'000;

void futex(std::atomic<uint32_t>& word, int op, uint32_t value)
{
    syscall(SYS_futex, &word, op, value, nullptr, nullptr, 0);
}

}  // namespace

void Team::meet()
{
    std::atomic<uint32_t>& turn = meeting_.turn;
    const uint32_t now = turn.load();
    if (meeting_.arrived.fetch_add(1) + 1 == static_cast<uint32_t>(size_)) {
        meeting_.arrived.store(0);
        turn.fetch_add(1);
        futex(turn, FUTEX_WAKE, INT32_MAX);
        return;
    }
    while (progress_ && turn.load(std::memory_order_acquire) == now) {
        progress_();
        if (!spin_)
            sched_yield();
    }
    for (int i = 0; spin_ && i < kSpins && turn.load(std::memory_order_acquire) == now; i++)
        __builtin_ia32_pause();
    while (turn.load(std::memory_order_acquire) == now)
        futex(turn, FUTEX_WAIT, now);
}

double Team::sum(double mine)
{
    meeting_.lines[me_].number = mine;
    meet();
    double all = 0;
    for (int i = 0; i < size_; i++)
        all += meeting_.lines[i].number;
    meet();  // nobody writes the next number before all have read this one
    return all;
}

int64_t Team::first(int64_t mine)
{
    return static_cast<int64_t>(sum(me_ == 0 ? static_cast<double>(mine) : 0));
}

}  // namespace bench
