// Who is reading now: whoever takes something away waits for the uses that were there, wherever they
// are held, and for no later one.
#include "base/readers.hpp"

#include <atomic>

#include "unit.hpp"

namespace {

using namespace dds;

constexpr uint64_t kToken = 0x12345679, kOther = 0x87654321;  // bit 1 is for the idle
constexpr int64_t kSoon = 20 * clock::kMillisecond;

// A thread that does as told, step by step.
class Thread {
public:
    template <class Work>
    explicit Thread(Work work) : thread_([this, work] { work(*this); })
    {
    }
    ~Thread() { thread_.join(); }

    void reach(int step)
    {
        step_ = step;
        while (allowed_ < step)
            std::this_thread::yield();
    }
    void meet(int step) const
    {
        while (step_ < step)
            std::this_thread::yield();
    }
    void pass(int step) { allowed_ = step; }

private:
    std::atomic<int> step_{0}, allowed_{0};
    std::thread thread_;
};

void a_use_is_waited_for_until_it_ends(void**)
{
    Thread reader([](Thread& self) {
        Readers::announce(Readers::mine(), kToken);
        self.reach(1);
        Readers::withdraw(Readers::mine());
        self.reach(2);
    });
    reader.meet(1);
    assert_false(Readers::wait_for(kToken, kSoon));
    assert_true(Readers::wait_for(kOther, kSoon));
    reader.pass(1);
    reader.meet(2);
    assert_true(Readers::wait_for(kToken, kSoon));
    reader.pass(2);
}

void uses_that_begin_later_are_not_waited_for(void**)
{
    Thread reader([](Thread& self) {
        Readers::announce(Readers::mine(), kToken);
        self.reach(1);
        Readers::announce(Readers::mine(), kToken);
        self.reach(2);
        Readers::withdraw(Readers::mine());
    });
    reader.meet(1);
    Readers::Leaving leaving(kToken, false);
    assert_false(leaving.gone());
    reader.pass(1);
    reader.meet(2);
    assert_true(leaving.gone());
    reader.pass(2);
}

void a_use_around_a_callback_counts_whatever_the_callback_reads(void**)
{
    Thread reader([](Thread& self) {
        Reader* mine = Readers::mine();
        Readers::announce(mine, kToken);
        {
            const Readers::Hold hold;
            self.reach(1);
            Readers::announce(mine, kToken);  // a later use, which ends before the one that is held
            self.reach(2);
            Readers::withdraw(mine);
            self.reach(3);
        }
        self.reach(4);
        Readers::withdraw(mine);
        self.reach(5);
    });
    reader.meet(1);
    Readers::Leaving leaving(kToken, false);
    for (int step = 1; step <= 4; step++) {
        reader.meet(step);
        assert_false(leaving.gone());
        reader.pass(step);
    }
    reader.meet(5);
    assert_true(leaving.gone());
    reader.pass(5);
}

void a_use_that_moves_is_never_missed(void**)
{
    std::atomic<bool> stop{false}, missed{false};
    Thread reader([&](Thread& self) {
        Readers::announce(Readers::mine(), kToken);
        self.reach(1);
        while (!stop)
            const Readers::Hold hold;
        Readers::withdraw(Readers::mine());
    });
    reader.meet(1);
    reader.pass(1);
    for (const int64_t end = clock::now() + clock::kSecond / 2; clock::now() < end;)
        missed = missed || Readers::wait_for(kToken, clock::kMillisecond / 10);
    stop = true;
    assert_false(missed);
}

void an_idle_use_counts_for_those_who_take_all(void**)
{
    Thread reader([](Thread& self) {
        Readers::announce(Readers::mine(), kToken);
        {
            const Readers::Idle idle;
            self.reach(1);
        }
        self.reach(2);
        Readers::withdraw(Readers::mine());
    });
    reader.meet(1);
    Readers::Leaving all(kToken, true), touching(kToken, false);
    assert_true(touching.gone());
    assert_false(all.gone());
    reader.pass(1);
    reader.meet(2);
    assert_false(all.gone());
    assert_false(Readers::Leaving(kToken, false).gone());
    reader.pass(2);
}

void a_use_that_is_held_here_is_not_waited_for_in_vain(void**)
{
    Reader* mine = Readers::mine();
    Readers::announce(mine, kToken);
    assert_false(Readers::held_here(kToken));
    {
        const Readers::Hold hold;
        assert_true(Readers::held_here(kToken));
        const int64_t begin = clock::now();
        assert_false(Readers::wait_for(kToken, 10 * clock::kSecond));
        assert_true(clock::now() - begin < clock::kSecond);
    }
    Readers::withdraw(mine);
}

void more_threads_than_a_chunk_has_slots_are_all_seen(void**)
{
    constexpr int kThreads = 100;
    std::vector<std::unique_ptr<Thread>> threads;
    for (int i = 0; i < kThreads; i++) {
        threads.push_back(std::make_unique<Thread>([](Thread& self) {
            Readers::announce(Readers::mine(), kToken);
            self.reach(1);
            Readers::withdraw(Readers::mine());
        }));
        threads.back()->meet(1);
    }
    while (threads.size() > 1) {
        threads.front()->pass(1);
        threads.erase(threads.begin());
        assert_false(Readers::wait_for(kToken, 0));
    }
    threads.front()->pass(1);
    threads.clear();
    assert_true(Readers::wait_for(kToken, kSoon));
}

}  // namespace

int main()
{
    const CMUnitTest tests[] = {
        cmocka_unit_test(a_use_is_waited_for_until_it_ends),
        cmocka_unit_test(uses_that_begin_later_are_not_waited_for),
        cmocka_unit_test(a_use_around_a_callback_counts_whatever_the_callback_reads),
        cmocka_unit_test(a_use_that_moves_is_never_missed),
        cmocka_unit_test(an_idle_use_counts_for_those_who_take_all),
        cmocka_unit_test(a_use_that_is_held_here_is_not_waited_for_in_vain),
        cmocka_unit_test(more_threads_than_a_chunk_has_slots_are_all_seen),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
