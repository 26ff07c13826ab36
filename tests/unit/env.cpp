// Environment variables: every one against every kind of junk.
#include "base/env.hpp"

#include "unit.hpp"

namespace {

namespace env = dds::env;

int forget(void**)
{
    for (const env::Variable& variable : env::variables())
        unsetenv(variable.name);
    return 0;
}

void assert_junk(const env::Variable& variable, const std::string& value)
{
    setenv(variable.name, value.c_str(), 1);
    const auto checked = env::check();
    if (checked)
        fail_msg("%s='%.60s' was taken", variable.name, value.c_str());
    assert_int_equal(checked.error().code, DDS_ERR_ARG);
    unit::assert_says(checked.error().text, variable.name);
    unit::assert_says(checked.error().text, variable.takes);
    assert_true(checked.error().text.size() < 400);
    assert_null(strpbrk(checked.error().text.c_str(), "\n\t\x1b"));
    unsetenv(variable.name);
}

void assert_fine(const env::Variable& variable, const std::string& value)
{
    setenv(variable.name, value.c_str(), 1);
    const auto checked = env::check();
    if (!checked)
        fail_msg("%s", checked.error().text.c_str());
    unsetenv(variable.name);
}

void numbers_take_digits_within_their_bounds_only(void**)
{
    for (const env::Variable& variable : env::variables()) {
        if (variable.kind != env::Kind::integer)
            continue;
        for (const char* junk : {"x", "-1", "+1", " 1", "1 ", "1.5", "1e3", "0x10", "nan", "inf",
                                 "1s", "0", "--", "18446744073709551617", "9223372036854775808",
                                 "99999999999999999999999", "\n", "1\n", "\xff"})
            assert_junk(variable, junk);
        assert_junk(variable, std::to_string(variable.most + 1));
        assert_junk(variable, std::to_string(variable.least - 1));
        assert_junk(variable, std::string(1 << 20, '1'));
        assert_junk(variable, std::string(1 << 20, 'x'));
        for (const int64_t good : {variable.least, variable.most}) {
            assert_fine(variable, std::to_string(good));
            assert_fine(variable, "00" + std::to_string(good));
            setenv(variable.name, std::to_string(good).c_str(), 1);
            const auto number = env::integer(variable.name);
            assert_true(number && *number && **number == good);
            unsetenv(variable.name);
        }
    }
}

void flags_take_0_and_1_only(void**)
{
    for (const env::Variable& variable : env::variables()) {
        if (variable.kind != env::Kind::flag)
            continue;
        for (const char* junk : {"2", "-1", "yes", "true", "on", "01", "1 ", "10"})
            assert_junk(variable, junk);
        assert_junk(variable, std::string(1 << 20, '1'));
        for (const bool on : {false, true}) {
            setenv(variable.name, on ? "1" : "0", 1);
            const auto flag = env::flag(variable.name);
            assert_true(flag && *flag && **flag == on);
            unsetenv(variable.name);
        }
    }
}

void texts_and_paths_have_a_length(void**)
{
    for (const env::Variable& variable : env::variables()) {
        if (variable.kind != env::Kind::text && variable.kind != env::Kind::path)
            continue;
        assert_fine(variable, "a");
        assert_fine(variable, std::string(static_cast<size_t>(variable.most), 'a'));
        assert_junk(variable, std::string(static_cast<size_t>(variable.most) + 1, 'a'));
        assert_junk(variable, std::string(1 << 20, 'a'));
        if (variable.kind == env::Kind::text)
            assert_junk(variable, "a\nb");
    }
}

void unset_and_empty_are_the_default(void**)
{
    for (const char* value : {static_cast<const char*>(nullptr), ""})
        for (const env::Variable& variable : env::variables()) {
            if (value)
                setenv(variable.name, value, 1);
            assert_true(static_cast<bool>(env::check()));
            if (variable.kind == env::Kind::integer) {
                const auto number = env::integer(variable.name);
                assert_true(number && !*number);
            } else if (variable.kind == env::Kind::flag) {
                const auto flag = env::flag(variable.name);
                assert_true(flag && !*flag);
            } else {
                assert_false(env::text(variable.name).has_value());
            }
        }
}

void each_variable_is_described(void**)
{
    assert_true(env::variables().size() >= 9);
    for (const env::Variable& variable : env::variables()) {
        // One name is older than the library.
        assert_true(strncmp(variable.name, "DDSTORE_", 8) == 0 ||
                    strcmp(variable.name, "FABRIC_IFACE") == 0);
        assert_true(strlen(variable.takes) > 3 && strlen(variable.meaning) > 10);
    }
}

void each_default_is_a_value_that_is_taken(void**)
{
    for (const env::Variable& variable : env::variables()) {
        const bool named = variable.kind == env::Kind::text || variable.kind == env::Kind::path;
        assert_true(named || variable.preset[0]);
        assert_fine(variable, variable.preset);
    }
}

void one_variable_is_judged_alone(void**)
{
    setenv("DDSTORE_SHM", "maybe", 1);
    for (const env::Variable& variable : env::variables()) {
        const bool right = static_cast<bool>(env::check(variable));
        assert_int_equal(right, strcmp(variable.name, "DDSTORE_SHM") != 0);
    }
}

}  // namespace

int main()
{
    const CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(numbers_take_digits_within_their_bounds_only, forget,
                                        forget),
        cmocka_unit_test_setup_teardown(flags_take_0_and_1_only, forget, forget),
        cmocka_unit_test_setup_teardown(texts_and_paths_have_a_length, forget, forget),
        cmocka_unit_test_setup_teardown(unset_and_empty_are_the_default, forget, forget),
        cmocka_unit_test_setup_teardown(each_variable_is_described, forget, forget),
        cmocka_unit_test_setup_teardown(each_default_is_a_value_that_is_taken, forget, forget),
        cmocka_unit_test_setup_teardown(one_variable_is_judged_alone, forget, forget),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
