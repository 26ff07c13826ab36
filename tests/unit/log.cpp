// The log callback: what it gets, from which thread, and what happens while it is swapped.
#include "base/log.hpp"

#include <atomic>

#include "unit.hpp"

namespace {

struct Heard {
    int level = 0, times = 0;
    std::string text;
    std::thread::id thread;
};

void hear(void* ctx, int level, const char* text)
{
    auto* heard = static_cast<Heard*>(ctx);
    heard->level = level;
    heard->times++;
    heard->text = text;
    heard->thread = std::this_thread::get_id();
}

int silence(void**)
{
    dds::set_log(nullptr, nullptr);
    return 0;
}

void without_a_callback_nothing_is_said(void**) { dds::log(DDS_LOG_WARN, "%s", "unheard"); }

void the_callback_gets_level_and_text_on_the_calling_thread(void**)
{
    Heard heard;
    dds::set_log(hear, &heard);
    dds::log(DDS_LOG_INFO, "%d rows\nof %s", 3, "x");
    assert_int_equal(heard.level, DDS_LOG_INFO);
    assert_string_equal(heard.text.c_str(), "3 rows of x");
    assert_true(heard.thread == std::this_thread::get_id());
    dds::set_log(nullptr, nullptr);
    dds::log(DDS_LOG_INFO, "no more");
    assert_int_equal(heard.times, 1);
}

void a_long_text_is_cut(void**)
{
    Heard heard;
    dds::set_log(hear, &heard);
    dds::log(DDS_LOG_DEBUG, "%s", std::string(100'000, 'x').c_str());
    assert_int_equal(heard.text.size(), 1023);
}

void a_callback_that_logs_is_not_called_again(void**)
{
    static int times;
    times = 0;
    dds::set_log(
        [](void*, int, const char*) {
            times++;
            dds::log(DDS_LOG_WARN, "from inside");
        },
        nullptr);
    dds::log(DDS_LOG_WARN, "from outside");
    dds::log(DDS_LOG_WARN, "from outside again");
    assert_int_equal(times, 2);
}

void a_thread_of_the_library_says_nothing(void**)
{
    Heard heard;
    dds::set_log(hear, &heard);
    std::thread([] {
        dds::never_log_here();
        dds::log(DDS_LOG_WARN, "from a thread of ours");
    }).join();
    assert_int_equal(heard.times, 0);
}

// Two callbacks, each of which takes its own context only: a mixed pair would be seen.
void callback_and_context_are_swapped_together(void**)
{
    static std::atomic<int> mixed, heard;
    static int one, two;
    mixed = heard = 0;
    std::atomic<bool> stop{false};
    std::vector<std::thread> talkers;
    for (int i = 0; i < 3; i++)
        talkers.emplace_back([&] {
            while (!stop)
                dds::log(DDS_LOG_WARN, "x");
        });
    for (int i = 0; i < 20'000 || heard < 1000; i++) {
        if (i % 2)
            dds::set_log(
                [](void* ctx, int, const char*) {
                    heard++;
                    mixed += ctx != &one;
                },
                &one);
        else
            dds::set_log(
                [](void* ctx, int, const char*) {
                    heard++;
                    mixed += ctx != &two;
                },
                &two);
        if (i % 7 == 0)
            dds::set_log(nullptr, nullptr);
    }
    stop = true;
    for (auto& talker : talkers)
        talker.join();
    assert_int_equal(mixed.load(), 0);
}

}  // namespace

int main()
{
    const CMUnitTest tests[] = {
        cmocka_unit_test_teardown(without_a_callback_nothing_is_said, silence),
        cmocka_unit_test_teardown(the_callback_gets_level_and_text_on_the_calling_thread, silence),
        cmocka_unit_test_teardown(a_long_text_is_cut, silence),
        cmocka_unit_test_teardown(a_callback_that_logs_is_not_called_again, silence),
        cmocka_unit_test_teardown(a_thread_of_the_library_says_nothing, silence),
        cmocka_unit_test_teardown(callback_and_context_are_swapped_together, silence),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
