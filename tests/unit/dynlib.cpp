// Libraries found at run time: what a name may be, and what is said when there is none.
#include "base/dynlib.hpp"

#include <dlfcn.h>

#include <cmath>

#include "unit.hpp"

namespace {

using dds::Dynlib;

void a_bare_name_is_found_and_gives_its_symbols(void**)
{
    auto lib = Dynlib::open("libm.so.6");
    assert_true(static_cast<bool>(lib));
    const auto cosine = lib->symbol("cos");
    assert_true(static_cast<bool>(cosine));
    assert_true(reinterpret_cast<double (*)(double)>(*cosine)(0.0) == 1.0);
    const auto none = lib->symbol("dds_no_such_symbol");
    assert_int_equal(none.error().code, DDS_ERR_NOTFOUND);
    unit::assert_says(none.error().text, "libm.so.6");
    unit::assert_says(none.error().text, "dds_no_such_symbol");
}

void a_library_that_is_not_there_is_named(void**)
{
    for (const char* name : {"libdds_no_such.so.7", "/no/such/place/lib.so"}) {
        const auto lib = Dynlib::open(name);
        assert_int_equal(lib.error().code, DDS_ERR_NOTFOUND);
        unit::assert_says(lib.error().text, name);
    }
}

void the_current_directory_is_never_searched(void**)
{
    for (const std::string& name :
         {std::string(), std::string("./libm.so.6"), std::string("../lib/libm.so.6"),
          std::string("lib/libm.so.6"), std::string("libm.so.6\0/x", 12)}) {
        const auto lib = Dynlib::open(name);
        assert_false(static_cast<bool>(lib));
        assert_int_equal(lib.error().code, DDS_ERR_ARG);
    }
}

// libanl is part of every glibc and nobody else here loads it.
bool loaded()
{
    void* handle = dlopen("libanl.so.1", RTLD_NOW | RTLD_NOLOAD);
    if (handle)
        dlclose(handle);
    return handle != nullptr;
}

void a_library_goes_with_its_object_unless_it_is_kept(void**)
{
    if (loaded())
        skip();
    {
        auto lib = Dynlib::open("libanl.so.1");
        if (!lib)
            skip();
        Dynlib moved = std::move(*lib);
        assert_true(loaded());
    }
    assert_false(loaded());
    {
        auto lib = Dynlib::open("libanl.so.1");
        lib->keep();
    }
    assert_true(loaded());
}

void what_is_loaded_already_is_seen_and_nothing_else_is_loaded(void**)
{
    if (!loaded()) {
        assert_false(Dynlib::held("libanl.so.1").has_value());
        assert_false(loaded());
    }
    assert_false(Dynlib::held("./no/such/lib.so").has_value());
    const auto names = Dynlib::all_held();
    size_t seen = 0;
    for (const std::string& name : names) {
        seen += name.find("libc.so.6") != std::string::npos;
        assert_false(name.empty());
    }
    assert_int_equal(seen, 1);
}

void a_symbol_of_ones_own_is_told_from_that_of_a_dependency(void**)
{
    auto math = Dynlib::open("libm.so.6");  // it is linked with libc
    const auto libc = Dynlib::held("libc.so.6");
    assert_true(math && libc);
    assert_non_null(math->find_own("cos"));
    assert_non_null(math->find("malloc"));
    assert_null(math->find_own("malloc"));
    assert_non_null(libc->find_own("getenv"));
    assert_null(libc->find("dds_no_such_symbol"));
    const std::string file = Dynlib::file_of(libc->find_own("getenv"));
    assert_true(file.find("libc.so.6") != std::string::npos);
    assert_true(Dynlib::file_of(&file).empty());  // no object's: it is on the stack
    assert_true(Dynlib::held(nullptr).has_value());
}

}  // namespace

int main()
{
    const CMUnitTest tests[] = {
        cmocka_unit_test(a_bare_name_is_found_and_gives_its_symbols),
        cmocka_unit_test(a_library_that_is_not_there_is_named),
        cmocka_unit_test(the_current_directory_is_never_searched),
        cmocka_unit_test(what_is_loaded_already_is_seen_and_nothing_else_is_loaded),
        cmocka_unit_test(a_symbol_of_ones_own_is_told_from_that_of_a_dependency),
        cmocka_unit_test(a_library_goes_with_its_object_unless_it_is_kept),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
