// The rounds of a collective read, played back: streams of any length, rows of any size, any share.
#include "plan/rounds.hpp"

#include <random>

#include "unit.hpp"

namespace {

using namespace dds;
using Random = std::mt19937_64;

constexpr uint64_t kLeast = 256;  // bytes of a share, however many the ranks

uint64_t below(Random& random, uint64_t n)
{
    return std::uniform_int_distribution<uint64_t>(0, n - 1)(random);
}

// The most that one rank gets of another in a round, in rows or in row numbers.
uint64_t share_of(uint64_t most, int ranks)
{
    return std::max(most / static_cast<uint64_t>(ranks), kLeast);
}

// A stream of n rows, in as many rounds as one of `longest` rows takes.
void check_stream(const Rounds& rounds, int64_t n, int64_t longest, uint64_t share)
{
    uint64_t next = 0;  // byte of the stream
    for (int64_t round = 0; round < rounds.count(longest); round++) {
        const Rounds::Piece piece = rounds.of(n, round);
        assert_true(piece.first >= 0 && piece.first <= piece.last && piece.last <= n);
        assert_true(piece.bytes() <= share);
        assert_true(static_cast<uint64_t>(piece.last - piece.first) * sizeof(int64_t) <= share);
        assert_true(piece.skip + piece.step <= rounds.row);
        for (int64_t row = piece.first; row < piece.last; row++) {
            assert_int_equal(static_cast<uint64_t>(row) * rounds.row + piece.skip, next);
            next += piece.step;
        }
    }
    assert_int_equal(next, static_cast<uint64_t>(n) * rounds.row);
}

void every_byte_comes_once_and_in_order(void**)
{
    Random random(1);
    for (int i = 0; i < 5000; i++) {
        const auto ranks = static_cast<int>(1 + below(random, 300));
        const uint64_t most = 4096 + below(random, uint64_t{1} << below(random, 22));
        const uint64_t row = 1 + below(random, uint64_t{1} << below(random, 20));
        const auto n = static_cast<int64_t>(below(random, 40));
        const auto more = static_cast<int64_t>(below(random, 40));
        check_stream({row, most, ranks}, n, n + more, share_of(most, ranks));
    }
}

void rows_about_the_size_of_a_share_are_cut_well(void**)
{
    for (const int ranks : {1, 2, 3, 7, 64})
        for (const uint64_t most : {4096, 65536, 100001}) {
            const uint64_t share = share_of(most, ranks);
            for (uint64_t row = share - 3; row <= share + 3; row++)
                check_stream({row, most, ranks}, 5, 7, share);
            for (uint64_t row = 2 * share - 3; row <= 2 * share + 3; row++)
                check_stream({row, most, ranks}, 5, 5, share);
        }
}

// A rank that asks for nothing takes part in the rounds of the others, with nothing.
void a_short_stream_has_empty_pieces_in_the_rounds_of_a_long_one(void**)
{
    const Rounds rounds(100, 4096, 4);
    assert_int_equal(rounds.count(0), 0);
    for (int64_t round = 0; round < rounds.count(1000); round++) {
        assert_int_equal(rounds.of(0, round).bytes(), 0);
        if (round > 0)
            assert_int_equal(rounds.of(3, round).bytes(), 0);
    }
}

void a_row_past_2_to_the_31_goes_in_parts_that_an_int_holds(void**)
{
    const uint64_t row = 2362232013, most = uint64_t{1} << 30;
    const Rounds rounds(row, most, 1);
    assert_int_equal(rounds.count(2), 6);
    check_stream(rounds, 2, 2, most);
}

// The numbers of rows are sent, too: many short rows do not make a long message of them.
void rows_of_1_byte_are_as_few_as_their_numbers_allow(void**)
{
    const Rounds rounds(1, 8192, 1);
    assert_int_equal(rounds.rows, 1024);
    check_stream(rounds, 5000, 5000, 8192);
}

void as_few_rounds_as_the_share_allows(void**)
{
    Random random(2);
    for (int i = 0; i < 5000; i++) {
        const uint64_t row = 8 + below(random, 5000);
        const uint64_t most = 4096 + below(random, 100000);
        const auto n = static_cast<int64_t>(1 + below(random, 1000));
        const uint64_t a_round = std::max<uint64_t>(most / row, 1);
        const Rounds rounds(row, most, 1);
        if (row <= most)
            assert_int_equal(rounds.count(n), (static_cast<uint64_t>(n) + a_round - 1) / a_round);
        else
            assert_int_equal(rounds.count(n), static_cast<uint64_t>(n) * ((row + most - 1) / most));
    }
}

}  // namespace

int main()
{
    const CMUnitTest tests[] = {
        cmocka_unit_test(every_byte_comes_once_and_in_order),
        cmocka_unit_test(rows_about_the_size_of_a_share_are_cut_well),
        cmocka_unit_test(a_short_stream_has_empty_pieces_in_the_rounds_of_a_long_one),
        cmocka_unit_test(a_row_past_2_to_the_31_goes_in_parts_that_an_int_holds),
        cmocka_unit_test(rows_of_1_byte_are_as_few_as_their_numbers_allow),
        cmocka_unit_test(as_few_rounds_as_the_share_allows),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
