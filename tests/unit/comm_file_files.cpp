// The files of a FileComm one by one: what is read from a damaged, foreign or unsafe one, and how one
// is written.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <set>

#include "base/crc32c.hpp"
#include "comm/group.hpp"
#include "unit.hpp"

namespace {

using namespace dds::filecomm;
using unit::Scratch;

Group group_in(const Scratch& scratch)
{
    auto directory = Directory::open(scratch.path());
    if (!directory)
        fail_msg("%s", directory.error().text.c_str());
    Group group{.path = scratch.path(),
                .ns = "s0",
                .space = "s0",
                .rank = 1,
                .size = 3,
                .nonce = {1, 2, 3},
                .process = this_process()};
    group.directory = std::move(*directory);
    return group;
}

const std::string kBody = "thirty-two bytes of someone else";

std::vector<char> whole_file(const Scratch& scratch, Group& group)
{
    Header header = make_header(Kind::part, 1, 3);
    header.op_bytes = kBody.size();
    assert_true(static_cast<bool>(group.write("good", header, std::as_bytes(std::span(kBody)))));
    std::vector<char> bytes(4096);
    FILE* file = fopen(scratch.at("good").c_str(), "rb");
    bytes.resize(fread(bytes.data(), 1, bytes.size(), file));
    fclose(file);
    assert_int_equal(bytes.size(), sizeof(Header) + kBody.size());
    return bytes;
}

void put(const Scratch& scratch, const std::string& name, const void* bytes, size_t size)
{
    const int fd = open(scratch.at(name).c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, size), size);
    close(fd);
}

// 0: taken; else the class of the error, or of the doubt.
int reading(Group& group, const char* name, bool doubt = true)
{
    group.doubt.reset();
    auto message = group.read(name, Kind::part, 1024);
    if (!message)
        return message.error().code;
    if (*message)
        return 0;
    if (doubt != group.doubt.has_value())
        fail_msg("%s: %s", name, group.doubt ? group.doubt->error.text.c_str() : "no doubt");
    return group.doubt ? group.doubt->error.code : DDS_ERR_NOTFOUND;
}

void a_good_file_reads_as_it_was_written(void**)
{
    const Scratch scratch;
    Group group = group_in(scratch);
    whole_file(scratch, group);
    auto message = group.read("good", Kind::part, 1024);
    assert_true(message && *message);
    assert_int_equal((*message)->header.op_bytes, kBody.size());
    assert_memory_equal((*message)->body.data(), kBody.data(), kBody.size());
    assert_int_equal(reading(group, "none", false), DDS_ERR_NOTFOUND);
}

void a_file_cut_at_any_length_is_not_taken(void**)
{
    const Scratch scratch;
    Group group = group_in(scratch);
    auto bytes = whole_file(scratch, group);
    for (size_t length = 0; length < bytes.size(); length++) {
        put(scratch, "cut", bytes.data(), length);
        assert_int_equal(reading(group, "cut"), DDS_ERR_CORRUPT);
    }
    bytes.push_back(0);  // nor one that is longer
    put(scratch, "cut", bytes.data(), bytes.size());
    assert_int_equal(reading(group, "cut"), DDS_ERR_CORRUPT);
}

void a_file_with_any_bit_flipped_is_not_taken(void**)
{
    const Scratch scratch;
    Group group = group_in(scratch);
    auto bytes = whole_file(scratch, group);
    int versions = 0;
    for (size_t bit = 0; bit < 8 * bytes.size(); bit++) {
        bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
        put(scratch, "flipped", bytes.data(), bytes.size());
        const int code = reading(group, "flipped");
        versions += code == DDS_ERR_VERSION;
        assert_true(code == DDS_ERR_CORRUPT || code == DDS_ERR_VERSION);
        bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
    }
    assert_int_equal(versions, 15);  // the bits of the major version, but the one that leaves 0
    put(scratch, "flipped", bytes.data(), bytes.size());
    assert_int_equal(reading(group, "flipped"), 0);
}

