// The directory of records: what is put is found whole or not at all, and what is not a record is told
// at once.
#include <functional>
#include <set>

#include "shelf.hpp"
#include "small_disk.hpp"

namespace {

using namespace unit;
void what_is_put_is_found_until_it_is_removed(void**)
{
    const Scratch scratch;
    const Shelf shelf = shelf_in(scratch.path());
    assert_true(bool(shelf.put(golden_core())));
    VariableRecord variable = golden_variable();
    assert_true(bool(shelf.put(variable)));
    assert_int_equal(scratch.names().size(), 2);
    const auto core = shelf.look(golden_store());
    assert_true(core && *core && **core == golden_core());
    assert_true(look(shelf) == Seen::record);
    variable.sequence++;
    assert_true(bool(shelf.put(variable)));
    const auto later = shelf.look(variable.name);
    assert_true(later && *later && **later == variable);
    shelf.remove(golden_store());
    shelf.remove(variable.name);
    assert_int_equal(scratch.names().size(), 0);
    Error why;
    const auto gone = shelf.look(golden_store(), &why);
    assert_true(gone && !*gone);
    assert_int_equal(why.code, DDS_ERR_NOTFOUND);
    assert_says(why.text, scratch.at("101112131415161718191a1b1c1d1e1f.core"));
}

void a_record_that_is_refused_is_not_put(void**)
{
    const Scratch scratch;
    const Shelf shelf = shelf_in(scratch.path());
    VariableRecord variable = golden_variable();
    variable.itemsize = 8;
    assert_int_equal(shelf.put(variable).error().code, DDS_ERR_ARG);
    assert_int_equal(scratch.names().size(), 0);
}

void what_is_not_there_or_not_whole_is_not_yet(void**)
{
    const Scratch scratch;
    const Shelf shelf = shelf_in(scratch.path());
    int code;
    assert_true(look(shelf, &code) == Seen::not_yet);
    assert_int_equal(code, DDS_ERR_NOTFOUND);
    const Bytes bytes = golden_bytes();
    const std::string at = scratch.at(golden_file());
    for (size_t length = 0; length < bytes.size(); length++) {
        std::string text;
        put_file(at, bytes.data(), length);
        assert_true(look(shelf, &code, &text) == Seen::not_yet);
        assert_int_equal(code, DDS_ERR_CORRUPT);
        assert_says(text, at);
        assert_int_equal(truncate(at.c_str(), static_cast<off_t>(bytes.size())), 0);  // zeros
        const bool page = length < 64 && length > 0;  // no file system shows so little
        if (!page && length + 16 <= bytes.size())
            assert_true(look(shelf) == Seen::not_yet);
    }
    put_file(at, bytes.data(), bytes.size());
    assert_true(look(shelf) == Seen::record);
    assert_int_equal(truncate(at.c_str(), 0), 0);
    assert_int_equal(truncate(at.c_str(), 1 << 20), 0);
    assert_true(look(shelf) == Seen::not_yet);
}

void what_is_no_record_is_corrupt_at_once(void**)
{
    const Scratch scratch;
    const Shelf shelf = shelf_in(scratch.path());
    const std::string at = scratch.at(golden_file());
    const auto corrupt = [&](const void* bytes, size_t size, const char* words) {
        int code;
        std::string text;
        put_file(at, bytes, size);
        assert_true(look(shelf, &code, &text) == Seen::refused);
        assert_int_equal(code, DDS_ERR_CORRUPT);
        assert_says(text, at);
        assert_says(text, words);
    };
    Bytes png(1 << 20, std::byte{0x5a});
    memcpy(png.data(), "\x89PNG\r\n\x1a\n", 8);
    corrupt(png.data(), 33, "33 bytes");
    corrupt(png.data(), png.size(), "is no record");
    Bytes damaged = golden_bytes();
    damaged[100] ^= std::byte{1};
    corrupt(damaged.data(), damaged.size(), "the body is damaged");
    const Bytes core = *dds::write_record(golden_core());
    corrupt(core.data(), core.size(), "not a variable's");
    VariableRecord other = golden_variable();
    other.name = "other";
    const Bytes renamed = *dds::write_record(other);
    corrupt(renamed.data(), renamed.size(), "variable \"other\"");

    put_file(at, "", 0);
    assert_int_equal(truncate(at.c_str(), off_t{10} << 30), 0);
    const double begun = now();
    int code;
    assert_true(look(shelf, &code) == Seen::refused);
    assert_int_equal(code, DDS_ERR_CORRUPT);
    assert_true(now() - begun < 1);

    CoreRecord stranger = golden_core();
    stranger.store[0] ^= 1;
    const Bytes strange = *dds::write_record(stranger);
    put_file(scratch.at(dds::core_file(golden_store())), strange.data(), strange.size());
    assert_int_equal(shelf.look(golden_store()).error().code, DDS_ERR_CORRUPT);
}

void a_later_version_is_told_at_once(void**)
{
    const Scratch scratch;
    const Shelf shelf = shelf_in(scratch.path());
    const Bytes later = with_header(golden_bytes(), [](format::Header& h) { h.major = 2; });
    put_file(scratch.at(golden_file()), later.data(), later.size());
    int code;
    std::string text;
    assert_true(look(shelf, &code, &text) == Seen::refused);
    assert_int_equal(code, DDS_ERR_VERSION);
    assert_says(text, scratch.at(golden_file()));
}

// Each in the place of the record.
void what_is_not_this_user_s_own_file_is_refused_and_never_waited_for(void**)
{
    const Bytes bytes = golden_bytes();
    const Scratch elsewhere;
    put_file(elsewhere.at("record"), bytes.data(), bytes.size());
    const std::string target = elsewhere.at("record");
    const auto write = [&](const std::string& at) { put_file(at, bytes.data(), bytes.size()); };
    const std::pair<const char*, std::function<void(const std::string&)>> traps[] = {
        {"FIFO", [](const std::string& at) { mkfifo(at.c_str(), 0600); }},
        {"directory", [](const std::string& at) { mkdir(at.c_str(), 0700); }},
        {"socket", [](const std::string& at) { bind_socket(at); }},
        {"link",
         [&](const std::string& at) { assert_int_equal(symlink(target.c_str(), at.c_str()), 0); }},
        {"hanging link",
         [](const std::string& at) { assert_int_equal(symlink("none", at.c_str()), 0); }},
        {"zeros",
         [](const std::string& at) { assert_int_equal(symlink("/dev/zero", at.c_str()), 0); }},
        {"hard link",
         [&](const std::string& at) { assert_int_equal(link(target.c_str(), at.c_str()), 0); }},
        {"group", [&](const std::string& at) { write(at), chmod(at.c_str(), 0620); }},
        {"others", [&](const std::string& at) { write(at), chmod(at.c_str(), 0602); }},
        {"foreign",
         [&](const std::string& at) {
             write(at);
             if (geteuid() != 0 || chown(at.c_str(), 12345, 0) != 0)
                 chmod(at.c_str(), 0602), print_message("not root: no file of another user\n");
         }},
    };
    for (const auto& [name, lay] : traps) {
        const Scratch scratch;
        const Shelf shelf = shelf_in(scratch.path());
        lay(scratch.at(golden_file()));
        const double begun = now();
        int code;
        std::string text;
        if (look(shelf, &code, &text) != Seen::refused || code != DDS_ERR_PERM)
            fail_msg("%s: %d %s", name, code, text.c_str());
        assert_says(text, golden_file());
        assert_true(now() - begun < 1);
    }
}

void putting_replaces_links_and_never_follows_them(void**)
{
    const Scratch scratch, victims;
    const Shelf shelf = shelf_in(scratch.path());
    put_file(victims.at("precious"), "precious", 8);
    const std::string at = scratch.at(golden_file());
    for (int trap = 0; trap < 3; trap++) {
        unlink(at.c_str());
        assert_int_equal(trap == 0   ? symlink(victims.at("precious").c_str(), at.c_str())
                         : trap == 1 ? link(victims.at("precious").c_str(), at.c_str())
                                     : mkfifo(at.c_str(), 0600),
                         0);
        assert_true(bool(shelf.put(golden_variable())));
        assert_true(look(shelf) == Seen::record);
    }
    struct stat st;
    assert_int_equal(stat(victims.at("precious").c_str(), &st), 0);
    assert_int_equal(st.st_size, 8);
    unlink(at.c_str());
    mkdir(at.c_str(), 0700);
    assert_int_equal(shelf.put(golden_variable()).error().code, DDS_ERR_IO);
    assert_int_equal(scratch.names().size(), 1);
}

void a_record_is_0600_and_its_directory_0700_whatever_the_umask(void**)
{
    for (const mode_t mask : {mode_t{0}, mode_t{077}, mode_t{0777}}) {
        const Scratch scratch;
        const mode_t before = umask(mask);
        auto shelf = Shelf::open(scratch.at("made"));
        const bool put = shelf && shelf->put(golden_core()) && shelf->put(golden_variable());
        umask(before);
        assert_true(put);
        struct stat st;
        assert_int_equal(stat(scratch.at("made").c_str(), &st), 0);
        assert_int_equal(st.st_mode & 07777, 0700);
        for (const std::string& name : scratch.names("made")) {
            assert_int_equal(stat(scratch.at("made/" + name).c_str(), &st), 0);
            assert_int_equal(st.st_mode & 07777, 0600);
        }
        assert_int_equal(scratch.names("made").size(), 2);
    }
}

// With bytes or with names enough for one record.
void a_full_file_system_is_told_and_nothing_is_left(void**)
{
    for (const char* limit : {"size=64k", "nr_inodes=2"}) {
        const Scratch scratch;
        const std::string dir = scratch.at("full");
        on_a_small_disk(dir, limit, [&] {
            auto shelf = Shelf::open(dir);
            VariableRecord large = golden_large();
            large.meta.resize(VariableRecord::kMostMeta);
            if (!shelf || !shelf->put(golden_variable()))
                return 1;
            const auto done = shelf->put(large);
            if (done || done.error().code != DDS_ERR_NOSPC)
                return 2;
            if (done.error().text.find(dir) == std::string::npos)
                return 3;
            if (look(*shelf) != Seen::record || scratch.names("full").size() != 1)
                return 4;
            return 0;
        });
    }
}

void a_directory_that_is_removed_or_replaced_is_told(void**)
{
    const Scratch scratch;
    const Shelf removed = shelf_in(scratch.at("removed")), moved = shelf_in(scratch.at("moved"));
    rmdir(scratch.at("removed").c_str());
    rename(scratch.at("moved").c_str(), scratch.at("away").c_str());
    int code;
    assert_true(look(removed, &code) == Seen::refused);
    assert_int_equal(code, DDS_ERR_IO);
    assert_true(look(moved, &code) == Seen::refused);
    assert_int_equal(code, DDS_ERR_IO);
    assert_int_equal(removed.put(golden_variable()).error().code, DDS_ERR_IO);
}

// Two writers; every look gives one record whole, of one of them.
void a_record_that_is_replaced_all_the_time_is_always_whole(void**)
{
    const Scratch scratch;
    const Shelf shelf = shelf_in(scratch.path());
    assert_true(bool(shelf.put(golden_variable())));
    const auto outcomes = in_processes(4, [&](int rank) {
        for (uint64_t i = 1; i <= 500; i++) {
            VariableRecord variable = golden_variable();
            variable.sequence = 1000 + i;
            variable.meta.assign((1000 + i) % 50, static_cast<std::byte>(rank));
            if (rank < 2) {
                if (auto done = shelf.put(variable); !done)
                    return done.error();
                continue;
            }
            const auto seen = shelf.look(variable.name);
            if (!seen)
                return seen.error();
            if (!*seen)  // replaced since it was opened
                continue;
            const Bytes& meta = (*seen)->meta;
            if ((*seen)->sequence == golden_variable().sequence)
                continue;
            if (meta.size() != (*seen)->sequence % 50 ||
                std::set<std::byte>(meta.begin(), meta.end()).size() > 1)
                return dds::fail(DDS_ERR_CORRUPT, "bytes of two records in one");
        }
        return kFine;
    });
    assert_all(outcomes, DDS_SUCCESS);
    assert_int_equal(scratch.names().size(), 1);
}

}  // namespace

int main()
{
    const CMUnitTest tests[] = {
        cmocka_unit_test(what_is_put_is_found_until_it_is_removed),
        cmocka_unit_test(a_record_that_is_refused_is_not_put),
        cmocka_unit_test(what_is_not_there_or_not_whole_is_not_yet),
        cmocka_unit_test(what_is_no_record_is_corrupt_at_once),
        cmocka_unit_test(a_later_version_is_told_at_once),
        cmocka_unit_test(what_is_not_this_user_s_own_file_is_refused_and_never_waited_for),
        cmocka_unit_test(putting_replaces_links_and_never_follows_them),
        cmocka_unit_test(a_record_is_0600_and_its_directory_0700_whatever_the_umask),
        cmocka_unit_test(a_full_file_system_is_told_and_nothing_is_left),
        cmocka_unit_test(a_directory_that_is_removed_or_replaced_is_told),
        cmocka_unit_test(a_record_that_is_replaced_all_the_time_is_always_whole),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
