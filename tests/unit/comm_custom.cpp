// The communicators without files: one process alone, and the caller's own allgather, here of four
// threads that are four ranks.
#include <array>
#include <condition_variable>
#include <mutex>

#include "comm/comm.hpp"
#include "unit.hpp"

namespace {

using dds::Comm;
using dds::Error;

// What a launcher might have: everybody puts its bytes down, the last one to come lets all go.
class Table {
public:
    explicit Table(int size) : size_(size) {}

    int allgather(int rank, const void* in, size_t bytes, void* out, int timeout_ms)
    {
        std::unique_lock lock(mutex_);
        const auto patience = std::chrono::milliseconds(timeout_ms);
        // Those who are still reading the last exchange go first.
        if (!changed_.wait_for(lock, patience, [&] { return leaving_ == 0; }))
            return DDS_ERR_TIMEOUT;
        bytes_.resize(bytes * static_cast<size_t>(size_));
        memcpy(bytes_.data() + bytes * static_cast<size_t>(rank), in, bytes);
        if (++here_ == size_) {
            leaving_ = size_;
            here_ = 0;
            changed_.notify_all();
        } else if (!changed_.wait_for(lock, patience, [&] { return leaving_ > 0; })) {
            here_--;
            return DDS_ERR_TIMEOUT;
        }
        memcpy(out, bytes_.data(), bytes_.size());
        if (--leaving_ == 0)
            changed_.notify_all();
        return 0;
    }
    int freed = 0;
    std::mutex mutex_;

private:
    int size_;
    std::condition_variable changed_;
    std::vector<char> bytes_;
    int here_ = 0, leaving_ = 0;
};

struct Seat {
    Table* table;
    int rank;
    int answer = 0;  // instead of an exchange, where it is not 0
    size_t last_bytes = 0;
    int last_timeout = 0;
};

int gather(void* ctx, const void* in, size_t bytes, void* out, int timeout_ms)
{
    auto* seat = static_cast<Seat*>(ctx);
    seat->last_bytes = bytes;
    seat->last_timeout = timeout_ms;
    return seat->answer ? seat->answer
                        : seat->table->allgather(seat->rank, in, bytes, out, timeout_ms);
}

void let_go(void* ctx)
{
    auto* seat = static_cast<Seat*>(ctx);
    const std::lock_guard lock(seat->table->mutex_);
    seat->table->freed++;
}

dds_comm_ops_t ops_of(int rank, int size)
{
    dds_comm_ops_t ops = DDS_COMM_OPS_INIT;
    ops.rank = rank;
    ops.size = size;
    ops.allgather = gather;
    ops.free = let_go;
    return ops;
}

Error wrong(const char* what) { return dds::fail(DDS_ERR_INTERNAL, "wrong: %s", what); }

// Four rounds of every collective with contributions that say whose they are.
dds::Result<void> exercise(Comm& comm)
{
    const auto size = static_cast<size_t>(comm.size());
    for (int round = 0; round < 4; round++) {
        const std::array<int, 3> mine{comm.rank(), round, 7};
        std::vector<std::array<int, 3>> all(size);
        DDS_TRY(allgather(comm, std::as_bytes(std::span(mine)),
                          std::as_writable_bytes(std::span(all)), 20'000));
        for (size_t r = 0; r < size; r++)
            if (all[r] != std::array<int, 3>{static_cast<int>(r), round, 7})
                return wrong("allgather");
        DDS_TRY(barrier(comm, 20'000));

        // Rank r gives r * round bytes, so that there are empty ones, and a round of nothing.
        std::vector<char> some(static_cast<size_t>(comm.rank() * round),
                               static_cast<char>('a' + comm.rank()));
        std::vector<size_t> sizes(size);
        std::vector<char> packed(100);
        DDS_TRY(allgatherv(comm, std::as_bytes(std::span(some)),
                           std::as_writable_bytes(std::span(packed)), sizes, 20'000));
        size_t at = 0;
        for (size_t r = 0; r < size; at += sizes[r++]) {
            if (sizes[r] != r * static_cast<size_t>(round))
                return wrong("sizes");
            for (size_t i = 0; i < sizes[r]; i++)
                if (packed[at + i] != static_cast<char>('a' + r))
                    return wrong("allgatherv");
        }
    }
    return {};
}

Error run(Comm& comm)
{
    auto done = exercise(comm);
    return done ? unit::kFine : done.error();
}

void one_process_alone_exchanges_with_itself(void**)
{
    auto comm = dds::open_self();
    assert_true(static_cast<bool>(comm));
    assert_int_equal((*comm)->rank(), 0);
    assert_int_equal((*comm)->size(), 1);
    assert_string_equal((*comm)->kind(), "self");
    const Error error = run(**comm);
    if (error.code)
        fail_msg("%s", error.text.c_str());
}

void four_threads_are_four_ranks(void**)
{
    for (const int size : {1, 2, 3, 4}) {
        Table table(size);
        std::vector<Seat> seats;
        for (int rank = 0; rank < size; rank++)
            seats.push_back({&table, rank});
        unit::assert_all(unit::in_threads(size,
                                          [&](int rank) -> Error {
                                              auto comm = dds::open_custom(
                                                  ops_of(rank, size),
                                                  &seats[static_cast<size_t>(rank)]);
                                              if (!comm)
                                                  return comm.error();
                                              return run(**comm);
                                          }),
                         DDS_SUCCESS);
        assert_int_equal(table.freed, size);
    }
}

void an_allgatherv_that_does_not_fit_anywhere_is_truncated_everywhere(void**)
{
    Table table(3);
    std::vector<Seat> seats{{&table, 0}, {&table, 1}, {&table, 2}};
    const auto outcomes = unit::in_threads(3, [&](int rank) -> Error {
        auto comm = dds::open_custom(ops_of(rank, 3), &seats[static_cast<size_t>(rank)]);
        std::vector<char> in(10), out(rank == 1 ? 29 : 30);
        std::vector<size_t> sizes(3);
        const auto done = allgatherv(**comm, std::as_bytes(std::span(in)),
                                     std::as_writable_bytes(std::span(out)), sizes, 20'000);
        if (sizes != std::vector<size_t>{10, 10, 10})
            return wrong("sizes are not set");
        if (auto again = barrier(**comm, 20'000); !again)  // the ranks are in step still
            return again.error();
        return done ? wrong("it fits") : done.error();
    });
    unit::assert_all(outcomes, DDS_ERR_TRUNCATED);
    assert_int_equal(outcomes[0].rank, 1);
    unit::assert_says(outcomes[2].text, "rank 1 has room for 29 bytes, 30 are needed");
}

void a_barrier_is_an_exchange_of_something_and_the_deadline_is_passed_on(void**)
{
    Table table(1);
    Seat seat{&table, 0};
    auto comm = dds::open_custom(ops_of(0, 1), &seat);
    assert_true(static_cast<bool>(barrier(**comm, 1234)));
    assert_int_equal(seat.last_bytes, 1);
    assert_int_equal(seat.last_timeout, 1234);
}

void what_the_callback_returns_is_passed_on_and_ends_the_communicator(void**)
{
    for (const auto& [answer, code] :
         {std::pair(DDS_ERR_NOSPC, DDS_ERR_NOSPC), std::pair(DDS_ERR_TIMEOUT, DDS_ERR_TIMEOUT),
          std::pair(-1, DDS_ERR_IO), std::pair(27, DDS_ERR_IO), std::pair(INT32_MAX, DDS_ERR_IO)}) {
        Table table(1);
        Seat seat{&table, 0};
        auto comm = dds::open_custom(ops_of(0, 1), &seat);
        seat.answer = answer;
        assert_int_equal(barrier(**comm, 100).error().code, code);
        seat.answer = 0;
        assert_int_equal(barrier(**comm, 100).error().code, DDS_ERR_STATE);
    }
}

void an_operation_that_is_left_ends_the_communicator(void**)
{
    Table table(1);
    Seat seat{&table, 0};
    auto comm = dds::open_custom(ops_of(0, 1), &seat);
    {
        auto left = (*comm)->start_allgather({}, {}, 100);
    }
    assert_int_equal(barrier(**comm, 100).error().code, DDS_ERR_STATE);
}

void a_missing_rank_is_a_timeout(void**)
{
    Table table(2);
    Seat seat{&table, 0};
    auto comm = dds::open_custom(ops_of(0, 2), &seat);
    assert_int_equal(barrier(**comm, 50).error().code, DDS_ERR_TIMEOUT);
}

void every_field_is_checked(void**)
{
    Table table(2);
    Seat seat{&table, 0};
    const auto code_of = [&](auto change) {
        dds_comm_ops_t ops = ops_of(0, 2);
        change(ops);
        const auto comm = dds::open_custom(ops, &seat);
        return comm ? 0 : comm.error().code;
    };
    using Ops = dds_comm_ops_t;
    assert_int_equal(code_of([](Ops& o) { o.struct_size = 0; }), DDS_ERR_ARG);
    assert_int_equal(code_of([](Ops& o) { o.struct_size--; }), DDS_ERR_ARG);
    assert_int_equal(code_of([](Ops& o) { o.struct_size = UINT32_MAX; }), DDS_ERR_ARG);
    assert_int_equal(code_of([](Ops& o) { o.flags = 1; }), DDS_ERR_ARG);
    assert_int_equal(code_of([](Ops& o) { o.flags = 1u << 31; }), DDS_ERR_ARG);
    assert_int_equal(code_of([](Ops& o) { o.rank = -1; }), DDS_ERR_ARG);
    assert_int_equal(code_of([](Ops& o) { o.rank = 2; }), DDS_ERR_ARG);
    assert_int_equal(code_of([](Ops& o) { o.size = 0; }), DDS_ERR_ARG);
    assert_int_equal(code_of([](Ops& o) { o.size = -2; }), DDS_ERR_ARG);
    assert_int_equal(code_of([](Ops& o) { o.allgather = nullptr; }), DDS_ERR_ARG);
    assert_int_equal(table.freed, 0);  // a context that was refused stays the caller's
    assert_int_equal(code_of([](Ops& o) { o.free = nullptr; }), DDS_SUCCESS);
    assert_int_equal(table.freed, 0);
    assert_int_equal(code_of([](Ops&) {}), DDS_SUCCESS);
    assert_int_equal(table.freed, 1);
}

void a_longer_struct_is_taken_where_the_rest_is_zero(void**)
{
    Table table(1);
    Seat seat{&table, 0};
    struct Longer {
        dds_comm_ops_t ops;
        uint64_t later[2];
    } longer{ops_of(0, 1), {0, 0}};
    longer.ops.struct_size = sizeof longer;
    assert_true(static_cast<bool>(dds::open_custom(longer.ops, &seat)));
    longer.later[1] = 1;
    assert_int_equal(dds::open_custom(longer.ops, &seat).error().code, DDS_ERR_UNSUPPORTED);
}

// One whose operation ends, well or with what another rank says, while it is asked who is missing.
class LastMinute : public Comm {
public:
    explicit LastMinute(Error end) : Comm(0, 2), end_(std::move(end)) {}
    const char* kind() const override { return "last-minute"; }
    dds::Result<std::unique_ptr<dds::Operation>> start_allgather(std::span<const std::byte>,
                                                                 std::span<std::byte>, int) override
    {
        return std::unique_ptr<dds::Operation>(std::make_unique<Exchange>(*this));
    }
    std::vector<int> missing() const override
    {
        asked_ = true;
        return {};
    }

private:
    struct Exchange : dds::Operation {
        explicit Exchange(LastMinute& owner) : comm(owner) {}
        dds::Result<dds::Step> step() override
        {
            if (!comm.asked_)
                return dds::Step::idle;
            if (comm.end_.code)
                return comm.end_;
            return dds::Step::ended;
        }
        LastMinute& comm;
    };
    Error end_;
    mutable bool asked_ = false;
};

void what_ends_the_exchange_at_the_deadline_is_the_answer(void**)
{
    LastMinute well(Error{DDS_SUCCESS, -1, {}});
    assert_true(static_cast<bool>(dds::barrier(well, 20)));
    LastMinute badly(dds::fail_rank(DDS_ERR_TIMEOUT, 1, "missing: rank 1"));
    const auto told = dds::barrier(badly, 20);
    assert_int_equal(told.error().code, DDS_ERR_TIMEOUT);
    assert_int_equal(told.error().rank, 1);
    assert_string_equal(told.error().text.c_str(), "missing: rank 1");
}

}  // namespace

int main()
{
    const CMUnitTest tests[] = {
        cmocka_unit_test(one_process_alone_exchanges_with_itself),
        cmocka_unit_test(four_threads_are_four_ranks),
        cmocka_unit_test(an_allgatherv_that_does_not_fit_anywhere_is_truncated_everywhere),
        cmocka_unit_test(a_barrier_is_an_exchange_of_something_and_the_deadline_is_passed_on),
        cmocka_unit_test(what_the_callback_returns_is_passed_on_and_ends_the_communicator),
        cmocka_unit_test(an_operation_that_is_left_ends_the_communicator),
        cmocka_unit_test(a_missing_rank_is_a_timeout),
        cmocka_unit_test(what_ends_the_exchange_at_the_deadline_is_the_answer),
        cmocka_unit_test(every_field_is_checked),
        cmocka_unit_test(a_longer_struct_is_taken_where_the_rest_is_zero),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