// As on NFS, where the size may be there before the bytes are.
void zeros_in_place_of_bytes_are_not_taken(void**)
{
    const Scratch scratch;
    Group group = group_in(scratch);
    const auto bytes = whole_file(scratch, group);
    for (const size_t shown : {size_t{0}, size_t{8}, sizeof(Header), sizeof(Header) + 16}) {
        auto partly = bytes;
        std::fill(partly.begin() + static_cast<ptrdiff_t>(shown), partly.end(), 0);
        put(scratch, "partly", partly.data(), partly.size());
        assert_int_equal(reading(group, "partly"), DDS_ERR_CORRUPT);
    }
}

void foreign_files_are_not_taken_nor_read_far(void**)
{
    const Scratch scratch;
    Group group = group_in(scratch);
    static const unsigned char png[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n', 0, 0, 0, 13};
    put(scratch, "png", png, sizeof png);
    std::vector<unsigned char> long_png(1 << 20, 0x5a);
    memcpy(long_png.data(), png, sizeof png);
    put(scratch, "long_png", long_png.data(), long_png.size());
    put(scratch, "empty", "", 0);
    put(scratch, "sparse", "", 0);
    assert_int_equal(truncate(scratch.at("sparse").c_str(), off_t{10} << 30), 0);
    for (const char* name : {"png", "long_png", "empty", "sparse"})
        assert_int_equal(reading(group, name), DDS_ERR_CORRUPT);

    // A header that is whole and lies about the length, over 10 GB that are there.
    Header header = make_header(Kind::part, 1, 3);
    header.body_bytes = (uint64_t{10} << 30) - sizeof header;
    header.header_crc = dds::crc32c(0, &header, offsetof(Header, header_crc));
    const int fd = open(scratch.at("sparse").c_str(), O_WRONLY);
    assert_int_equal(pwrite(fd, &header, sizeof header, 0), sizeof header);
    close(fd);
    auto message = group.read("sparse", Kind::part, 1024);
    assert_true(message && *message && (*message)->body.empty());
}

void other_versions_are_told_apart(void**)
{
    const Scratch scratch;
    Group group = group_in(scratch);
    Header header = make_header(Kind::part, 1, 3);
    header.minor = 9;  // a later minor adds nothing that has to be understood
    seal(header, {});
    put(scratch, "minor", &header, sizeof header);
    assert_int_equal(reading(group, "minor"), 0);
    header.major = 2;
    seal(header, {});
    put(scratch, "major", &header, sizeof header);
    assert_int_equal(reading(group, "major"), DDS_ERR_VERSION);
}

void what_is_not_this_user_s_own_file_is_refused_and_never_waited_for(void**)
{
    const Scratch scratch;
    Group group = group_in(scratch);
    const auto bytes = whole_file(scratch, group);
    assert_int_equal(mkfifo(scratch.at("fifo").c_str(), 0600), 0);
    assert_int_equal(mkdir(scratch.at("directory").c_str(), 0700), 0);
    assert_int_equal(symlink(scratch.at("good").c_str(), scratch.at("symlink").c_str()), 0);
    assert_int_equal(symlink("/dev/zero", scratch.at("zero").c_str()), 0);
    put(scratch, "linked", bytes.data(), bytes.size());
    assert_int_equal(link(scratch.at("linked").c_str(), scratch.at("hardlink").c_str()), 0);
    put(scratch, "group_writable", bytes.data(), bytes.size());
    chmod(scratch.at("group_writable").c_str(), 0620);
    put(scratch, "world_writable", bytes.data(), bytes.size());
    chmod(scratch.at("world_writable").c_str(), 0602);
    const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    snprintf(address.sun_path, sizeof address.sun_path, "%s", scratch.at("socket").c_str());
    assert_int_equal(bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    std::vector<const char*> names{"fifo",           "directory",      "symlink",
                                   "zero",           "linked",         "hardlink",
                                   "group_writable", "world_writable", "socket"};
    put(scratch, "foreign", bytes.data(), bytes.size());
    if (geteuid() == 0 && chown(scratch.at("foreign").c_str(), 12345, 0) == 0)
        names.push_back("foreign");
    else
        print_message("not root: another user's file is not tested\n");
    const double begun = unit::now();
    for (const char* name : names) {
        const auto message = group.read(name, Kind::part, 1024);
        if (message || message.error().code != DDS_ERR_PERM)
            fail_msg("%s was taken, or: %s", name, message ? "" : message.error().text.c_str());
        unit::assert_says(message.error().text, scratch.at(name));
    }
    assert_true(unit::now() - begun < 1);
    close(fd);
}

void a_device_is_refused(void**)
{
    auto directory = Directory::open("/dev");
    if (!directory)
        skip();
    const auto file = directory->open_file("zero");
    assert_false(static_cast<bool>(file));
    assert_int_equal(file.error().code, DDS_ERR_PERM);
}

void a_file_is_0600_and_a_directory_0700_whatever_the_umask(void**)
{
    for (const mode_t mask : {mode_t{0}, mode_t{077}, mode_t{0777}}) {
        const Scratch scratch;
        const mode_t before = umask(mask);
        auto directory = Directory::open(scratch.at("made"));
        Header header = make_header(Kind::part, 0, 1);
        seal(header, {});
        const bool written =
            directory && directory->write("file", std::as_bytes(std::span(&header, 1)), {});
        umask(before);
        assert_true(written);
        struct stat st;
        assert_int_equal(stat(scratch.at("made").c_str(), &st), 0);
        assert_int_equal(st.st_mode & 07777, 0700);
        assert_int_equal(stat(scratch.at("made/file").c_str(), &st), 0);
        assert_int_equal(st.st_mode & 07777, 0600);
    }
}

void writing_replaces_links_and_never_follows_them(void**)
{
    const Scratch scratch;
    Group group = group_in(scratch);
    const Scratch victims;
    put(victims, "precious", "precious", 8);
    assert_int_equal(symlink(victims.at("precious").c_str(), scratch.at("a").c_str()), 0);
    assert_int_equal(link(victims.at("precious").c_str(), scratch.at("b").c_str()), 0);
    assert_int_equal(mkfifo(scratch.at("c").c_str(), 0600), 0);
    for (const char* name : {"a", "b", "c"}) {
        Header header = make_header(Kind::part, 1, 3);
        assert_true(static_cast<bool>(group.write(name, header, std::as_bytes(std::span(kBody)))));
        assert_int_equal(reading(group, name), 0);
    }
    struct stat st;
    assert_int_equal(stat(victims.at("precious").c_str(), &st), 0);
    assert_int_equal(st.st_size, 8);
    mkdir(scratch.at("d").c_str(), 0700);
    Header header = make_header(Kind::part, 1, 3);
    assert_int_equal(group.write("d", header, {}).error().code, DDS_ERR_IO);
    for (const std::string& name : scratch.names())
        assert_true(name.find(".tmp.") == std::string::npos);
}

void directories_that_everybody_may_write_are_refused_unless_sticky(void**)
{
    const Scratch scratch;
    for (const auto& [mode, code] :
         {std::pair(0700, 0), std::pair(0770, 0), std::pair(02770, 0), std::pair(0755, 0),
          std::pair(01777, 0), std::pair(0777, DDS_ERR_PERM), std::pair(0702, DDS_ERR_PERM)}) {
        assert_int_equal(chmod(scratch.path().c_str(), static_cast<mode_t>(mode)), 0);
        const auto directory = Directory::open(scratch.path());
        assert_int_equal(directory ? 0 : directory.error().code, code);
    }
    put(scratch, "file", "x", 1);
    chmod(scratch.path().c_str(), 0700);
    assert_int_equal(Directory::open(scratch.at("file")).error().code, DDS_ERR_IO);
}

void a_directory_of_another_user_is_refused_at_once(void**)
{
    if (geteuid() != 0)
        skip();
    const Scratch scratch;
    const auto outcomes = unit::in_processes(1, [&](int) {
        if (setgid(12345) != 0 || setuid(12345) != 0)
            return dds::fail(DDS_ERR_INTERNAL, "setuid");
        auto closed = Directory::open(scratch.path());
        auto inside = Directory::open(scratch.at("new"));
        return closed ? unit::kFine : inside ? unit::kFine : closed.error();
    });
    assert_int_equal(outcomes[0].code, DDS_ERR_PERM);
    assert_true(outcomes[0].seconds < 1);
    unit::assert_says(outcomes[0].text, scratch.path());
}

void a_directory_that_is_removed_or_replaced_is_seen(void**)
{
    const Scratch scratch;
    auto removed = Directory::open(scratch.at("removed"));
    auto replaced = Directory::open(scratch.at("replaced"));
    assert_true(static_cast<bool>(removed->still_there()));
    rmdir(scratch.at("removed").c_str());
    assert_int_equal(removed->still_there().error().code, DDS_ERR_IO);
    unit::assert_says(removed->still_there().error().text, scratch.at("removed"));
    rename(scratch.at("replaced").c_str(), scratch.at("away").c_str());
    assert_int_equal(replaced->still_there().error().code, DDS_ERR_IO);
    mkdir(scratch.at("replaced").c_str(), 0700);
    unit::assert_says(replaced->still_there().error().text, "replaced");
}

void different_names_give_different_files(void**)
{
    std::set<std::string> encoded;
    int count = 0;
    for (int a = 1; a < 256; a++) {
        encoded.insert(encode(std::string(1, static_cast<char>(a))));
        count++;
        for (const char b : {'%', '2', 'E', '.', 'a', '/'}) {
            encoded.insert(encode(std::string{static_cast<char>(a), b}));
            encoded.insert(encode(std::string{b, '2', static_cast<char>(a)}));
            count += 2;
        }
    }
    assert_int_equal(encoded.size(), count);
    for (const std::string& name : encoded)
        assert_true(name.find_first_of("./\n") == std::string::npos);
}

void processes_are_told_apart_by_their_start(void**)
{
    assert_true(life_of(this_process()) == Life::alive);
    Process reused = this_process();
    reused.started--;
    assert_true(life_of(reused) == Life::dead);
    Process elsewhere = this_process();
    elsewhere.boot[0] ^= 1;
    assert_true(life_of(elsewhere) == Life::unknown);
    Process contained = this_process();
    contained.namespace_inode++;
    assert_true(life_of(contained) == Life::unknown);
    const pid_t child = fork();
    if (child == 0)
        _exit(0);
    Process zombie = this_process();
    zombie.pid = child;
    waitpid(child, nullptr, 0);
    assert_true(life_of(zombie) == Life::dead);
}

// Why nothing in FileComm calls fsync.
void what_an_fsync_would_cost_is_told(void**)
{
    const Scratch scratch;
    Group group = group_in(scratch);
    constexpr int kFiles = 20;
    double writing = 0, syncing = 0;
    const int dir = open(scratch.path().c_str(), O_RDONLY | O_DIRECTORY);
    for (int i = 0; i < kFiles; i++) {
        Header header = make_header(Kind::part, 1, 3);
        const std::string name = "file" + std::to_string(i);
        const double begun = unit::now();
        assert_true(static_cast<bool>(group.write(name, header, std::as_bytes(std::span(kBody)))));
        const double written = unit::now();
        const int fd = open(scratch.at(name).c_str(), O_RDONLY);
        assert_true(fsync(fd) == 0 && fsync(dir) == 0);
        close(fd);
        writing += written - begun;
        syncing += unit::now() - written;
    }
    close(dir);
    print_message("a file: %.3f ms to write, %.3f ms more to sync\n", 1e3 * writing / kFiles,
                  1e3 * syncing / kFiles);
}

}  // namespace

int main()
{
    const CMUnitTest tests[] = {
        cmocka_unit_test(a_good_file_reads_as_it_was_written),
        cmocka_unit_test(a_file_cut_at_any_length_is_not_taken),
        cmocka_unit_test(a_file_with_any_bit_flipped_is_not_taken),
        cmocka_unit_test(zeros_in_place_of_bytes_are_not_taken),
        cmocka_unit_test(foreign_files_are_not_taken_nor_read_far),
        cmocka_unit_test(other_versions_are_told_apart),
        cmocka_unit_test(what_is_not_this_user_s_own_file_is_refused_and_never_waited_for),
        cmocka_unit_test(a_device_is_refused),
        cmocka_unit_test(a_file_is_0600_and_a_directory_0700_whatever_the_umask),
        cmocka_unit_test(writing_replaces_links_and_never_follows_them),
        cmocka_unit_test(directories_that_everybody_may_write_are_refused_unless_sticky),
        cmocka_unit_test(a_directory_of_another_user_is_refused_at_once),
        cmocka_unit_test(a_directory_that_is_removed_or_replaced_is_seen),
        cmocka_unit_test(different_names_give_different_files),
        cmocka_unit_test(processes_are_told_apart_by_their_start),
        cmocka_unit_test(what_an_fsync_would_cost_is_told),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
