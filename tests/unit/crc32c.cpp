// CRC-32C: both ways of computing it, against the published values and against each other.
#include "base/crc32c.hpp"

#include <random>

#include "unit.hpp"

namespace {

using Function = uint32_t (*)(uint32_t, const void*, size_t);

std::vector<Function> ways()
{
    std::vector<Function> ways{dds::crc32c, dds::crc32c_table};
    if (dds::crc32c_has_sse42())
        ways.push_back(dds::crc32c_sse42);
    else
        print_message("this processor has no SSE 4.2: its way is not tested\n");
    return ways;
}

// RFC 3720, appendix B.4, and the check value of the catalogue of CRCs.
void published_values_come_out(void**)
{
    unsigned char bytes[32];
    for (const Function crc : ways()) {
        assert_int_equal(crc(0, "123456789", 9), 0xe3069283);
        memset(bytes, 0, sizeof bytes);
        assert_int_equal(crc(0, bytes, 32), 0x8a9136aa);
        memset(bytes, 0xff, sizeof bytes);
        assert_int_equal(crc(0, bytes, 32), 0x62a8ab43);
        for (int i = 0; i < 32; i++)
            bytes[i] = static_cast<unsigned char>(i);
        assert_int_equal(crc(0, bytes, 32), 0x46dd794e);
        assert_int_equal(crc(0, nullptr, 0), 0);
    }
}

void both_ways_agree_at_every_length_and_alignment(void**)
{
    std::mt19937 random(1);
    std::vector<unsigned char> bytes(600);
    for (auto& byte : bytes)
        byte = static_cast<unsigned char>(random());
    for (size_t begin = 0; begin < 9; begin++)
        for (size_t length = 0; length < 520; length++) {
            const uint32_t first = dds::crc32c_table(7, bytes.data() + begin, length);
            for (const Function crc : ways())
                assert_int_equal(crc(7, bytes.data() + begin, length), first);
        }
}

void a_sum_may_be_made_in_pieces(void**)
{
    const std::string text = "The quick brown fox jumps over the lazy dog, again and again.";
    for (const Function crc : ways())
        for (size_t cut = 0; cut <= text.size(); cut++)
            assert_int_equal(crc(crc(0, text.data(), cut), text.data() + cut, text.size() - cut),
                             crc(0, text.data(), text.size()));
}

}  // namespace

int main()
{
    const CMUnitTest tests[] = {
        cmocka_unit_test(published_values_come_out),
        cmocka_unit_test(both_ways_agree_at_every_length_and_alignment),
        cmocka_unit_test(a_sum_may_be_made_in_pieces),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
