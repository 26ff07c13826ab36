// The control page: rounds between threads as ranks, and what they come to when a rank dies, leaves or
// comes late.  Each word is decided once, so every rank must see the same.
#include "node/control.hpp"

#include <algorithm>
#include <atomic>

#include "unit.hpp"

namespace {

using namespace dds;

struct Page {
    int ranks;
    std::vector<std::shared_ptr<Liveness>> liveness;
    std::vector<std::unique_ptr<Control>> controls;

    explicit Page(int n) : ranks(n)
    {
        const size_t bytes = Control::bytes(n);
        Segment page = std::move(*Segment::create("unit-control", bytes, Sharing::write, false));
        for (int i = 0; i < n; i++)
            liveness.push_back(std::make_shared<Liveness>());
        for (int i = 0; i < n; i++) {
            auto peers = liveness;
            peers[static_cast<size_t>(i)] = nullptr;
            Segment own = std::move(*Segment::attach(Fd(dup(page.fd())), bytes, Sharing::write));
            controls.push_back(
                std::make_unique<Control>(std::move(own), i, std::move(peers), false));
        }
    }
    template <class Work>
    void all(Work work, std::vector<int> except = {})
    {
        std::vector<std::thread> threads;
        for (int i = 0; i < ranks; i++)
            if (std::find(except.begin(), except.end(), i) == except.end())
                threads.emplace_back([&, i] { work(*controls[static_cast<size_t>(i)], i); });
        for (auto& thread : threads)
            thread.join();
    }
};

void every_rank_sees_every_word_and_card(void**)
{
    for (const int n : {2, 3, 4, 9}) {
        Page page(n);
        page.all([&](Control& control, int rank) {
            for (int round = 0; round < 300; round++) {
                const int card[2] = {rank, round};
                control.publish({7, 0, static_cast<uint16_t>(round)},
                                std::as_bytes(std::span(card)));
                if (*control.collect(10'000) != Waited::ended)
                    abort();
                for (int i = 0; i < n; i++) {
                    int theirs[2];
                    memcpy(theirs, control.payload(i).data(), sizeof theirs);
                    if (control.word(i).op != 7 || control.word(i).tag != round || theirs[0] != i ||
                        theirs[1] != round)
                        abort();
                }
            }
        });
    }
}

void the_dead_are_given_up_alike(void**)
{
    Page page(4);
    std::thread killer([&] {
        clock::sleep(30 * clock::kMillisecond);
        page.liveness[2]->dead = true;
    });
    page.all(
        [&](Control& control, int) {
            control.publish({1, 0, 0});
            if (*control.collect(10'000) != Waited::ended)
                abort();
            const Control::Word word = control.word(2);
            if (word.op != Control::kGivenUp || word.code != DDS_ERR_PEER ||
                control.word(1).op != 1)
                abort();
        },
        {2});
    killer.join();
}

void a_word_said_before_death_counts(void**)
{
    Page page(3);
    page.controls[2]->publish({1, 0, 0});
    page.liveness[2]->dead = true;
    page.all(
        [&](Control& control, int) {
            control.publish({1, 0, 0});
            if (*control.collect(10'000) != Waited::ended || control.word(2).op != 1)
                abort();
        },
        {2});
}

// The late rank and those who give it up race for its word: one wins, and all see that.
void a_late_rank_comes_in_time_for_all_or_for_none(void**)
{
    for (int i = 0; i < 60; i++) {
        Page page(3);
        std::atomic<int> in_time{0}, too_late{0};
        page.all([&](Control& control, int rank) {
            if (rank == 1)
                clock::sleep((15 + i % 11) * clock::kMillisecond);
            control.publish({1, 0, 0});
            if (*control.collect(rank == 1 ? 10'000 : 20) == Waited::timeout)
                control.give_up(DDS_ERR_TIMEOUT);
            const Control::Word word = control.word(1);
            (word.op == 1 ? in_time : too_late)++;
            if (word.op != 1 && (word.op != Control::kGivenUp || word.code != DDS_ERR_TIMEOUT))
                abort();
        });
        assert_true(in_time == 3 || too_late == 3);
    }
}

void a_rank_that_leaves_is_not_waited_for(void**)
{
    Page page(3);
    std::thread leaver([&] {
        clock::sleep(20 * clock::kMillisecond);
        page.controls[0]->leave();
    });
    const int64_t start = clock::now();
    page.all(
        [&](Control& control, int) {
            control.publish({1, 0, 0});
            if (*control.collect(10'000) != Waited::ended || control.word(0).code != DDS_ERR_PEER)
                abort();
        },
        {0});
    leaver.join();
    assert_true(clock::now() - start < clock::kSecond);
}

}  // namespace

int main()
{
    const CMUnitTest tests[] = {
        cmocka_unit_test(every_rank_sees_every_word_and_card),
        cmocka_unit_test(the_dead_are_given_up_alike),
        cmocka_unit_test(a_word_said_before_death_counts),
        cmocka_unit_test(a_late_rank_comes_in_time_for_all_or_for_none),
        cmocka_unit_test(a_rank_that_leaves_is_not_waited_for),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
