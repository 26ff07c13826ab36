// Failpoints: each action, the n-th time, the trace, and a plan that is junk.  The plan is read once
// a process, so each case is a process.
#include "base/failpoint.hpp"

#include <signal.h>

#include <fstream>

#include "unit.hpp"

#if DDS_TESTING

namespace {

dds::Result<void> pass(const char* which)
{
    if (strcmp(which, "one") == 0)
        DDS_FAILPOINT("test.one");
    else
        DDS_FAILPOINT("test.two");
    return {};
}

// The codes of three passes of test.one, in one process with `plan`.
unit::Outcome with_plan(const char* plan, std::string& codes)
{
    const auto outcomes = unit::in_processes(1, [&](int) {
        setenv("DDSTORE_FAILPOINT", plan, 1);
        dds::Error all{0, -1, {}};
        for (int i = 0; i < 3; i++) {
            const auto passed = pass("one");
            all.text += std::to_string(passed ? 0 : passed.error().code) + " ";
            if (!passed && all.code == 0)
                all.code = passed.error().code;
        }
        return all;
    });
    codes = outcomes[0].text;
    return outcomes[0];
}

void an_error_is_given_each_time_or_the_nth(void**)
{
    std::string codes;
    with_plan("test.one:error=15", codes);
    assert_string_equal(codes.c_str(), "15 15 15 ");
    with_plan("test.one:error=15:2", codes);
    assert_string_equal(codes.c_str(), "0 15 0 ");
    with_plan("test.two:error=3,test.one:error=16:3", codes);
    assert_string_equal(codes.c_str(), "0 0 16 ");
    with_plan("", codes);
    assert_string_equal(codes.c_str(), "0 0 0 ");
}

void kill_ends_the_process(void**)
{
    std::string codes;
    assert_int_equal(with_plan("test.one:kill:2", codes).code, -SIGKILL);
}

void stop_waits_for_a_continue(void**)
{
    fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) {
        setenv("DDSTORE_FAILPOINT", "test.one:stop", 1);
        _exit(pass("one") ? 7 : 1);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, WUNTRACED), child);
    assert_true(WIFSTOPPED(status));
    kill(child, SIGCONT);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

void delay_takes_its_time(void**)
{
    std::string codes;
    assert_true(with_plan("test.one:delay=50", codes).seconds >= 0.15);
    assert_string_equal(codes.c_str(), "0 0 0 ");
}

void junk_in_the_plan_is_an_error_that_shows_it(void**)
{
    for (const char* junk : {"x", ":kill", "test.one", "test.one:explode", "test.one:error",
                             "test.one:error=", "test.one:error=0", "test.one:error=27",
                             "test.one:error=x", "test.one:kill=3", "test.one:delay=-1",
                             "test.one:kill:0", "test.one:kill:x", "test.one:kill:1:1", ","}) {
        const auto outcomes = unit::in_processes(1, [&](int) {
            setenv("DDSTORE_FAILPOINT", junk, 1);
            auto passed = pass("two");
            return passed ? unit::kFine : passed.error();
        });
        if (outcomes[0].code != DDS_ERR_ARG)
            fail_msg("'%s' was taken", junk);
        unit::assert_says(outcomes[0].text, "DDSTORE_FAILPOINT");
    }
}

void the_trace_names_every_point_that_was_passed(void**)
{
    const unit::Scratch scratch;
    unit::in_processes(1, [&](int) {
        setenv("DDSTORE_FAILPOINT_TRACE", scratch.at("trace").c_str(), 1);
        for (const char* which : {"one", "two", "one"})
            static_cast<void>(pass(which));
        return unit::kFine;
    });
    std::ifstream trace(scratch.at("trace"));
    const std::string text((std::istreambuf_iterator<char>(trace)), {});
    assert_string_equal(text.c_str(), "test.one\ntest.two\ntest.one\n");
}

}  // namespace

int main()
{
    const CMUnitTest tests[] = {
        cmocka_unit_test(an_error_is_given_each_time_or_the_nth),
        cmocka_unit_test(kill_ends_the_process),
        cmocka_unit_test(stop_waits_for_a_continue),
        cmocka_unit_test(delay_takes_its_time),
        cmocka_unit_test(junk_in_the_plan_is_an_error_that_shows_it),
        cmocka_unit_test(the_trace_names_every_point_that_was_passed),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}

#else

int main()
{
    puts("failpoints are not in this build (-Dtesting=true)");
    return 77;  // skipped
}

#endif
