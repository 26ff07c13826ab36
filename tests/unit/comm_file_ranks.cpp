// FileComm where ranks are missing, too many, dead or out of step: who is told what, and when.
#include <signal.h>

#include <algorithm>

#include "base/log.hpp"
#include "ranks.hpp"

namespace {

using dds::Comm;
using dds::Error;
using dds::Result;
using unit::Scratch;

void sizes_of_the_group_that_differ_are_a_mismatch_everywhere(void**)
{
    const Scratch scratch;
    const auto outcomes = unit::in_processes(3, [&](int rank) {
        return unit::with_comm(scratch.path(), "s0", rank, rank == 2 ? 4 : 3, 10'000,
                               [](Comm&) { return Result<void>(); });
    });
    unit::assert_all(outcomes, DDS_ERR_MISMATCH);
    for (const auto& outcome : outcomes) {
        assert_true(outcome.seconds < 5);
        unit::assert_says(outcome.text, "rank 0 says 3 ranks");
    }
    unit::assert_empty(scratch);
}

// Rank 0 expects nobody with the rank of some of these.
void a_rank_beyond_the_size_that_rank_0_says_learns_it(void**)
{
    const Scratch scratch;
    const auto outcomes = unit::in_processes(4, [&](int rank) {
        return unit::with_comm(scratch.path(), "s0", rank, rank < 2 ? 3 : 4, 10'000,
                               [](Comm&) { return Result<void>(); });
    });
    unit::assert_all(outcomes, DDS_ERR_MISMATCH);
    for (const auto& outcome : outcomes)
        assert_true(outcome.seconds < 5);
}

void a_rank_that_is_claimed_twice_is_a_mismatch_on_both_and_the_others(void**)
{
    for (const auto& ranks :
         {std::vector{0, 1, 1}, std::vector{0, 0, 1}, std::vector{0, 0}, std::vector{1, 2, 2}}) {
        const Scratch scratch;
        const int size = ranks.back() == 2 ? 3 : ranks.size() == 3 ? 3 : 2;
        const double begun = unit::now();
        const auto outcomes = unit::in_processes(static_cast<int>(ranks.size()), [&](int at) {
            return unit::with_comm(scratch.path(), "s0", ranks[static_cast<size_t>(at)], size,
                                   3'000, [](Comm&) { return Result<void>(); });
        });
        for (size_t i = 0; i < ranks.size(); i++) {
            const bool twice = std::count(ranks.begin(), ranks.end(), ranks[i]) == 2;
            // Without a rank 0 nobody tells those that are not concerned.
            if (!twice && ranks[0] != 0)
                assert_int_not_equal(outcomes[i].code, DDS_SUCCESS);
            else if (outcomes[i].code != DDS_ERR_MISMATCH)
                fail_msg("case %d%d: %zu: %d %s", ranks[0], ranks[1], i, outcomes[i].code,
                         outcomes[i].text);
            if (twice)
                unit::assert_says(outcomes[i].text, "claimed twice: by process");
        }
        assert_true(unit::now() - begun < 10);
    }
}

void a_late_second_claim_fails_alone(void**)
{
    const Scratch scratch;
    const auto outcomes = unit::in_processes(3, [&](int at) {
        if (at == 2)
            usleep(500'000);
        return unit::with_comm(scratch.path(), "s0", at % 2 + (at == 2), 2, 10'000,
                               [&](Comm& comm) -> Result<void> {
                                   usleep(2'500'000);
                                   return unit::exchange(comm, 8, 1);
                               });
    });
    assert_int_equal(outcomes[0].code, DDS_SUCCESS);
    assert_int_equal(outcomes[1].code, DDS_SUCCESS);
    assert_int_equal(outcomes[2].code, DDS_ERR_MISMATCH);
    unit::assert_empty(scratch);
}

void orders_of_creation_that_differ_are_a_mismatch_at_the_deadline(void**)
{
    const Scratch scratch;
    const auto outcomes = unit::in_processes(2, [&](int rank) {
        return unit::with_comm(scratch.path(), rank ? "b" : "a", rank, 2, 500 + 300 * rank,
                               [](Comm&) { return Result<void>(); });
    });
    assert_int_equal(outcomes[0].code, DDS_ERR_MISMATCH);
    unit::assert_says(outcomes[0].text, "rank 1 waits as");
    unit::assert_says(outcomes[0].text, "same order");
}

void ranks_that_do_not_come_are_named_at_the_deadline(void**)
{
    for (const int patient : {0, 1}) {
        const Scratch scratch;
        const auto outcomes = unit::in_processes(2, [&](int at) {
            return unit::with_comm(scratch.path(), "s0", at ? 3 : 0, 6, at == patient ? 2'500 : 700,
                                   [](Comm&) { return Result<void>(); });
        });
        unit::assert_all(outcomes, DDS_ERR_TIMEOUT);
        const auto& first = outcomes[static_cast<size_t>(1 - patient)];
        assert_true(first.seconds >= 0.7 && first.seconds < 1.7);
        unit::assert_says(first.text, "1-2, 4-5");
        assert_int_equal(first.rank, 1);
        unit::assert_says(first.text, scratch.path());
        unit::assert_empty(scratch);
    }
}

void a_rank_that_does_not_take_part_is_named_at_the_deadline(void**)
{
    for (const int absent : {0, 1, 69}) {
        const int size = absent == 69 ? 70 : 3;
        // 70 processes on two processors come seconds apart where a sanitizer slows them.
        const int patience = absent == 69 ? 8'000 : 1'500;
        const Scratch scratch;
        const auto outcomes = unit::in_processes(size, [&](int rank) {
            return unit::with_comm(
                scratch.path(), "s0", rank, size, 60'000, [&](Comm& comm) -> Result<void> {
                    DDS_TRY(unit::exchange(comm, 8, 1, 60'000));
                    if (rank == absent) {
                        usleep(static_cast<useconds_t>(patience + 2'500) * 1'000);
                        return {};
                    }
                    auto late = unit::exchange(comm, 8, 2, patience);
                    if (unit::exchange(comm, 8, 3, 1'000).error().code != DDS_ERR_STATE)
                        return dds::fail(DDS_ERR_INTERNAL, "the communicator goes on");
                    return late;
                });
        });
        for (int rank = 0; rank < size; rank++) {
            const auto& outcome = outcomes[static_cast<size_t>(rank)];
            if (rank == absent) {
                assert_int_equal(outcome.code, DDS_SUCCESS);
                continue;
            }
            if (outcome.code != DDS_ERR_TIMEOUT)
                fail_msg("rank %d: %d %s", rank, outcome.code, outcome.text);
            unit::assert_says(outcome.text, "missing: rank " + std::to_string(absent));
            assert_int_equal(outcome.rank, absent);
        }
        unit::assert_empty(scratch);
    }
}

void a_killed_rank_ends_the_exchange_with_its_name(void**)
{
    for (const int victim : {0, 1}) {
        const Scratch scratch;
        const auto outcomes = unit::in_processes(3, [&](int rank) {
            return unit::with_comm(scratch.path(), "s0", rank, 3, 30'000,
                                   [&](Comm& comm) -> Result<void> {
                                       DDS_TRY(unit::exchange(comm, 8, 1));
                                       if (rank == victim)
                                           kill(getpid(), SIGKILL);
                                       return unit::exchange(comm, 8, 2);
                                   });
        });
        for (int rank = 0; rank < 3; rank++) {
            const auto& outcome = outcomes[static_cast<size_t>(rank)];
            assert_int_equal(outcome.code, rank == victim ? -SIGKILL : DDS_ERR_PEER);
            if (rank != victim) {
                assert_int_equal(outcome.rank, victim);
                unit::assert_says(outcome.text, "rank " + std::to_string(victim) + " died");
            }
            assert_true(outcome.seconds < 5);
        }
    }
}

void fewer_exchanges_on_one_rank_are_an_error_on_the_others(void**)
{
    for (const int early : {0, 1}) {
        const Scratch scratch;
        const auto outcomes = unit::in_processes(3, [&](int rank) {
            return unit::with_comm(
                scratch.path(), "s0", rank, 3, 30'000, [&](Comm& comm) -> Result<void> {
                    DDS_TRY(unit::exchange(comm, 8, 1));
                    return rank == early ? Result<void>() : unit::exchange(comm, 8, 2);
                });
        });
        for (int rank = 0; rank < 3; rank++) {
            assert_int_equal(outcomes[static_cast<size_t>(rank)].code,
                             rank == early ? DDS_SUCCESS : DDS_ERR_PEER);
            if (rank != early)
                assert_int_equal(outcomes[static_cast<size_t>(rank)].rank, early);
        }
        unit::assert_empty(scratch);
    }
}

void an_operation_that_is_left_ends_the_communicator_everywhere(void**)
{
    const Scratch scratch;
    const auto outcomes = unit::in_processes(3, [&](int rank) {
        return unit::with_comm(scratch.path(), "s0", rank, 3, 30'000,
                               [&](Comm& comm) -> Result<void> {
                                   if (rank != 1) {
                                       // The part of the rank that leaves may be there already: then this one ends well.
                                       auto first = barrier(comm, 30'000);
                                       return first ? barrier(comm, 30'000) : first;
                                   }
                                   {
                                       DDS_LET(left, comm.start_allgather({}, {}, 1000));
                                       if (auto second = comm.start_allgather({}, {}, 1000);
                                           second || second.error().code != DDS_ERR_STATE)
                                           return dds::fail(DDS_ERR_INTERNAL, "two at a time");
                                   }
                                   return barrier(comm, 1000);
                               });
    });
    assert_int_equal(outcomes[0].code, DDS_ERR_PEER);
    assert_int_equal(outcomes[0].rank, 1);
    assert_int_equal(outcomes[1].code, DDS_ERR_STATE);
    assert_int_equal(outcomes[2].code, DDS_ERR_PEER);
    unit::assert_empty(scratch);
}

void an_interrupt_ends_the_wait_and_the_others_hear_of_it(void**)
{
    const Scratch scratch;
    const auto outcomes = unit::in_processes(3, [&](int rank) {
        return unit::with_comm(
            scratch.path(), "s0", rank, 3, 30'000, [&](Comm& comm) -> Result<void> {
                DDS_TRY(barrier(comm, 30'000));
                if (rank == 2) {
                    usleep(2'000'000);
                    return {};
                }
                if (rank == 1)
                    dds::set_interrupt([](void*) { return 1; }, nullptr);
                const double begun = unit::now();
                auto done = barrier(comm, 30'000);
                return unit::now() - begun < 1.0 ? done
                                                 : dds::fail(DDS_ERR_INTERNAL, "it took long");
            });
    });
    assert_int_equal(outcomes[0].code, DDS_ERR_PEER);
    assert_int_equal(outcomes[0].rank, 1);
    assert_int_equal(outcomes[1].code, DDS_ERR_INTERRUPTED);
}

void after_30_s_the_log_names_the_missing_ranks_once(void**)
{
    const Scratch scratch;
    const auto outcomes = unit::in_processes(1, [&](int) -> Error {
        static std::string text;
        static int times;
        dds::set_log(
            [](void*, int level, const char* said) {
                times += level == DDS_LOG_WARN;
                text = said;
            },
            nullptr);
        const unit::FastClock clock(50);
        const auto comm = dds::open_file(scratch.path(), "s0", 1, 3, 60'000);
        if (comm || comm.error().code != DDS_ERR_TIMEOUT)
            return dds::fail(DDS_ERR_INTERNAL, "it has met");
        if (times != 1)
            return dds::fail(DDS_ERR_INTERNAL, "said %d times", times);
        return dds::fail(0, "%s", text.c_str());
    });
    unit::assert_all(outcomes, DDS_SUCCESS);
    unit::assert_says(outcomes[0].text, "has waited 30 s; missing: ranks 0, 2");
}

}  // namespace

int main()
{
    const CMUnitTest tests[] = {
        cmocka_unit_test(sizes_of_the_group_that_differ_are_a_mismatch_everywhere),
        cmocka_unit_test(a_rank_beyond_the_size_that_rank_0_says_learns_it),
        cmocka_unit_test(a_rank_that_is_claimed_twice_is_a_mismatch_on_both_and_the_others),
        cmocka_unit_test(a_late_second_claim_fails_alone),
        cmocka_unit_test(orders_of_creation_that_differ_are_a_mismatch_at_the_deadline),
        cmocka_unit_test(ranks_that_do_not_come_are_named_at_the_deadline),
        cmocka_unit_test(a_rank_that_does_not_take_part_is_named_at_the_deadline),
        cmocka_unit_test(a_killed_rank_ends_the_exchange_with_its_name),
        cmocka_unit_test(fewer_exchanges_on_one_rank_are_an_error_on_the_others),
        cmocka_unit_test(an_operation_that_is_left_ends_the_communicator_everywhere),
        cmocka_unit_test(an_interrupt_ends_the_wait_and_the_others_hear_of_it),
        cmocka_unit_test(after_30_s_the_log_names_the_missing_ranks_once),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
