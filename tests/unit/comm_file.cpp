// FileComm where the files are well: exchanges of processes and threads, ranks that are missing, too
// many, dead or out of step.
#include <signal.h>

#include <algorithm>

#include "base/log.hpp"
#include "ranks.hpp"

namespace {

using dds::Comm;
using dds::Error;
using dds::Result;
using unit::Scratch;

void processes_exchange_bytes_of_any_number(void**)
{
    for (const int size : {1, 2, 3, 4}) {
        const Scratch scratch;
        unit::assert_all(unit::in_processes(size, [&](int rank) {
            return unit::with_comm(scratch.at("hs"), "s0", rank, size, 30'000,
                                   [](Comm& comm) -> Result<void> {
                for (const size_t bytes : {0, 1, 8, 1000, 1 << 20, 0, 8})
                    DDS_TRY(unit::exchange(comm, bytes, static_cast<int>(bytes) + 1));
                return barrier(comm, 30'000);
            });
        }), DDS_SUCCESS);
        unit::assert_empty(scratch, "hs");
    }
}

void threads_are_ranks_too(void**)
{
    const Scratch scratch;
    unit::assert_all(unit::in_threads(4, [&](int rank) {
        return unit::with_comm(scratch.path(), "s0", rank, 4, 30'000,
                               [](Comm& comm) -> Result<void> {
            for (int i = 0; i < 20; i++)
                DDS_TRY(unit::exchange(comm, 100, i));
            return {};
        });
    }), DDS_SUCCESS);
    unit::assert_empty(scratch);
}

void hundred_and_twenty_eight_processes_meet_and_exchange(void**)
{
    const Scratch scratch;
    const double begun = unit::now();
    unit::assert_all(unit::in_processes(128, [&](int rank) {
        return unit::with_comm(scratch.path(), "s0", rank, 128, 60'000,
                               [](Comm& comm) -> Result<void> {
            for (const size_t bytes : {8, 0, 4096})
                DDS_TRY(unit::exchange(comm, bytes, 3, 60'000));
            return {};
        });
    }), DDS_SUCCESS);
    print_message("128 processes: %.2f s\n", unit::now() - begun);
    assert_true(unit::now() - begun < 60);
    unit::assert_empty(scratch);
}

// 64 is the first size with leaders, 65 the first whose last group is short.
void two_levels_begin_at_64_ranks(void**)
{
    for (const int size : {63, 64, 65}) {
        const Scratch scratch;
        unit::assert_all(unit::in_processes(size, [&](int rank) {
            return unit::with_comm(scratch.path(), "s0", rank, size, 60'000,
                                   [](Comm& comm) { return unit::exchange(comm, 16, 5, 60'000); });
        }), DDS_SUCCESS);
        unit::assert_empty(scratch);
    }
}

void many_groups_share_a_directory(void**)
{
    const Scratch scratch;
    unit::assert_all(unit::in_processes(2, [&](int rank) {
        return unit::with_comm(scratch.path(), "s0", rank, 2, 30'000, [&](Comm& one) -> Result<void> {
            DDS_LET(two, dds::open_file(scratch.path(), "s0.0", rank, 2, 30'000));
            DDS_LET(three, dds::open_file(scratch.path(), "s", 1 - rank, 2, 30'000));
            for (int i = 0; i < 5; i++) {
                DDS_TRY(unit::exchange(one, 8, 1));
                DDS_TRY(unit::exchange(*two, 9, 2));
                DDS_TRY(unit::exchange(*three, 10, 3));
            }
            return {};
        });
    }), DDS_SUCCESS);
    unit::assert_empty(scratch);
}

void one_name_serves_again_after_a_close(void**)
{
    const Scratch scratch;
    unit::assert_all(unit::in_processes(3, [&](int rank) -> Error {
        for (int time = 0; time < 10; time++) {
            const Error error = unit::with_comm(scratch.path(), "s0", rank, 3, 30'000,
                                                [&](Comm& comm) -> Result<void> {
                // None, one or two exchanges, and a close while others may still read.
                for (int i = 0; i < time % 3; i++)
                    DDS_TRY(unit::exchange(comm, 8, time));
                return {};
            });
            if (error.code)
                return error;
        }
        return unit::kFine;
    }), DDS_SUCCESS);
    unit::assert_empty(scratch);
}

void a_rank_that_closes_first_does_not_take_the_bytes_of_the_others(void**)
{
    for (const int slow : {0, 1, 2}) {
        const Scratch scratch;
        unit::assert_all(unit::in_processes(3, [&](int rank) {
            return unit::with_comm(scratch.path(), "s0", rank, 3, 30'000, [&](Comm& comm) {
                auto done = unit::exchange(comm, 8, 1);
                if (rank == slow)
                    usleep(100'000);
                return done;
            });
        }), DDS_SUCCESS);
        unit::assert_empty(scratch);
    }
}

void lengths_that_differ_are_gathered_by_allgatherv(void**)
{
    const Scratch scratch;
    unit::assert_all(unit::in_processes(3, [&](int rank) {
        return unit::with_comm(scratch.path(), "s0", rank, 3, 30'000, [&](Comm& comm) -> Result<void> {
            // One long, one short, one empty; the long one takes several slices.
            const std::vector<size_t> lengths{(30u << 20) + 1, 5, 0};
            std::vector<char> in(lengths[static_cast<size_t>(rank)], static_cast<char>('a' + rank));
            std::vector<char> out(lengths[0] + 5);
            std::vector<size_t> sizes(3);
            DDS_TRY(allgatherv(comm, std::as_bytes(std::span(in)),
                               std::as_writable_bytes(std::span(out)), sizes, 30'000));
            for (size_t i = 0; i < out.size(); i++)
                if (out[i] != (i < lengths[0] ? 'a' : 'b'))
                    return dds::fail(DDS_ERR_INTERNAL, "byte %zu is wrong", i);
            return sizes == lengths ? Result<void>() : dds::fail(DDS_ERR_INTERNAL, "sizes");
        });
    }), DDS_SUCCESS);
}

void lengths_that_differ_in_an_allgather_are_a_mismatch_everywhere(void**)
{
    for (const int size : {2, 3, 70}) {
        const Scratch scratch;
        const int odd = size - 1;
        const auto outcomes = unit::in_processes(size, [&](int rank) {
            return unit::with_comm(scratch.path(), "s0", rank, size, 60'000,
                                   [&](Comm& comm) -> Result<void> {
                std::vector<std::byte> in(rank == odd ? 9 : 8), out(in.size() * size);
                auto done = allgather(comm, in, out, 60'000);
                DDS_TRY(unit::exchange(comm, 8, 1, 60'000));  // they are in step still
                return done;
            });
        });
        unit::assert_all(outcomes, DDS_ERR_MISMATCH);
        unit::assert_says(outcomes[0].text, "8 bytes");
        unit::assert_says(outcomes[static_cast<size_t>(odd)].text, "gives 9");
        unit::assert_empty(scratch);
    }
}

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
    for (const auto& ranks : {std::vector{0, 1, 1}, std::vector{0, 0, 1}, std::vector{0, 0},
                              std::vector{1, 2, 2}}) {
        const Scratch scratch;
        const int size = ranks.back() == 2 ? 3 : ranks.size() == 3 ? 3 : 2;
        const double begun = unit::now();
        const auto outcomes = unit::in_processes(static_cast<int>(ranks.size()), [&](int at) {
            return unit::with_comm(scratch.path(), "s0", ranks[static_cast<size_t>(at)], size, 3'000,
                                   [](Comm&) { return Result<void>(); });
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
        const Scratch scratch;
        const auto outcomes = unit::in_processes(size, [&](int rank) {
            return unit::with_comm(scratch.path(), "s0", rank, size, 60'000,
                                   [&](Comm& comm) -> Result<void> {
                DDS_TRY(unit::exchange(comm, 8, 1, 60'000));
                if (rank == absent) {
                    usleep(4'000'000);
                    return {};
                }
                auto late = unit::exchange(comm, 8, 2, 1'500);
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
            return unit::with_comm(scratch.path(), "s0", rank, 3, 30'000,
                                   [&](Comm& comm) -> Result<void> {
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
        return unit::with_comm(scratch.path(), "s0", rank, 3, 30'000, [&](Comm& comm) -> Result<void> {
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
        return unit::with_comm(scratch.path(), "s0", rank, 3, 30'000, [&](Comm& comm) -> Result<void> {
            DDS_TRY(barrier(comm, 30'000));
            if (rank == 2) {
                usleep(2'000'000);
                return {};
            }
            if (rank == 1)
                dds::set_interrupt([](void*) { return 1; }, nullptr);
            const double begun = unit::now();
            auto done = barrier(comm, 30'000);
            return unit::now() - begun < 1.0 ? done : dds::fail(DDS_ERR_INTERNAL, "it took long");
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
        dds::set_log([](void*, int level, const char* said) {
            times += level == DDS_LOG_WARN;
            text = said;
        }, nullptr);
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

void a_forked_child_leaves_the_files_of_its_parent(void**)
{
    const Scratch scratch;
    unit::assert_all(unit::in_processes(2, [&](int rank) -> Error {
        auto comm = dds::open_file(scratch.path(), "s0", rank, 2, 30'000);
        if (!comm)
            return comm.error();
        const pid_t child = fork();
        if (child == 0) {
            comm->reset();
            _exit(0);
        }
        waitpid(child, nullptr, 0);
        const auto done = unit::exchange(**comm, 8, 1);
        return done ? unit::kFine : done.error();
    }), DDS_SUCCESS);
    unit::assert_empty(scratch);
}

void names_never_form_a_path_and_never_meet_another(void**)
{
    const std::vector<std::string> names{
        "../x", "/etc", "a/b", ".", "..", "a.b", "a%2Eb", "a%b", "\xc3\xa9", "e\xcc\x81", "\xff\xfe",
        "\xf0\x9f\x9a\x80", "a\nb", " ", std::string("a\0b", 3), std::string(66, '/')};
    for (const std::string& name : names) {
        const Scratch scratch;
        auto comm = dds::open_file(scratch.at("hs"), name, 0, 1, 5'000);
        if (!comm)
            fail_msg("%s", comm.error().text.c_str());
        assert_int_equal(scratch.names("hs").size(), 1);
        assert_int_equal(scratch.names().size(), 1);
        comm->reset();
        unit::assert_empty(scratch, "hs");
    }
    const Scratch scratch;  // all at once: each has files of its own
    std::vector<std::unique_ptr<Comm>> open;
    for (const std::string& name : names) {
        auto comm = dds::open_file(scratch.path(), name, 0, 1, 5'000);
        assert_true(static_cast<bool>(comm));
        open.push_back(std::move(*comm));
    }
    assert_int_equal(scratch.names().size(), names.size());
}

void arguments_are_checked(void**)
{
    const Scratch scratch;
    const auto code = [&](const std::string& dir, const std::string& ns, int rank, int size) {
        const auto comm = dds::open_file(dir, ns, rank, size, 1000);
        return comm ? 0 : comm.error().code;
    };
    assert_int_equal(code(scratch.path(), "s0", 0, 0), DDS_ERR_ARG);
    assert_int_equal(code(scratch.path(), "s0", 0, -1), DDS_ERR_ARG);
    assert_int_equal(code(scratch.path(), "s0", -1, 2), DDS_ERR_ARG);
    assert_int_equal(code(scratch.path(), "s0", 2, 2), DDS_ERR_ARG);
    assert_int_equal(code(scratch.path(), "", 0, 1), DDS_ERR_ARG);
    assert_int_equal(code(scratch.path(), std::string(201, 'a'), 0, 1), DDS_ERR_ARG);
    assert_int_equal(code(scratch.path(), std::string(1 << 20, '/'), 0, 1), DDS_ERR_ARG);
    assert_int_equal(code("", "s0", 0, 1), DDS_ERR_ARG);
    assert_int_equal(code(std::string("/tmp\0x", 6), "s0", 0, 1), DDS_ERR_ARG);
    assert_int_equal(code(scratch.at(std::string(5000, 'a')), "s0", 0, 1), DDS_ERR_ARG);
    assert_int_equal(code(scratch.at("no/such"), "s0", 0, 1), DDS_ERR_IO);
    assert_int_equal(code(scratch.path(), std::string(200, 'a'), 0, 1), DDS_SUCCESS);
}

}  // namespace

int main()
{
    const CMUnitTest tests[] = {
        cmocka_unit_test(processes_exchange_bytes_of_any_number),
        cmocka_unit_test(threads_are_ranks_too),
        cmocka_unit_test(hundred_and_twenty_eight_processes_meet_and_exchange),
        cmocka_unit_test(two_levels_begin_at_64_ranks),
        cmocka_unit_test(many_groups_share_a_directory),
        cmocka_unit_test(one_name_serves_again_after_a_close),
        cmocka_unit_test(a_rank_that_closes_first_does_not_take_the_bytes_of_the_others),
        cmocka_unit_test(lengths_that_differ_are_gathered_by_allgatherv),
        cmocka_unit_test(lengths_that_differ_in_an_allgather_are_a_mismatch_everywhere),
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
        cmocka_unit_test(a_forked_child_leaves_the_files_of_its_parent),
        cmocka_unit_test(names_never_form_a_path_and_never_meet_another),
        cmocka_unit_test(arguments_are_checked),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
