// Records whose checksums are right and whose numbers are not: each lie is told, and where it stands.
#include "record_checks.hpp"

namespace {

using namespace unit;
using dds::read_core_record;
using dds::read_variable_record;
using dds::write_record;
using format::DescriptionEntry;
using format::Header;
using format::PartitionEntry;
using format::ProviderEntry;
using format::RankEntry;
using format::SegmentEntry;

void lies_of_a_header_are_refused(void**)
{
    const Bytes core = written(golden_core()), variable = written(golden_variable());
    const auto lie = [&](const auto& change) { return with_header(variable, change); };
    assert_refused(lie([](Header& h) { h.major = 0; }), DDS_ERR_CORRUPT, "is no record");
    assert_refused(lie([](Header& h) { h.kind = format::Kind{3}; }), DDS_ERR_CORRUPT, "kind 3");
    assert_refused(lie([](Header& h) { h.body_bytes--; }), DDS_ERR_CORRUPT, "in the body");
    assert_refused(lie([](Header& h) { h.body_bytes = ~uint64_t{0} - 79; }), DDS_ERR_CORRUPT,
                   "in the body");
    assert_refused(lie([](Header& h) { h.epoch = 0; }), DDS_ERR_CORRUPT, "epoch is 0");
    assert_refused(with_header(core, [](Header& h) { h.epoch = 0; }), DDS_ERR_CORRUPT,
                   "epoch is 0");
    assert_says(read_core_record(variable).error().text, "is a variable's record, not a store's");
    assert_says(read_variable_record(core).error().text, "is a store's record, not a variable's");
    // One kind as the other.
    assert_refused(with_header(core, [](Header& h) { h.kind = format::Kind::variable; }),
                   DDS_ERR_CORRUPT, "byte");
    assert_refused(lie([](Header& h) { h.kind = format::Kind::core; }), DDS_ERR_CORRUPT, "");
}

void lies_of_a_description_are_refused(void**)
{
    const Bytes whole = written(golden_variable());
    const auto refused = [&](const char* words, const auto& change, int code = DDS_ERR_CORRUPT) {
        assert_refused(with_entry<DescriptionEntry>(whole, 0, change), code, words);
    };
    using D = DescriptionEntry;
    refused("", [](D& d) { d.bytes = 0; });
    refused("the description of 47 bytes", [](D& d) { d.bytes = 47; });
    refused("the description of 4294967295 bytes", [](D& d) { d.bytes = ~0u; });
    refused("a shape of 34359738360 bytes", [](D& d) { d.ndim = ~0u; });
    refused("a name of 4294967295 bytes", [](D& d) { d.name_bytes = ~0u; });
    refused("a name of 0 bytes", [](D& d) { d.name_bytes = 0; });
    refused("meta of 11 bytes", [](D& d) { d.meta_bytes++; });
    refused("have 4 bytes, not 8", [](D& d) { d.itemsize = 8; });
    refused("have 4 bytes, not 0", [](D& d) { d.itemsize = 0; });
    refused(
        "type 16", [](D& d) { d.type = 16; }, DDS_ERR_VERSION);
    refused(
        "type -1", [](D& d) { d.type = -1; }, DDS_ERR_VERSION);
    refused(
        "flags 0x80000000", [](D& d) { d.flags = 1u << 31; }, DDS_ERR_VERSION);
    refused("a row of -1 elements", [](D& d) { d.disp = -1; });
    refused("the shape of a row has 6 elements, disp is 7", [](D& d) { d.disp = 7; });
    refused("version -1", [](D& d) { d.published = -1; });
    VariableRecord flat = golden_variable();
    flat.shape.clear();
    const Bytes huge = with_entry<D>(written(flat), 0, [](D& d) { d.disp = INT64_MAX / 4 + 1; });
    assert_refused(huge, DDS_ERR_CORRUPT, "passes 2^63 bytes");
}

void lies_of_a_name_or_shape_are_refused(void**)
{
    const auto refused = [](const char* words, const auto& change) {
        VariableRecord variable = golden_variable();
        variable.name = "name";
        variable.shape = {2, 3, 1};
        Bytes bytes = written(variable);
        std::byte* shape = bytes.data() + sizeof(Header) + sizeof(DescriptionEntry);
        change(shape, reinterpret_cast<char*>(shape) + 24);
        seal(bytes);
        assert_refused(bytes, DDS_ERR_CORRUPT, words);
    };
    refused("UTF-8", [](std::byte*, char* name) { name[1] = '\xff'; });
    refused("NUL", [](std::byte*, char* name) { name[2] = '\0'; });
    refused("0 bytes", [](std::byte*, char* name) { name[0] = '\0'; });
    const auto extent = [](std::byte* shape, size_t i, int64_t value) {
        memcpy(shape + 8 * i, &value, sizeof value);
    };
    refused("extent 1 of a row is -3", [&](std::byte* s, char*) { extent(s, 1, -3); });
    refused("has 0 elements", [&](std::byte* s, char*) { extent(s, 0, 0); });
    refused("extent 1", [&](std::byte* s, char*) { extent(s, 0, INT64_MAX); });
}

void lies_of_a_partition_are_refused(void**)
{
    const Bytes whole = written(golden_variable());
    const auto refused = [&](const char* words, const auto& change) {
        assert_refused(with_entry<PartitionEntry>(whole, 1, change), DDS_ERR_CORRUPT, words);
    };
    using P = PartitionEntry;
    refused("numbers of rows of 34359738360 bytes", [](P& p) { p.ranks = ~0u; });
    refused("numbers of rows of 32 bytes", [](P& p) { p.ranks = 4; });
    refused("10 rows in all, and ranks that have 9", [](P& p) { p.total = 10; });
    refused("4294967295 segments do not fit", [](P& p) { p.segments = ~0u; });
    refused("3 segments do not fit", [](P& p) { p.segments = 3; });
    refused("segment 1 is not that of rank 2", [](P& p) { p.segments = 1; });
    refused("0 ranks", [](P& p) {
        p.ranks = 0;
        p.total = 0;
    });
    refused("of rank 2, which has no rows", [](P& p) {
        p.ranks = 2;
        p.total = 4;
    });
    // The numbers themselves, with a total that matches.
    const auto rows = [&](int64_t first, int64_t second, int64_t third, const char* words) {
        Bytes bytes = whole;
        const int64_t numbers[] = {first, second, third};
        memcpy(bytes.data() + entries(bytes)[1] + sizeof(P), numbers, sizeof numbers);
        const auto total =
            static_cast<int64_t>(static_cast<uint64_t>(first) + static_cast<uint64_t>(second) +
                                 static_cast<uint64_t>(third));
        assert_refused(with_entry<P>(bytes, 1, [&](P& p) { p.total = total; }), DDS_ERR_CORRUPT,
                       words);
    };
    rows(-4, 0, 5, "rank 0 has -4 rows");
    rows(INT64_MAX, 1, 5, "rank 0 has 9223372036854775807 rows of 24 bytes");
    rows(4, INT64_MAX / 24 + 1, 5, "rank 1 has");
    rows(4, 1, 5, "segment 1 is not that of rank 1");
    rows(0, 4, 5, "segment 0 is not that of rank 1");
    rows(4, 0, 100'000, "passes the 2097152 bytes of its segment");
}

// Rows of no bytes may be many, but not more than can be counted.
void sums_of_rows_that_pass_2_to_the_63_are_refused(void**)
{
    VariableRecord variable = golden_variable();
    variable.shape.clear();
    variable.segments.clear();
    variable.disp = 0;
    variable.rows = {INT64_MAX, 0, 0};
    assert_true(*read_variable_record(written(variable)) == variable);
    Bytes bytes = written(variable);
    const int64_t one = 1;
    memcpy(bytes.data() + entries(bytes)[1] + sizeof(PartitionEntry) + 8, &one, sizeof one);
    assert_refused(
        with_entry<PartitionEntry>(bytes, 1, [](PartitionEntry& p) { p.total = INT64_MIN; }),
        DDS_ERR_CORRUPT, "rank 1 has 1 rows");
    variable.rows = {INT64_MAX, 1, 0};
    assert_int_equal(write_record(variable).error().code, DDS_ERR_ARG);
}

void lies_of_a_segment_are_refused(void**)
{
    const Bytes whole = written(golden_variable());
    const auto refused = [&](size_t index, const char* words, const auto& change) {
        assert_refused(with_entry<SegmentEntry>(whole, 2 + index, change), DDS_ERR_CORRUPT, words);
    };
    using S = SegmentEntry;
    refused(0, "a segment of 0 bytes", [](S& s) { s.bytes = 0; });
    refused(0, "a segment of 31 bytes", [](S& s) { s.bytes = 31; });
    refused(1, "a segment of 33 bytes", [](S& s) { s.bytes++; });
    refused(1, "a segment of 4294967295 bytes", [](S& s) { s.bytes = ~0u; });
    refused(0, "segment 0 is not that of rank 0", [](S& s) { s.rank = 2; });
    refused(1, "segment 1 is not that of rank 2", [](S& s) { s.rank = 0; });  // twice
    refused(1, "segment 1 is not that of rank 2", [](S& s) { s.rank = 1; });  // has no rows
    refused(1, "segment 1 is not that of rank 2", [](S& s) { s.rank = 3; });
    refused(1, "segment 1 is not that of rank 2", [](S& s) { s.rank = ~0u; });
    refused(0, "a key of 9 bytes, where its entry has 8", [](S& s) { s.key_bytes = 9; });
    refused(0, "a key of 4294967295 bytes", [](S& s) { s.key_bytes = ~0u; });
    refused(0, "passes the 1048576 bytes", [](S& s) { s.offset = (1 << 20) - 95; });
    refused(0, "passes the 1048576 bytes", [](S& s) { s.offset = ~uint64_t{0} - 10; });
    refused(0, "passes the 159 bytes", [](S& s) { s.segment_bytes = 159; });
    refused(1, "passes the 0 bytes", [](S& s) { s.segment_bytes = 0; });
    const auto fits = with_entry<S>(whole, 2, [](S& s) { s.segment_bytes = 160; });
    assert_int_equal(reading(fits).code, DDS_SUCCESS);

    VariableRecord long_key = golden_variable();
    long_key.segments[0].key.resize(VariableRecord::kMostKey);
    Bytes bytes = written(long_key);
    bytes.insert(bytes.begin() + static_cast<ptrdiff_t>(entries(bytes)[3]), std::byte{1});
    assert_refused(with_entry<S>(bytes, 2,
                                 [](S& s) {
                                     s.key_bytes++;
                                     s.bytes++;
                                 }),
                   DDS_ERR_CORRUPT, "the key of rank 0 has 257 bytes");
}

void lies_of_a_core_are_refused(void**)
{
    const Bytes whole = written(golden_core());
    const auto provider = [&](const char* words, const auto& change) {
        assert_refused(with_entry<ProviderEntry>(whole, 0, change), DDS_ERR_CORRUPT, words);
    };
    const auto rank = [&](size_t index, const char* words, const auto& change) {
        assert_refused(with_entry<RankEntry>(whole, 1 + index, change), DDS_ERR_CORRUPT, words);
    };
    provider("0 ranks", [](ProviderEntry& p) { p.ranks = 0; });
    provider("4294967295 ranks do not fit", [](ProviderEntry& p) { p.ranks = ~0u; });
    provider("a rank is missing", [](ProviderEntry& p) { p.ranks = 4; });
    provider("a provider's name of 12 bytes", [](ProviderEntry& p) { p.provider_bytes = 12; });
    provider("the provider of 19 bytes", [](ProviderEntry& p) { p.bytes = 19; });
    rank(0, "rank 1 stands where rank 0 belongs", [](RankEntry& r) { r.rank = 1; });
    rank(1, "rank 0 stands where rank 1 belongs", [](RankEntry& r) { r.rank = 0; });
    rank(2, "rank 3 stands where rank 2 belongs", [](RankEntry& r) { r.rank = 3; });
    rank(0, "an address of 65535 bytes", [](RankEntry& r) { r.address_bytes = 65535; });
    rank(1, "the name of a socket of 1 bytes", [](RankEntry& r) { r.socket_bytes = 1; });
    rank(0, "the socket of rank 0", [](RankEntry& r) {  // takes bytes of the address
        r.address_bytes = 0;
        r.socket_bytes = static_cast<uint16_t>(r.socket_bytes + 16);
    });

    const auto refused = [](const char* words, const auto& change) {
        CoreRecord core = golden_core();
        change(core);
        assert_int_equal(write_record(core).error().code, DDS_ERR_ARG);
        const auto checked = dds::check_record(core, DDS_ERR_CORRUPT);
        assert_int_equal(checked.error().code, DDS_ERR_CORRUPT);
        assert_says(checked.error().text, words);
    };
    refused("at most 256", [](CoreRecord& c) { c.ranks[1].address.resize(257); });
    refused("at most 96", [](CoreRecord& c) { c.ranks[1].socket.assign(97, 's'); });
    refused("at most 64", [](CoreRecord& c) { c.provider.assign(65, 'p'); });
    for (const char* path : {"../s", "/s", "a/b", "..", ".", "a b", "\n"})
        refused("no file name", [&](CoreRecord& c) { c.ranks[2].socket = path; });
    refused("no file name", [](CoreRecord& c) { c.ranks[2].socket = std::string("a\0b", 3); });
}

}  // namespace

int main()
{
    const CMUnitTest tests[] = {
        cmocka_unit_test(lies_of_a_header_are_refused),
        cmocka_unit_test(lies_of_a_description_are_refused),
        cmocka_unit_test(lies_of_a_name_or_shape_are_refused),
        cmocka_unit_test(lies_of_a_partition_are_refused),
        cmocka_unit_test(sums_of_rows_that_pass_2_to_the_63_are_refused),
        cmocka_unit_test(lies_of_a_segment_are_refused),
        cmocka_unit_test(lies_of_a_core_are_refused),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
