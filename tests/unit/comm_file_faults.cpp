// FileComm where the files are not well: leftovers, junk in their place, a file system that is full,
// gone or silent, and ranks that die at each step.
#include <fcntl.h>
#include <signal.h>

#include "ranks.hpp"
#include "small_disk.hpp"

namespace {

using dds::Comm;
using dds::Error;
using dds::Result;
using unit::Scratch;

Result<void> nothing(Comm&) { return {}; }

Result<void> three_exchanges(Comm& comm)
{
    for (int i = 0; i < 3; i++)
        DDS_TRY(unit::exchange(comm, 100, i));
    return {};
}

std::vector<unit::Outcome> clean_run(const Scratch& scratch, int size)
{
    return unit::in_processes(size, [&](int rank) {
        return unit::with_comm(scratch.path(), "s0", rank, size, 30'000, three_exchanges);
    });
}

void what_a_killed_run_left_is_not_taken_and_goes(void**)
{
    const Scratch scratch;
    for (const int size : {3, 2, 4}) {  // another size than the run before
        unit::in_processes(size, [&](int rank) {
            return unit::with_comm(scratch.path(), "s0", rank, size, 30'000,
                                   [&](Comm& comm) -> Result<void> {
                                       DDS_TRY(three_exchanges(comm));
                                       if (rank == 0)
                                           usleep(20'000);
                                       kill(getpid(), SIGKILL);
                                       return {};
                                   });
        });
        assert_true(scratch.names().size() >= 3);
        unit::assert_all(clean_run(scratch, 2), DDS_SUCCESS);
    }
    unit::assert_empty(scratch);
}

// Every rank of a run dies at once while it meets, while the others start anew.
void a_run_that_was_killed_while_it_met_is_not_met(void**)
{
    const Scratch scratch;
    for (int time = 0; time < 5; time++) {
        unit::in_processes(2, [&](int rank) {
            alarm(10);
            if (rank == 1) {
                usleep(static_cast<useconds_t>(1'000 * time));
                kill(getpid(), SIGKILL);
            }
            return unit::with_comm(scratch.path(), "s0", 0, 2, 50, nothing);
        });
        unit::assert_all(clean_run(scratch, 3), DDS_SUCCESS);
    }
    unit::assert_empty(scratch);
}

#if DDS_TESTING
// DDSTORE_FAILPOINT kills rank 1 at its n-th write, n = 1, 2 ...; the others end, and the next run
// is well.
void a_rank_that_dies_at_any_step_stops_nobody_for_long(void**)
{
    const Scratch scratch;
    int steps = 0;
    for (bool died = true; died && steps < 20; steps++) {
        for (const char* point : {"comm.file.write", "comm.file.rename"}) {
            const auto outcomes = unit::in_processes(3, [&](int rank) {
                const std::string plan = std::string(point) + ":kill:" + std::to_string(steps + 1);
                if (rank == 1)
                    setenv("DDSTORE_FAILPOINT", plan.c_str(), 1);
                return unit::with_comm(scratch.path(), "s0", rank, 3, 1'500, three_exchanges);
            });
            died = outcomes[1].code == -SIGKILL;
            for (const int rank : {0, 2}) {
                const auto& outcome = outcomes[static_cast<size_t>(rank)];
                const bool ended =
                    died ? outcome.code == DDS_ERR_PEER || outcome.code == DDS_ERR_TIMEOUT
                         : outcome.code == DDS_SUCCESS;
                if (!ended)
                    fail_msg("%s %d: rank %d: %d %s", point, steps, rank, outcome.code,
                             outcome.text);
                assert_true(outcome.seconds < 4);
            }
        }
        unit::assert_all(clean_run(scratch, 3), DDS_SUCCESS);
    }
    assert_true(steps > 3);
    unit::assert_empty(scratch);
}

// Each class of error at each write of each rank: nobody hangs, nothing is left but what the failed
// rank could not take away.
void an_error_on_one_rank_reaches_the_others(void**)
{
    for (const int victim : {0, 1, 2})
        for (const int nth : {3, 4, 5}) {
            const Scratch scratch;
            const auto outcomes = unit::in_processes(3, [&](int rank) {
                const std::string plan = "comm.file.write:error=15:" + std::to_string(nth);
                if (rank == victim)
                    setenv("DDSTORE_FAILPOINT", plan.c_str(), 1);
                return unit::with_comm(scratch.path(), "s0", rank, 3, 10'000, three_exchanges);
            });
            for (size_t rank = 0; rank < 3; rank++) {
                if (outcomes[rank].code != DDS_ERR_NOSPC)
                    fail_msg("victim %d, write %d: rank %zu: %d %s", victim, nth, rank,
                             outcomes[rank].code, outcomes[rank].text);
                assert_true(outcomes[rank].seconds < 5);
                assert_int_equal(outcomes[rank].rank >= 0 || static_cast<int>(rank) == victim, 1);
            }
        }
}

void a_file_system_that_does_not_answer_is_a_timeout(void**)
{
    for (const char* plan : {"comm.file.read:delay=6000:1", "comm.file.read:delay=6000:30",
                             "comm.file.write:delay=6000:1", "comm.file.write:delay=6000:3"}) {
        const Scratch scratch;
        const auto outcomes = unit::in_processes(2, [&](int rank) {
            if (rank == 1)
                setenv("DDSTORE_FAILPOINT", plan, 1);
            return unit::with_comm(scratch.path(), "s0", rank, 2, 1'000,
                                   [](Comm& comm) -> Result<void> {
                                       for (int i = 0; i < 20; i++)
                                           DDS_TRY(unit::exchange(comm, 8, i, 1'000));
                                       return {};
                                   });
        });
        assert_int_equal(outcomes[1].code, DDS_ERR_TIMEOUT);
        assert_true(outcomes[1].seconds < 5);  // the deadline, and a second each for the words,
        assert_int_not_equal(outcomes[0].code, DDS_SUCCESS);  // the news and the leaving
    }
}
#endif

void junk_in_the_place_of_a_hello_or_a_call_is_replaced(void**)
{
    const Scratch scratch;
    std::vector<char> junk(1 << 16, 'j');
    memcpy(junk.data(), "\x89PNG\r\n\x1a\n", 8);
    for (const size_t size : {size_t{0}, size_t{8}, junk.size()}) {
        for (const char* name : {"s0.hello.0", "s0.hello.1", "s0.call", "s0.fail"}) {
            const int fd = open(scratch.at(name).c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
            assert_int_equal(write(fd, junk.data(), size), size);
            close(fd);
        }
        unit::assert_all(clean_run(scratch, 2), DDS_SUCCESS);
        unlink(scratch.at("s0.fail").c_str());  // is not ours: it stays
        unit::assert_empty(scratch);
    }
}

void junk_that_stays_is_named_at_the_deadline(void**)
{
    const Scratch scratch;
    const int fd = open(scratch.at("s0.hello.1").c_str(), O_WRONLY | O_CREAT, 0600);
    assert_int_equal(write(fd, "junk", 4), 4);
    close(fd);
    const auto outcomes = unit::in_processes(
        1, [&](int) { return unit::with_comm(scratch.path(), "s0", 0, 2, 500, nothing); });
    assert_int_equal(outcomes[0].code, DDS_ERR_CORRUPT);
    unit::assert_says(outcomes[0].text, "s0.hello.1 is not whole");
    unit::assert_says(outcomes[0].text, "missing: rank 1");
}

void a_trap_in_the_place_of_a_hello_is_refused_at_once(void**)
{
    for (int trap = 0; trap < 4; trap++) {
        const Scratch scratch;
        const std::string at = scratch.at("s0.hello.1");
        if (trap == 0)
            assert_int_equal(mkfifo(at.c_str(), 0600), 0);
        else if (trap == 1)
            assert_int_equal(symlink("/etc/passwd", at.c_str()), 0);
        else if (trap == 2)
            assert_int_equal(mkdir(at.c_str(), 0700), 0);
        else if (geteuid() != 0 || mknod(at.c_str(), S_IFREG | 0600, 0) != 0 ||
                 chown(at.c_str(), 12345, 0) != 0)
            continue;
        const auto outcomes = unit::in_processes(2, [&](int rank) {
            return unit::with_comm(scratch.path(), "s0", rank, 2, 5'000, nothing);
        });
        unit::assert_all(outcomes, DDS_ERR_PERM);
        for (const auto& outcome : outcomes) {
            assert_true(outcome.seconds < 2);
            unit::assert_says(outcome.text, "s0.hello.1");
        }
    }
}

void a_directory_that_goes_away_ends_the_wait(void**)
{
    for (const bool replaced : {false, true}) {
        const Scratch scratch;
        const auto outcomes = unit::in_processes(3, [&](int rank) {
            if (rank == 2) {
                usleep(300'000);
                if (rename(scratch.at("hs").c_str(), scratch.at("away").c_str()) != 0)
                    return dds::fail(DDS_ERR_INTERNAL, "rename");
                if (replaced)
                    mkdir(scratch.at("hs").c_str(), 0700);
                return dds::fail(DDS_ERR_IO, "%s", scratch.at("hs").c_str());
            }
            return unit::with_comm(scratch.at("hs"), "s0", rank, 3, 20'000, nothing);
        });
        unit::assert_all(outcomes, DDS_ERR_IO);
        for (const auto& outcome : outcomes) {
            assert_true(outcome.seconds < 2);
            unit::assert_says(outcome.text, scratch.at("hs"));
        }
    }
}

void a_directory_that_is_removed_in_an_exchange_ends_it(void**)
{
    const Scratch scratch;
    const auto outcomes = unit::in_processes(2, [&](int rank) {
        return unit::with_comm(scratch.at("hs"), "s0", rank, 2, 20'000,
                               [&](Comm& comm) -> Result<void> {
                                   DDS_TRY(barrier(comm, 20'000));
                                   if (rank == 1) {
                                       usleep(300'000);
                                       for (const std::string& name : scratch.names("hs"))
                                           unlink(scratch.at("hs/" + name).c_str());
                                       rmdir(scratch.at("hs").c_str());
                                   }
                                   return barrier(comm, 20'000);
                               });
    });
    unit::assert_all(outcomes, DDS_ERR_IO);
    for (const auto& outcome : outcomes)
        assert_true(outcome.seconds < 3);
}

// What is asked for does not fit on one rank.
void a_full_file_system_is_told_to_everybody(void**)
{
    const Scratch scratch;
    const std::string dir = scratch.at("full");
    unit::on_a_small_disk(dir, "size=256k", [&] {
        const auto outcomes = unit::in_processes(3, [&](int rank) {
            return unit::with_comm(dir, "s0", rank, 3, 10'000, [](Comm& comm) -> Result<void> {
                DDS_TRY(unit::exchange(comm, 1'000, 1));
                return unit::exchange(comm, 100'000, 2);
            });
        });
        int wrong = 0;
        for (const auto& outcome : outcomes)
            if (outcome.code != DDS_ERR_NOSPC || outcome.seconds > 3) {
                printf("%d %.3f %s\n", outcome.code, outcome.seconds, outcome.text);
                wrong++;
            }
        const std::string left = "ls " + dir + " | grep -q tmp";
        return wrong + (system(left.c_str()) == 0);
    });
}

// The part of rank 1 is damaged when rank 0 reads it, and stays so.
void a_part_that_stays_damaged_is_corrupt_after_ten_seconds(void**)
{
    const Scratch scratch;
    const auto outcomes = unit::in_processes(2, [&](int rank) {
        const unit::FastClock clock(10);
        return unit::with_comm(
            scratch.path(), "s0", rank, 2, 60'000, [&](Comm& comm) -> Result<void> {
                if (rank == 0) {
                    // Rank 1 has given its part; its last byte changes.
                    for (int i = 0; i < 500; i++) {
                        usleep(10'000);
                        for (const std::string& name : scratch.names())
                            if (name.ends_with(".1.1") && name.find("tmp") == std::string::npos) {
                                const int fd = open(scratch.at(name).c_str(), O_RDWR);
                                const off_t end = lseek(fd, -1, SEEK_END);
                                const bool done = pwrite(fd, "!", 1, end) == 1;
                                close(fd);
                                return done ? unit::exchange(comm, 100, 1, 60'000) : nothing(comm);
                            }
                    }
                }
                return unit::exchange(comm, 100, 1, 60'000);
            });
    });
    unit::assert_all(outcomes, DDS_ERR_CORRUPT);
    for (const auto& outcome : outcomes)
        assert_true(outcome.seconds < 6);
    unit::assert_says(outcomes[0].text, "is damaged");
}

void two_runs_at_once_under_two_names_do_not_meet(void**)
{
    const Scratch scratch;
    unit::assert_all(unit::in_processes(6,
                                        [&](int at) {
                                            return unit::with_comm(scratch.path(),
                                                                   at % 2 ? "one" : "two", at / 2,
                                                                   3, 30'000, three_exchanges);
                                        }),
                     DDS_SUCCESS);
    unit::assert_empty(scratch);
}

void a_directory_of_a_hundred_thousand_files_is_no_hindrance(void**)
{
    const Scratch scratch;
    for (int i = 0; i < 100'000; i++) {
        const int fd =
            open(scratch.at("s1.hello." + std::to_string(i)).c_str(), O_WRONLY | O_CREAT, 0600);
        assert_true(fd >= 0);
        close(fd);
    }
    const auto outcomes = clean_run(scratch, 3);
    unit::assert_all(outcomes, DDS_SUCCESS);
    print_message("three exchanges among 100,000 files: %.2f s\n", outcomes[0].seconds);
    assert_int_equal(scratch.names().size(), 100'000);
}

}  // namespace

int main()
{
    const CMUnitTest tests[] = {
        cmocka_unit_test(what_a_killed_run_left_is_not_taken_and_goes),
        cmocka_unit_test(a_run_that_was_killed_while_it_met_is_not_met),
#if DDS_TESTING
        cmocka_unit_test(a_rank_that_dies_at_any_step_stops_nobody_for_long),
        cmocka_unit_test(an_error_on_one_rank_reaches_the_others),
        cmocka_unit_test(a_file_system_that_does_not_answer_is_a_timeout),
#endif
        cmocka_unit_test(junk_in_the_place_of_a_hello_or_a_call_is_replaced),
        cmocka_unit_test(junk_that_stays_is_named_at_the_deadline),
        cmocka_unit_test(a_trap_in_the_place_of_a_hello_is_refused_at_once),
        cmocka_unit_test(a_directory_that_goes_away_ends_the_wait),
        cmocka_unit_test(a_directory_that_is_removed_in_an_exchange_ends_it),
        cmocka_unit_test(a_full_file_system_is_told_to_everybody),
        cmocka_unit_test(a_part_that_stays_damaged_is_corrupt_after_ten_seconds),
        cmocka_unit_test(two_runs_at_once_under_two_names_do_not_meet),
        cmocka_unit_test(a_directory_of_a_hundred_thousand_files_is_no_hindrance),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
