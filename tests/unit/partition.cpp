// The partition and the runs of a batch against ten-line models, on random cuts of 1 to 65,536 ranks:
// even, uneven, with empty shards, and with a few ranks that hold nearly everything.
#include "plan/partition.hpp"

#include <algorithm>
#include <random>

#include "plan/runs.hpp"
#include "unit.hpp"

namespace {

using namespace dds;
using Random = std::mt19937_64;

enum class Shape { even, uneven, sparse, skewed };
constexpr Shape kShapes[] = {Shape::even, Shape::uneven, Shape::sparse, Shape::skewed};

int64_t below(Random& random, int64_t n)
{
    return std::uniform_int_distribution<int64_t>(0, n - 1)(random);
}

std::vector<int64_t> random_rows(Random& random, size_t ranks, Shape shape)
{
    std::vector<int64_t> rows(ranks);
    for (int64_t& n : rows)
        switch (shape) {
        case Shape::even: n = 100; break;
        case Shape::uneven: n = below(random, 1000); break;
        case Shape::sparse: n = below(random, 10) ? 0 : below(random, 50); break;
        case Shape::skewed:
            n = below(random, 1 + static_cast<int64_t>(ranks) / 3) ? 1 : 1'000'000'000;
            break;
        }
    return rows;
}

// The model: the last rank whose first row is not past it, among those that have rows.
int model_owner(const std::vector<int64_t>& rows, int64_t row)
{
    for (size_t rank = 0;; rank++) {
        if (row < rows[rank])
            return static_cast<int>(rank);
        row -= rows[rank];
    }
}

void check_owners(Random& random, const std::vector<int64_t>& rows)
{
    const auto made = Partition::make(rows);
    assert_true(bool(made));
    const Partition& cut = **made;
    int64_t total = 0;
    for (size_t rank = 0; rank < rows.size(); rank++) {
        assert_int_equal(cut.first(static_cast<int>(rank)), total);
        assert_int_equal(cut.rows(static_cast<int>(rank)), rows[rank]);
        const int shard = cut.shard_of_rank(static_cast<int>(rank));
        assert_int_equal(shard >= 0, rows[rank] > 0);
        if (shard >= 0)
            assert_int_equal(cut.rank_of(shard), rank);
        total += rows[rank];
    }
    assert_int_equal(cut.total(), total);
    const auto check_row = [&](int64_t row) {
        assert_int_equal(cut.owner(row), model_owner(rows, row));
    };
    const int tries = rows.size() > 1000 ? 30 : 300;
    for (int i = 0; total > 0 && i < tries; i++) {
        check_row(below(random, total));
        // Borders are where an owner is easily missed by one.
        const int shard = static_cast<int>(below(random, cut.shards()));
        check_row(cut.start(shard));
        check_row(cut.start(shard + 1) - 1);
    }
}

void every_row_has_the_owner_that_the_model_says(void**)
{
    Random random(1);
    for (const size_t ranks : {1, 2, 3, 4, 5, 7, 8, 16, 63, 64, 65, 256, 1000, 4096, 65536})
        for (const Shape shape : kShapes)
            for (int i = 0; i < (ranks > 1000 ? 1 : 20); i++)
                check_owners(random, random_rows(random, ranks, shape));
}

void a_few_ranks_with_nearly_everything_are_searched(void**)
{
    std::vector<int64_t> rows(64, 1);
    rows[10] = 1'000'000'000;
    const auto cut = Partition::make(rows);
    assert_int_equal((*cut)->kind(), Partition::Kind::skewed);
    Random random(2);
    check_owners(random, rows);
}

void totals_past_63_bits_overflow(void**)
{
    const std::vector<int64_t> rows{INT64_MAX, 1};
    const auto cut = Partition::make(rows);
    assert_false(bool(cut));
    assert_int_equal(cut.error().code, DDS_ERR_OVERFLOW);
    assert_true(bool(Partition::make(std::vector<int64_t>{INT64_MAX - 1, 1})));
}

void negative_rows_and_too_many_ranks_are_refused(void**)
{
    const auto negative = Partition::make(std::vector<int64_t>{3, -1});
    assert_int_equal(negative.error().code, DDS_ERR_ARG);
    assert_int_equal(negative.error().rank, 1);
    const auto many = Partition::make(std::vector<int64_t>(Partition::kMaxRanks + 1, 1));
    assert_int_equal(many.error().code, DDS_ERR_LIMIT);
    assert_int_equal(Partition::make({}).error().code, DDS_ERR_LIMIT);
}

void equal_cuts_are_equal_and_hash_alike(void**)
{
    const auto a = *Partition::make(std::vector<int64_t>{5, 0, 7});
    const auto b = *Partition::make(std::vector<int64_t>{5, 0, 7});
    const auto c = *Partition::make(std::vector<int64_t>{5, 7, 0});
    assert_true(*a == *b && a->hash() == b->hash());
    assert_false(*a == *c);
}

void the_table_stays_under_64_bytes_a_rank(void**)
{
    const auto cut = *Partition::make(std::vector<int64_t>(65536, 1000));
    assert_true(cut->bytes() <= 64 * 65536);
}

// The runs, played back byte by byte, must give exactly the marked rows of the batch.
void check_runs(Random& random, const std::vector<int64_t>& counts, uint64_t row_bytes,
                uint64_t most)
{
    const auto cut = *Partition::make(counts);
    if (cut->total() == 0)
        return;
    std::vector<uint8_t> wired(static_cast<size_t>(cut->shards()));
    for (auto& mark : wired)
        mark = below(random, 2) != 0;
    std::vector<int64_t> rows;
    while (rows.size() < 200)
        for (int64_t row = below(random, cut->total()), n = below(random, 6);
             n-- > 0 && row < cut->total(); row++)
            rows.push_back(row);
    std::vector<WireRun> runs;
    plan_runs(*cut, rows, row_bytes, most, wired, runs);

    std::vector<uint8_t> landed(rows.size() * row_bytes);
    int shard = 0;
    for (const WireRun& run : runs) {
        assert_true(run.shard >= shard && run.bytes > 0 && run.bytes <= most);
        shard = run.shard;
        assert_true(run.first <= static_cast<int64_t>(run.to / row_bytes));
        assert_true(run.first + run.count >=
                    static_cast<int64_t>((run.to + run.bytes - 1) / row_bytes) + 1);
        for (uint64_t i = 0; i < run.bytes; i++) {
            const uint64_t at = run.to + i;
            const int64_t row = rows[at / row_bytes];
            assert_int_equal(cut->shard(row), run.shard);
            assert_int_equal(
                static_cast<uint64_t>(row - cut->start(run.shard)) * row_bytes + at % row_bytes,
                run.from + i);
            assert_int_equal(landed[at]++, 0);
        }
    }
    for (size_t at = 0; at < landed.size(); at++)
        assert_int_equal(landed[at], wired[static_cast<size_t>(cut->shard(rows[at / row_bytes]))]);
}

void runs_bring_every_marked_byte_once(void**)
{
    Random random(3);
    for (int i = 0; i < 300; i++) {
        const auto ranks = static_cast<size_t>(1 + below(random, 20));
        const Shape shape = kShapes[below(random, 3)];
        const auto row_bytes = static_cast<uint64_t>(1 + below(random, 40));
        const auto most = static_cast<uint64_t>(1 + below(random, 200));
        check_runs(random, random_rows(random, ranks, shape), row_bytes, most);
    }
}

void neighbours_are_merged_into_one_run(void**)
{
    const auto cut = *Partition::make(std::vector<int64_t>{10, 10});
    const std::vector<int64_t> rows{12, 13, 14, 3, 15};
    std::vector<WireRun> runs;
    plan_runs(*cut, rows, 8, 1 << 20, std::vector<uint8_t>{0, 1}, runs);
    assert_int_equal(runs.size(), 2);
    assert_int_equal(runs[0].bytes, 24);
    assert_int_equal(runs[0].count, 3);
    assert_int_equal(runs[1].first, 4);
}

}  // namespace

int main()
{
    const CMUnitTest tests[] = {
        cmocka_unit_test(every_row_has_the_owner_that_the_model_says),
        cmocka_unit_test(a_few_ranks_with_nearly_everything_are_searched),
        cmocka_unit_test(totals_past_63_bits_overflow),
        cmocka_unit_test(negative_rows_and_too_many_ranks_are_refused),
        cmocka_unit_test(equal_cuts_are_equal_and_hash_alike),
        cmocka_unit_test(the_table_stays_under_64_bytes_a_rank),
        cmocka_unit_test(runs_bring_every_marked_byte_once),
        cmocka_unit_test(neighbours_are_merged_into_one_run),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
