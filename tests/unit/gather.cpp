// Row copies: every kernel that runs here, every size of row around its edges, every way of cutting
// and prefetching, against memcpy; nothing beside the rows is touched.
#include <algorithm>
#include <atomic>
#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

extern "C" {
#include <cmocka.h>
}
#undef fail  // ours makes an Error

#include "plan/partition.hpp"
#include "transport/gather.hpp"
#include "transport/kernels/kernel.h"
#include "transport/kernels/rule.hpp"

namespace {

using dds::GatherPlan;

constexpr size_t kGuard = 64;
constexpr std::byte kUntouched{0x5a};

bool selects(const char* kernel) { return static_cast<bool>(dds::gather_select(kernel)); }

std::vector<const char*> kernels_here()
{
    std::vector<const char*> names;
    for (const char* name : {"sse2", "avx2", "avx512"}) {
        if (selects(name))
            names.push_back(name);
        else
            print_message("this processor has no %s: that kernel is not tested\n", name);
    }
    return names;
}

class Rows {
public:
    Rows()
    {
        for (std::byte& byte : memory_)
            byte = static_cast<std::byte>(random_());
    }
    // n rows from anywhere, at any alignment, to `shift` bytes past an aligned address.
    void copied_right(const GatherPlan& plan, int64_t n, size_t row, size_t shift)
    {
        std::vector<const std::byte*> from(static_cast<size_t>(n));
        for (const std::byte*& address : from)
            address = memory_.data() + random_() % (memory_.size() - row + 1);
        const size_t bytes = static_cast<size_t>(n) * row;
        std::vector<std::byte> out(kGuard + shift + bytes + kGuard, kUntouched);
        std::byte* first = out.data() + kGuard + shift;
        dds::gather(plan, from.data(), n, row, first);
        for (size_t i = 0; i < from.size(); i++)
            if (row && memcmp(first + i * row, from[i], row))
                fail_msg_at(plan, n, row, i);
        for (size_t i = 0; i < kGuard + shift; i++)
            assert_true(out[i] == kUntouched);
        for (size_t i = kGuard + shift + bytes; i < out.size(); i++)
            assert_true(out[i] == kUntouched);
    }

