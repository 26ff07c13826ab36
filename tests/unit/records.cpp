// Records as bytes: what is written is read, today's writer gives the bytes of every release, and
// damage is told as what it is.
#include "record_checks.hpp"

namespace {

using namespace unit;
using dds::may_yet_come;
using dds::read_core_record;
using dds::read_variable_record;
using dds::write_record;
using format::Header;

std::string golden;  // the directory

Bytes contents(const std::string& path)
{
    Bytes bytes(1 << 20);
    FILE* file = fopen(path.c_str(), "rb");
    bytes.resize(file ? fread(bytes.data(), 1, bytes.size(), file) : 0);
    if (file)
        fclose(file);
    return bytes;
}

void random_records_read_as_they_were_written(void**)
{
    Random random(1);
    for (const size_t ranks : {1, 2, 3, 4, 7, 16, 64, 255, 1000, 4096})
        for (int i = 0; i < (ranks > 100 ? 3 : 60); i++) {
            const CoreRecord core = random_core(random, ranks);
            const auto core_again = read_core_record(written(core));
            assert_true(core_again && *core_again == core);
            const VariableRecord variable = random_variable(random, ranks);
            const auto again = read_variable_record(written(variable));
            if (!again)
                fail_msg("%s", again.error().text.c_str());
            assert_true(*again == variable);
        }
}

void the_largest_store_fits(void**)
{
    CoreRecord core = golden_core();
    core.ranks.assign(65536, core.ranks[0]);
    for (auto& rank : core.ranks) {
        rank.address.assign(CoreRecord::kMostAddress, 'a');
        rank.socket.assign(CoreRecord::kMostSocket, 's');
    }
    const auto again = read_core_record(written(core));
    assert_true(again && *again == core);
    core.ranks.push_back(core.ranks[0]);
    assert_int_equal(write_record(core).error().code, DDS_ERR_ARG);
}

std::vector<std::pair<std::string, Bytes>> golden_files()
{
    return {{golden + "/core.bin", written(golden_core())},
            {golden + "/variable.bin", written(golden_variable())},
            {golden + "/large.bin", written(golden_large())}};
}

void golden_records_are_what_is_written_today(void**)
{
    for (const auto& [path, bytes] : golden_files())
        assert_true(contents(path) == bytes);
    assert_true(*read_core_record(contents(golden + "/core.bin")) == golden_core());
    assert_true(*read_variable_record(contents(golden + "/variable.bin")) == golden_variable());
    assert_true(*read_variable_record(contents(golden + "/large.bin")) == golden_large());
}

void a_record_cut_at_any_length_is_not_taken_and_may_yet_come(void**)
{
    for (const auto& [path, whole] : golden_files())
        for (size_t length = 0; length < whole.size(); length++) {
            const Bytes cut(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(length));
            assert_int_equal(reading(cut).code, DDS_ERR_CORRUPT);
            assert_true(may_yet_come(cut, cut.size()));
        }
}

void a_record_that_goes_on_is_not_taken(void**)
{
    for (auto& [path, longer] : golden_files()) {
        longer.push_back(std::byte{0});
        assert_int_equal(reading(longer).code, DDS_ERR_CORRUPT);
        assert_false(may_yet_come(longer, longer.size()));
    }
}

void a_record_with_any_bit_flipped_is_not_taken_nor_waited_for(void**)
{
    int taken = 0, flips = 0;
    for (auto& [path, bytes] : golden_files()) {
        int versions = 0;
        for (size_t bit = 0; bit < 8 * bytes.size(); bit++, flips++) {
            const auto mask = static_cast<std::byte>(1 << bit % 8);
            bytes[bit / 8] ^= mask;
            const int code = reading(bytes).code;
            taken += code == DDS_SUCCESS;
            versions += code == DDS_ERR_VERSION;
            assert_true(code == DDS_ERR_CORRUPT || code == DDS_ERR_VERSION);
            assert_false(may_yet_come(bytes, bytes.size()));
            bytes[bit / 8] ^= mask;
        }
        assert_int_equal(versions, 15);  // the bits of the major version, but the one that leaves 0
        assert_int_equal(reading(bytes).code, DDS_SUCCESS);
    }
    assert_int_equal(taken, 0);
    print_message("%d bits flipped, %d records taken\n", flips, taken);
}

// As on NFS, where the size may be there before the bytes are.
void zeros_in_place_of_bytes_are_waited_for(void**)
{
    VariableRecord variable = golden_large();
    variable.meta = counted<Bytes>(60'000, 1);
    const Bytes whole = written(variable);
    for (size_t from = 0; from < whole.size(); from += 4096)
        for (const size_t to : {std::min(from + 4096, whole.size()), whole.size()}) {
            Bytes partly = whole;
            std::fill(partly.begin() + static_cast<ptrdiff_t>(from),
                      partly.begin() + static_cast<ptrdiff_t>(to), std::byte{0});
            assert_int_equal(reading(partly).code, DDS_ERR_CORRUPT);
            assert_true(may_yet_come(partly, partly.size()));
        }
}

void foreign_bytes_are_not_waited_for(void**)
{
    Random random(2);
    const std::string png = "\x89PNG\r\n\x1a\n", elf = "\x7f"
                                                       "ELF";
    for (const std::string& start : {png, elf, std::string("x"), std::string("LIBDDT")})
        for (const size_t size : {start.size(), size_t{12}, size_t{64}, size_t{5000}}) {
            Bytes bytes(std::max(size, start.size()), std::byte{'y'});
            memcpy(bytes.data(), start.data(), start.size());
            assert_int_equal(reading(bytes).code, DDS_ERR_CORRUPT);
            assert_false(may_yet_come(bytes, bytes.size()));
        }
    for (int i = 0; i < 10'000; i++)
        assert_int_equal(reading(random_bytes(random, 300)).code, DDS_ERR_CORRUPT);
    const Bytes zeros(64);
    assert_false(may_yet_come(zeros, dds::kMostRecord + 1));
    const auto start = dds::check_record_start(zeros, dds::kMostRecord + 1);
    assert_says(start.error().text, "at most");
}

void a_later_minor_version_is_read_and_what_it_adds_is_skipped(void**)
{
    Random random(3);
    for (const auto& [path, whole] : golden_files()) {
        Bytes later(whole.begin(), whole.begin() + sizeof(Header));
        const auto at = entries(whole);
        for (size_t i = 0; i + 1 < at.size(); i++) {
            const Bytes more = random_bytes(random, 40);
            const auto bytes = static_cast<uint32_t>(at[i + 1] - at[i] + more.size());
            const size_t begin = later.size();
            later.insert(later.end(), whole.begin() + static_cast<ptrdiff_t>(at[i]),
                         whole.begin() + static_cast<ptrdiff_t>(at[i + 1]));
            memcpy(later.data() + begin, &bytes, sizeof bytes);
            later.insert(later.end(), more.begin(), more.end());
        }
        for (const uint32_t bytes : {4u, 9u, 100u}) {  // entries that are not known
            const size_t begin = later.size();
            later.resize(begin + bytes, std::byte{0xee});
            memcpy(later.data() + begin, &bytes, sizeof bytes);
        }
        later.resize(later.size() + sizeof(format::Trailer));
        later[10] = std::byte{9};  // the minor version
        seal(later);
        if (whole[12] == std::byte{1})
            assert_true(*read_core_record(later) == *read_core_record(whole));
        else
            assert_true(*read_variable_record(later) == *read_variable_record(whole));
    }
}

void a_later_major_version_is_told_with_both_numbers(void**)
{
    for (const auto& [path, whole] : golden_files()) {
        const Bytes later = with_header(whole, [](Header& h) {
            h.major = 2;
            h.minor = 7;
        });
        assert_refused(later, DDS_ERR_VERSION, "version 2.7");
        assert_refused(later, DDS_ERR_VERSION, "knows version 1");
    }
    Bytes short_one = written(golden_core());  // whose layout may be another
    short_one.resize(64);
    short_one[8] = std::byte{3};
    assert_refused(short_one, DDS_ERR_VERSION, "version 3.0");
}

void a_name_that_no_variable_has_is_not_written(void**)
{
    for (const std::string& name :
         {std::string(), std::string(256, 'n'), std::string(1 << 20, 'n'), std::string("a\0b", 3),
          std::string("\xff"), std::string("\xed\xa0\x80"), std::string("\xc0\xaf")}) {
        VariableRecord variable = golden_variable();
        variable.name = name;
        assert_int_equal(write_record(variable).error().code, DDS_ERR_ARG);
    }
}

void a_variable_of_another_life_or_size_of_its_store_is_told(void**)
{
    const CoreRecord core = golden_core();
    VariableRecord variable = golden_variable();
    assert_true(bool(dds::check_together(variable, core)));
    variable.epoch++;
    assert_int_equal(dds::check_together(variable, core).error().code, DDS_ERR_STALE);
    variable = golden_variable();
    variable.store[15] ^= 1;
    assert_int_equal(dds::check_together(variable, core).error().code, DDS_ERR_STALE);
    variable = golden_variable();
    variable.rows.push_back(0);
    assert_int_equal(dds::check_together(variable, core).error().code, DDS_ERR_CORRUPT);
}

}  // namespace

int main(int count, char** arguments)
{
    if (count < 2)
        return 2;
    golden = arguments[1];
    if (count > 2 &&
        strcmp(arguments[2], "write") == 0) {  // for a new version, beside the old ones
        for (const auto& [path, bytes] : golden_files()) {
            FILE* file = fopen(path.c_str(), "wb");
            if (!file || fwrite(bytes.data(), 1, bytes.size(), file) != bytes.size() ||
                fclose(file))
                return 1;
        }
        return 0;
    }
    const CMUnitTest tests[] = {
        cmocka_unit_test(random_records_read_as_they_were_written),
        cmocka_unit_test(the_largest_store_fits),
        cmocka_unit_test(golden_records_are_what_is_written_today),
        cmocka_unit_test(a_record_cut_at_any_length_is_not_taken_and_may_yet_come),
        cmocka_unit_test(a_record_that_goes_on_is_not_taken),
        cmocka_unit_test(a_record_with_any_bit_flipped_is_not_taken_nor_waited_for),
        cmocka_unit_test(zeros_in_place_of_bytes_are_waited_for),
        cmocka_unit_test(foreign_bytes_are_not_waited_for),
        cmocka_unit_test(a_later_minor_version_is_read_and_what_it_adds_is_skipped),
        cmocka_unit_test(a_later_major_version_is_told_with_both_numbers),
        cmocka_unit_test(a_name_that_no_variable_has_is_not_written),
        cmocka_unit_test(a_variable_of_another_life_or_size_of_its_store_is_told),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
