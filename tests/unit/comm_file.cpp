// FileComm where all is well: exchanges of processes and threads, of any number and length.
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
        unit::assert_all(
            unit::in_processes(
                size,
                [&](int rank) {
                    return unit::with_comm(
                        scratch.at("hs"), "s0", rank, size, 30'000, [](Comm& comm) -> Result<void> {
                            for (const size_t bytes : {0, 1, 8, 1000, 1 << 20, 0, 8})
                                DDS_TRY(unit::exchange(comm, bytes, static_cast<int>(bytes) + 1));
                            return barrier(comm, 30'000);
                        });
                }),
            DDS_SUCCESS);
        unit::assert_empty(scratch, "hs");
    }
}

void threads_are_ranks_too(void**)
{
    const Scratch scratch;
    unit::assert_all(unit::in_threads(4,
                                      [&](int rank) {
                                          return unit::with_comm(
                                              scratch.path(), "s0", rank, 4, 30'000,
                                              [](Comm& comm) -> Result<void> {
                                                  for (int i = 0; i < 20; i++)
                                                      DDS_TRY(unit::exchange(comm, 100, i));
                                                  return {};
                                              });
                                      }),
                     DDS_SUCCESS);
    unit::assert_empty(scratch);
}

void hundred_and_twenty_eight_processes_meet_and_exchange(void**)
{
    const Scratch scratch;
    const double begun = unit::now();
    unit::assert_all(
        unit::in_processes(128,
                           [&](int rank) {
                               return unit::with_comm(
                                   scratch.path(), "s0", rank, 128, 60'000,
                                   [](Comm& comm) -> Result<void> {
                                       for (const size_t bytes : {8, 0, 4096})
                                           DDS_TRY(unit::exchange(comm, bytes, 3, 60'000));
                                       return {};
                                   });
                           }),
        DDS_SUCCESS);
    print_message("128 processes: %.2f s\n", unit::now() - begun);
    assert_true(unit::now() - begun < 60);
    unit::assert_empty(scratch);
}

// 64 is the first size with leaders, 65 the first whose last group is short.
void two_levels_begin_at_64_ranks(void**)
{
    for (const int size : {63, 64, 65}) {
        const Scratch scratch;
        unit::assert_all(unit::in_processes(size,
                                            [&](int rank) {
                                                return unit::with_comm(
                                                    scratch.path(), "s0", rank, size, 60'000,
                                                    [](Comm& comm) {
                                                        return unit::exchange(comm, 16, 5, 60'000);
                                                    });
                                            }),
                         DDS_SUCCESS);
        unit::assert_empty(scratch);
    }
}

void many_groups_share_a_directory(void**)
{
    const Scratch scratch;
    unit::assert_all(
        unit::in_processes(
            2,
            [&](int rank) {
                return unit::with_comm(
                    scratch.path(), "s0", rank, 2, 30'000, [&](Comm& one) -> Result<void> {
                        DDS_LET(two, dds::open_file(scratch.path(), "s0.0", rank, 2, 30'000));
                        DDS_LET(three, dds::open_file(scratch.path(), "s", 1 - rank, 2, 30'000));
                        for (int i = 0; i < 5; i++) {
                            DDS_TRY(unit::exchange(one, 8, 1));
                            DDS_TRY(unit::exchange(*two, 9, 2));
                            DDS_TRY(unit::exchange(*three, 10, 3));
                        }
                        return {};
                    });
            }),
        DDS_SUCCESS);
    unit::assert_empty(scratch);
}

void one_name_serves_again_after_a_close(void**)
{
    const Scratch scratch;
    unit::assert_all(unit::in_processes(3,
                                        [&](int rank) -> Error {
                                            for (int time = 0; time < 10; time++) {
                                                const Error error = unit::with_comm(
                                                    scratch.path(), "s0", rank, 3, 30'000,
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
                                        }),
                     DDS_SUCCESS);
    unit::assert_empty(scratch);
}

void a_rank_that_closes_first_does_not_take_the_bytes_of_the_others(void**)
{
    for (const int slow : {0, 1, 2}) {
        const Scratch scratch;
        unit::assert_all(unit::in_processes(3,
                                            [&](int rank) {
                                                return unit::with_comm(
                                                    scratch.path(), "s0", rank, 3, 30'000,
                                                    [&](Comm& comm) {
                                                        auto done = unit::exchange(comm, 8, 1);
                                                        if (rank == slow)
                                                            usleep(100'000);
                                                        return done;
                                                    });
                                            }),
                         DDS_SUCCESS);
        unit::assert_empty(scratch);
    }
}

void lengths_that_differ_are_gathered_by_allgatherv(void**)
{
    const Scratch scratch;
    unit::assert_all(
        unit::in_processes(
            3,
            [&](int rank) {
                return unit::with_comm(
                    scratch.path(), "s0", rank, 3, 30'000, [&](Comm& comm) -> Result<void> {
                        // One long, one short, one empty; the long one takes two slices.
                        const std::vector<size_t> lengths{(6u << 20) + 1, 5, 0};
                        std::vector<char> in(lengths[static_cast<size_t>(rank)],
                                             static_cast<char>('a' + rank));
                        std::vector<char> out(lengths[0] + 5);
                        std::vector<size_t> sizes(3);
                        DDS_TRY(allgatherv(comm, std::as_bytes(std::span(in)),
                                           std::as_writable_bytes(std::span(out)), sizes, 30'000));
                        for (size_t i = 0; i < out.size(); i++)
                            if (out[i] != (i < lengths[0] ? 'a' : 'b'))
                                return dds::fail(DDS_ERR_INTERNAL, "byte %zu is wrong", i);
                        return sizes == lengths ? Result<void>()
                                                : dds::fail(DDS_ERR_INTERNAL, "sizes");
                    });
            }),
        DDS_SUCCESS);
}

void lengths_that_differ_in_an_allgather_are_a_mismatch_everywhere(void**)
{
    for (const int size : {2, 3, 70}) {
        const Scratch scratch;
        const int odd = size - 1;
        const auto outcomes = unit::in_processes(size, [&](int rank) {
            return unit::with_comm(
                scratch.path(), "s0", rank, size, 60'000, [&](Comm& comm) -> Result<void> {
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

void a_forked_child_leaves_the_files_of_its_parent(void**)
{
    const Scratch scratch;
    unit::assert_all(unit::in_processes(2,
                                        [&](int rank) -> Error {
                                            auto comm = dds::open_file(scratch.path(), "s0", rank,
                                                                       2, 30'000);
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
                                        }),
                     DDS_SUCCESS);
    unit::assert_empty(scratch);
}

void names_never_form_a_path_and_never_meet_another(void**)
{
    const std::vector<std::string> names{"../x",
                                         "/etc",
                                         "a/b",
                                         ".",
                                         "..",
                                         "a.b",
                                         "a%2Eb",
                                         "a%b",
                                         "\xc3\xa9",
                                         "e\xcc\x81",
                                         "\xff\xfe",
                                         "\xf0\x9f\x9a\x80",
                                         "a\nb",
                                         " ",
                                         std::string("a\0b", 3),
                                         std::string(66, '/')};
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
        cmocka_unit_test(a_forked_child_leaves_the_files_of_its_parent),
        cmocka_unit_test(names_never_form_a_path_and_never_meet_another),
        cmocka_unit_test(arguments_are_checked),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