    // n short rows by their numbers, of shards that lie in memory in any order.
    void found_right(int64_t n, size_t row, int shards, int64_t bad)
    {
        std::vector<int64_t> mine(static_cast<size_t>(shards));
        for (int64_t& each : mine)
            each = 1 + static_cast<int64_t>(random_() % 300);
        const auto partition = *dds::Partition::make(mine);
        std::vector<const char*> bases(mine.size());
        for (int shard = 0; shard < shards; shard++)
            bases[static_cast<size_t>(shard)] = reinterpret_cast<const char*>(memory_.data()) +
                                                random_() % (memory_.size() / 2) -
                                                static_cast<size_t>(partition->start(shard)) * row;
        const int own = static_cast<int>(random_() % static_cast<unsigned>(shards));
        const dds_cut cut{static_cast<uint64_t>(partition->total()),
                          static_cast<uint64_t>(partition->start(own)),
                          static_cast<uint64_t>(partition->rows(own)),
                          shards,
                          partition->shift(),
                          partition->buckets(),
                          partition->starts(),
                          bases.data(),
                          bases[0],
                          shards > 1 ? bases[1] - bases[0] : 0,
                          shards > 1 ? partition->start(1) : INT64_MAX};
        std::vector<int64_t> rows(static_cast<size_t>(n));
        int64_t owned = 0;
        for (int64_t& g : rows) {
            g = static_cast<int64_t>(random_() % cut.total);
            owned += partition->owner(g) == own;
        }
        if (bad)
            rows.back() = bad < 0 ? bad : partition->total() + bad - 1;
        std::vector<std::byte> out(static_cast<size_t>(n) * row + kGuard, kUntouched);
        const int64_t found =
            dds::gather_tiny(dds::gather_plan(row, n), cut, rows.data(), n, row, out.data());
        assert_int_equal(found, bad ? -1 : owned);
        for (size_t i = 0; i < rows.size() && !bad; i++)
            assert_memory_equal(out.data() + i * row,
                                bases[static_cast<size_t>(partition->shard(rows[i]))] +
                                    static_cast<size_t>(rows[i]) * row,
                                row);
        for (size_t i = bad ? 0 : static_cast<size_t>(n) * row; i < out.size(); i++)
            assert_true(out[i] == kUntouched);
    }

private:
    [[noreturn]] static void fail_msg_at(const GatherPlan& plan, int64_t n, size_t row, size_t i)
    {
        print_error("%s, kind %#x, ahead %u: row %zu of %lld, %zu bytes each, is wrong\n",
                    dds::gather_kernel(), plan.kind, plan.ahead, i, static_cast<long long>(n), row);
        _fail(__FILE__, __LINE__);
        abort();
    }
    std::mt19937 random_{1};
    std::vector<std::byte> memory_ = std::vector<std::byte>(size_t{1} << 20);
};

void every_size_is_copied_whole(void**)
{
    Rows rows;
    for (const char* kernel : kernels_here()) {
        assert_true(selects(kernel));
        for (size_t row = 0; row <= 9000; row = row < 600 ? row + 1 : row + 211)
            for (const int64_t n : {1, 2, 130})
                rows.copied_right(dds::gather_plan(row, n), n, row, row % 7);
    }
    assert_true(selects("auto"));
}

void every_copy_cut_or_not_is_right(void**)
{
    Rows rows;
    for (const char* kernel : kernels_here()) {
        assert_true(selects(kernel));
        for (uint32_t copy = 0; copy <= DDS_COPY_MASK; copy++)
            for (const uint32_t block : {0, 64, 1000, 4096})
                for (const uint32_t ahead : {0, 100, 4096, 50'000})
                    for (const size_t row : {1, 63, 64, 65, 1000, 1001, 4096, 12'800, 65'537})
                        for (const int64_t n : {1, 7}) {
                            const GatherPlan plan{copy | block << DDS_BLOCK_SHIFT, ahead,
                                                  ahead ? 3 : 0};
                            rows.copied_right(plan, n, row, (row + ahead) % 5);
                        }
    }
    assert_true(selects("auto"));
}

// One row, in line and by the kernel that is in use.
void a_single_row_is_copied_whole(void**)
{
    std::vector<std::byte> from(5000), out(5000);
    for (size_t i = 0; i < from.size(); i++)
        from[i] = static_cast<std::byte>(i * 7 + i / 256 + 1);
    const auto right = [&](size_t row) {
        for (size_t i = 0; i < out.size(); i++)
            assert_true(out[i] == (i >= 3 && i < 3 + row ? from[i - 2] : kUntouched));
        std::fill(out.begin(), out.end(), kUntouched);
    };
    std::fill(out.begin(), out.end(), kUntouched);
    for (size_t row = 1; row <= dds::kSmallRow; row++) {
        dds::copy_small(out.data() + 3, from.data() + 1, row);
        right(row);
    }
    for (const char* kernel : kernels_here()) {
        assert_true(selects(kernel));
        for (size_t row = 1; row <= 4096; row = row < 300 ? row + 1 : row + 173) {
            dds::copy_row.load()(reinterpret_cast<char*>(out.data() + 3),
                                 reinterpret_cast<const char*>(from.data() + 1), row);
            right(row);
        }
    }
    assert_true(selects("auto"));
}

// The memory model promises it for rows of 8 aligned bytes or fewer.
void short_rows_are_found_and_copied(void**)
{
    for (const char* kernel : kernels_here()) {
        assert_true(selects(kernel));
        Rows rows;
        for (size_t row = 1; row <= DDS_TINY_ROW; row++)
            for (const int64_t n : {1, 2, 31, 128, 1500})
                for (const int shards : {1, 2, 3, 64})
                    for (const int64_t bad : {0, -1, 1})
                        rows.found_right(n, row, shards, bad);
    }
    assert_true(selects("auto"));
}

void a_row_of_eight_bytes_is_never_torn(void**)
{
    constexpr uint64_t kOnes = UINT64_MAX;
    for (const char* kernel : kernels_here()) {
        assert_true(selects(kernel));
        alignas(8) static std::atomic<uint64_t> row{0};
        std::atomic<bool> stop{false};
        std::thread writer([&] {
            while (!stop)
                row.store(~row.load(std::memory_order_relaxed), std::memory_order_relaxed);
        });
        const std::byte* from[64];
        for (const std::byte*& address : from)
            address = reinterpret_cast<const std::byte*>(&row);
        const GatherPlan plan = dds::gather_plan(8, 64);
        int seen[2] = {0, 0};
        for (int round = 0; round < 20'000; round++) {
            uint64_t out[64];
            dds::gather(plan, from, 64, 8, reinterpret_cast<std::byte*>(out));
            for (const uint64_t word : out) {
                if (word != 0 && word != kOnes) {
                    stop = true;
                    writer.join();
                    assert_true(word == 0 || word == kOnes);
                }
                seen[word == kOnes]++;
            }
        }
        stop = true;
        writer.join();
        assert_int_equal(seen[0] + seen[1], 20'000 * 64);
    }
    assert_true(selects("auto"));
}

void a_plan_primes_rows_that_fit_ahead(void**)
{
    for (const size_t row : {1, 8, 64, 100, 512, 3000})
        for (const int64_t n : {2, 128, 1024}) {
            const GatherPlan plan = dds::gather_plan(row, n);
            assert_true(plan.primed >= 0 && plan.primed <= 128);
            assert_true(static_cast<size_t>(plan.primed) * row <= plan.ahead);
        }
    assert_int_equal(dds::gather_plan(size_t{3} << 30, 1).kind & DDS_COPY_MASK, DDS_COPY_STREAM);
    assert_int_equal(dds::gather_plan(0, 5).primed, 0);
}

void each_kind_of_processor_has_rules_for_every_size(void**)
{
    for (const auto vendor : {dds::Processor::Vendor::other, dds::Processor::Vendor::amd,
                              dds::Processor::Vendor::intel})
        for (const uint32_t family : {6U, 23U, 25U, 26U})
            for (const int has : {0, 1, 2, 3}) {
                const bool strings = has & 1;
                dds::Processor cpu;
                cpu.avx512 = has & 2;
                cpu.vendor = vendor;
                cpu.family = family;
                cpu.fast_short_strings = cpu.fast_strings = strings;
                const dds::RuleSet& set = dds::rules_for(cpu);
                for (const auto rules : {set.one, set.batch}) {
                    assert_false(rules.empty());
                    for (size_t i = 0; i < rules.size(); i++) {
                        assert_true((rules[i].row & (rules[i].row - 1)) == 0);
                        assert_true(i == 0 || rules[i].row > rules[i - 1].row);
                        // Only a machine that is good at it copies by string instructions.
                        assert_true(strings || (rules[i].kind & DDS_COPY_MASK) != DDS_COPY_STRING);
                    }
                    assert_true(rules.back().row == size_t{1} << 63);
                }
            }
}

void a_kernel_that_is_not_there_is_refused_by_name(void**)
{
    const auto refused = dds::gather_select("mmx");
    assert_false(static_cast<bool>(refused));
    assert_int_equal(refused.error().code, DDS_ERR_ARG);
    assert_non_null(strstr(refused.error().text.c_str(), "mmx"));
    assert_non_null(strstr(refused.error().text.c_str(), "auto, sse2"));
    assert_true(selects("sse2"));
    assert_string_equal(dds::gather_kernel(), "sse2");
    assert_true(selects("auto"));
}

void the_kernels_that_are_told_can_be_selected(void**)
{
    const auto names = dds::gather_kernels();
    assert_string_equal(names.front(), "sse2");
    for (const char* name : names) {
        assert_true(selects(name));
        assert_string_equal(dds::gather_kernel(), name);
    }
    assert_true(selects("auto"));
    assert_string_equal(dds::gather_kernel(), names.back());
}

}  // namespace

int main()
{
    const CMUnitTest tests[] = {
        cmocka_unit_test(every_size_is_copied_whole),
        cmocka_unit_test(every_copy_cut_or_not_is_right),
        cmocka_unit_test(a_single_row_is_copied_whole),
        cmocka_unit_test(short_rows_are_found_and_copied),
        cmocka_unit_test(a_row_of_eight_bytes_is_never_torn),
        cmocka_unit_test(a_plan_primes_rows_that_fit_ahead),
        cmocka_unit_test(each_kind_of_processor_has_rules_for_every_size),
        cmocka_unit_test(a_kernel_that_is_not_there_is_refused_by_name),
        cmocka_unit_test(the_kernels_that_are_told_can_be_selected),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
