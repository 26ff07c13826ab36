// How files of records are called, and what becomes of those of dead processes.
#include <signal.h>

#include <set>

#include "shelf.hpp"

namespace {

using namespace unit;
namespace filecomm = dds::filecomm;

void no_name_leaves_the_directory_nor_takes_another_s_file(void**)
{
    const Scratch scratch;
    const Shelf shelf = shelf_in(scratch.at("in"));
    size_t count = 0;
    for (const std::string& name : nasty_names()) {
        VariableRecord variable = golden_variable();
        variable.name = name;
        assert_true(bool(shelf.put(variable)));
        assert_int_equal(scratch.names("in").size(), ++count);
    }
    for (const std::string& name : nasty_names()) {
        const auto record = shelf.look(name);
        assert_true(record && *record && (*record)->name == name);
    }
    assert_int_equal(scratch.names().size(), 1);
}

void different_names_give_different_files(void**)
{
    Random random(1);
    std::set<std::string> names, files;
    const auto add = [&](const std::string& name) {
        if (name.empty())
            return;
        names.insert(name);
        const std::string file = dds::variable_file(name);
        files.insert(file);
        assert_true(file.size() <= 104);
        assert_true(file.find('/') == std::string::npos && file.find('.') == file.size() - 4);
        for (size_t at = 0; (at = file.find('%', at)) != std::string::npos; at++)  // none is cut
            assert_true(isxdigit(file[at + 1]) && isxdigit(file[at + 2]));
    };
    assert_string_equal(dds::variable_file("x").c_str(), "x.bin");
    assert_string_equal(dds::variable_file("a_B-9").c_str(), "a_B-9.bin");
    assert_string_equal(dds::variable_file("a/b").c_str(), "a%2Fb.bin");
    for (const std::string& name : nasty_names()) {
        add(name);
        // A name that is another's file, or what its file is cut to.
        const std::string file = dds::variable_file(name);
        add(file);
        add(file.substr(0, file.size() - 4));
    }
    for (int a = 1; a < 256; a++)
        for (const char b : {'%', '2', 'F', '.', 'a', '/', '~'}) {
            add({static_cast<char>(a)});
            add({static_cast<char>(a), b});
            add({b, '2', static_cast<char>(a)});
        }
    for (size_t length = 60; length < 255; length++)  // about where names are cut
        for (const char last : {'a', '/', '%', '~'}) {
            add(std::string(length, 'a') + last);
            add(std::string(length, '/') + last);
        }
    for (int i = 0; i < 20'000; i++)
        add(random_name(random));
    assert_int_equal(files.size(), names.size());
    print_message("%zu names, %zu files\n", names.size(), files.size());
}

void a_process_is_told_by_its_stem(void**)
{
    const filecomm::Process self = filecomm::this_process();
    const std::string stem = dds::process_stem(self);
    assert_true(stem.size() <= 34 && stem.find('.') == std::string::npos);
    const auto again = dds::process_of(stem + ".tmp.1");
    assert_true(again && again->pid == self.pid && again->started == self.started);
    assert_true(filecomm::life_of(*again) == filecomm::Life::alive);
    filecomm::Process other = self;
    other.boot[3] ^= 1;
    assert_false(dds::process_of(dds::process_stem(other) + ".new").has_value());
    other = self;
    other.namespace_inode++;
    assert_false(dds::process_of(dds::process_stem(other) + ".new").has_value());
    const std::string tag = stem.substr(0, 13);
    for (const std::string& bad :
         {stem, tag, tag + "-", tag + "-1", tag + "-1-", tag + "-1-2", tag + "--1-2.x",
          tag + "-1.2", tag + "-g-2.x", tag + "-1-2g.x", tag + "-ffffffffffffffff-1.x",
          tag + "-1--2.x", tag + "-1-fffffffffffffffff.x", tag + "-+1-2.x", std::string("x.bin"),
          std::string()})
        if (dds::process_of(bad))
            fail_msg("%s", bad.c_str());
}

// What each kind of process left; of the dead one it goes.
void what_the_dead_left_is_swept_and_nothing_else(void**)
{
    const Scratch scratch;
    const Shelf shelf = shelf_in(scratch.path());
    assert_true(bool(shelf.put(golden_core())) && bool(shelf.put(golden_variable())));
    fflush(nullptr);
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
        const filecomm::Process self = filecomm::this_process();
        _exit(write(ends[1], &self, sizeof self) == sizeof self ? 0 : 1);
    }
    filecomm::Process dead;
    assert_int_equal(read(ends[0], &dead, sizeof dead), sizeof dead);
    close(ends[0]);
    close(ends[1]);
    waitpid(child, nullptr, 0);

    filecomm::Process reused = filecomm::this_process(), elsewhere = dead;
    reused.started--;
    elsewhere.boot[0] ^= 1;
    std::set<std::string> gone, stays;
    for (const std::string& name : scratch.names())
        stays.insert(name);
    const auto leave = [&](std::set<std::string>& whose, const filecomm::Process& process) {
        const std::string stem = dds::process_stem(process);
        put_file(scratch.at(stem + ".tmp.0123456789abcdef"), "", 0);
        put_file(scratch.at(stem + ".0123456789abcdef.new"), "half", 4);
        bind_socket(scratch.at(stem + ".sock"));
        for (const char* end : {".tmp.0123456789abcdef", ".0123456789abcdef.new", ".sock"})
            whose.insert(stem + end);
    };
    leave(gone, dead);
    leave(gone, reused);
    leave(stays, filecomm::this_process());
    leave(stays, elsewhere);
    const std::string stem = dds::process_stem(dead);
    for (const char* name : {"x.tmp.0123456789abcdef", "+0-0-0.new", "+.new", "+"}) {
        put_file(scratch.at(name), "", 0);
        stays.insert(name);
    }
    mkdir(scratch.at(stem + ".dir").c_str(), 0700);
    mkfifo(scratch.at(stem + ".fifo").c_str(), 0600);
    assert_int_equal(symlink("x", scratch.at(stem + ".link").c_str()), 0);
    stays.insert({stem + ".dir", stem + ".fifo", stem + ".link"});
    if (geteuid() == 0) {
        put_file(scratch.at(stem + ".foreign"), "", 0);
        assert_int_equal(chown(scratch.at(stem + ".foreign").c_str(), 12345, 0), 0);
        stays.insert(stem + ".foreign");
    }
    assert_int_equal(shelf.sweep(), gone.size());
    const auto left = scratch.names();
    assert_true(std::set<std::string>(left.begin(), left.end()) == stays);
    assert_int_equal(shelf.sweep(), 0);
    assert_true(look(shelf) == Seen::record);
}

#if DDS_TESTING
// In a program of its own: failpoints are read once.
int put_one(const char* path)
{
    const auto shelf = Shelf::open(path);
    VariableRecord later = golden_variable();
    later.sequence++;
    return shelf && shelf->put(later) ? 0 : 1;
}

// Killed at each step of a put: a reader sees the record before or nothing, and a sweep leaves none
// of it.
void a_writer_that_is_killed_leaves_nothing_that_stays(void**)
{
    for (const bool before : {false, true})
        for (const char* point : {"comm.file.write", "comm.file.rename"}) {
            const Scratch scratch;
            const Shelf shelf = shelf_in(scratch.path());
            if (before)
                assert_true(bool(shelf.put(golden_variable())));
            const auto outcomes = in_processes(1, [&](int) {
                setenv("DDSTORE_FAILPOINT", (std::string(point) + ":kill").c_str(), 1);
                execl("/proc/self/exe", "shelf", scratch.path().c_str(), nullptr);
                return kFine;
            });
            assert_int_equal(outcomes[0].code, -SIGKILL);
            assert_true(look(shelf) == (before ? Seen::record : Seen::not_yet));
            assert_int_equal(shelf.sweep(), strcmp(point, "comm.file.rename") == 0);
            assert_int_equal(scratch.names().size(), before);
        }
}
#endif

}  // namespace

int main([[maybe_unused]] int count, [[maybe_unused]] char** arguments)
{
#if DDS_TESTING
    if (count > 1)
        return put_one(arguments[1]);
#endif
    const CMUnitTest tests[] = {
        cmocka_unit_test(no_name_leaves_the_directory_nor_takes_another_s_file),
        cmocka_unit_test(different_names_give_different_files),
        cmocka_unit_test(a_process_is_told_by_its_stem),
        cmocka_unit_test(what_the_dead_left_is_swept_and_nothing_else),
#if DDS_TESTING
        cmocka_unit_test(a_writer_that_is_killed_leaves_nothing_that_stays),
#endif
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
