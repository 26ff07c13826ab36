// The calls that the library makes of an MPI, each with the answer that it must give, in the MPI that
// DDS_TEST_MPI names; and what is known of that MPI against its own mpi.h (DDS_TEST_MPI_SHIM).
#include <dlfcn.h>

#include <numeric>

#include "../unit/unit.hpp"
#include "drivers/mpi.hpp"
#include "drivers/mpi_find.hpp"

extern "C" {
#include "../api/mpi_world.h"
}

namespace {

using dds::Mpi;
using dds::MpiRequests;

Mpi* mpi;
Mpi::Handle comm;  // a duplicate of MPI_COMM_WORLD
int me, ranks;

template <class T>
T must(dds::Result<T> result)
{
    if (!result)
        fail_msg("rank %d: %s", me, result.error().text.c_str());
    return std::move(*result);
}
void must(const dds::Result<void>& result)
{
    if (!result)
        fail_msg("rank %d: %s", me, result.error().text.c_str());
}

void finish(Mpi::Cell& request)
{
    while (!must(mpi->test(request)))
        continue;
}

int open_mpi(void**)
{
    const mpi_world_t* world = mpi_world();
    const auto library = must(dds::mpi::find(nullptr));
    mpi = must(Mpi::open(must(dds::mpi::table_of(library))));
    Mpi::Cell made, request;
    must(mpi->comm_idup(mpi->handle_at(world->comm), made, request));
    finish(request);
    comm = mpi->value_of(made);
    must(mpi->comm_return_errors(comm));
    me = must(mpi->comm_rank(comm));
    ranks = must(mpi->comm_size(comm));
    return 0;
}

void what_is_known_of_it_is_what_its_own_header_says(void**)
{
    const char* path = getenv("DDS_TEST_MPI_SHIM");
    assert_non_null(path);
    void* shim = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!shim)
        fail_msg("%s", dlerror());
    const auto of_header = reinterpret_cast<dds_mpi_table_t (*)()>(dlsym(shim, "table_of_header"));
    const dds_mpi_table_t theirs = of_header(), &ours = mpi->table();
#define SAME(field) assert_true(theirs.field == ours.field)
    SAME(struct_size);
    SAME(handle_size);
    SAME(status_size);
    SAME(status_error);
    SAME(thread_multiple);
    SAME(mode_nocheck);
    SAME(byte);
    SAME(comm_null);
    SAME(comm_self);
    SAME(win_null);
    SAME(info_null);
    SAME(request_null);
    SAME(errors_return);
    SAME(in_place);
    SAME(status_ignore);
    SAME(statuses_ignore);
#undef SAME
    // Functions too: the shim is linked with the library that was found.
    assert_memory_equal(&theirs, &ours, sizeof ours);
    const auto world = reinterpret_cast<uint64_t (*)()>(dlsym(shim, "world_of_header"));
    assert_true(world() == must(dds::mpi::comm_world(must(dds::mpi::find(nullptr)))));
}

void fortrans_integer_is_turned_into_the_handle(void**)
{
    void* shim = dlopen(getenv("DDS_TEST_MPI_SHIM"), RTLD_NOW | RTLD_LOCAL);
    assert_non_null(shim);
    const auto fortran_of = reinterpret_cast<int (*)(const void*)>(dlsym(shim, "fortran_of"));
    const auto library = must(dds::mpi::find(nullptr));
    for (const Mpi::Handle handle : {comm, mpi->table().comm_self}) {
        const int number = fortran_of(&handle);
        assert_true(must(dds::mpi::from_fortran(library, number)) == handle);
    }
}

void a_barrier_waits_for_the_last(void**)
{
    Mpi::Cell request;
    const double begun = unit::now();
    if (me == ranks - 1)
        usleep(200'000);
    must(mpi->ibarrier(comm, request));
    finish(request);
    assert_true(unit::now() - begun > 0.15 || ranks == 1);
    assert_true(mpi->value_of(request) == mpi->table().request_null);
    assert_true(must(mpi->test(request)));  // a null request has ended
}

void bytes_of_every_rank_come_in_rank_order(void**)
{
    const int size = 3;
    std::vector<char> mine(size, static_cast<char>('a' + me)),
        all(static_cast<size_t>(size * ranks));
    Mpi::Cell request;
    must(mpi->iallgather(mine.data(), size, all.data(), comm, request));
    finish(request);
    for (int rank = 0; rank < ranks; rank++)
        for (int i = 0; i < size; i++)
            assert_int_equal(all[static_cast<size_t>(rank * size + i)], 'a' + rank);
}

void lengths_may_differ_and_be_none(void**)
{
    std::vector<int> sizes(static_cast<size_t>(ranks)), places(sizes.size());
    for (int rank = 0; rank < ranks; rank++)
        sizes[size_t(rank)] = rank * 5;
    std::exclusive_scan(sizes.begin(), sizes.end(), places.begin(), 0);
    const int total = places.back() + sizes.back();
    std::vector<char> mine(static_cast<size_t>(me) * 5 + 1, static_cast<char>('a' + me));
    std::vector<char> all(static_cast<size_t>(total) + 1, '.');
    Mpi::Cell request;
    must(mpi->iallgatherv(mine.data(), me * 5, all.data(), sizes.data(), places.data(), comm,
                          request));
    finish(request);
    for (int rank = 0; rank < ranks; rank++)
        for (int i = 0; i < rank * 5; i++)
            assert_int_equal(all[static_cast<size_t>(places[size_t(rank)] + i)], 'a' + rank);
    assert_int_equal(all.back(), '.');

    // Rank r sends 10 r + s to rank s, (r + s) times.
    std::vector<int> out_sizes(sizes.size()), out_places(sizes.size());
    for (int rank = 0; rank < ranks; rank++)
        sizes[size_t(rank)] = out_sizes[size_t(rank)] = me + rank;
    std::exclusive_scan(sizes.begin(), sizes.end(), places.begin(), 0);
    out_places = places;
    const auto length = static_cast<size_t>(places.back() + sizes.back());
    std::vector<char> in(length + 1), out(length + 1, -1);
    for (int rank = 0; rank < ranks; rank++)
        for (int i = 0; i < me + rank; i++)
            in[static_cast<size_t>(places[size_t(rank)] + i)] = static_cast<char>(10 * me + rank);
    must(mpi->ialltoallv(in.data(), sizes.data(), places.data(), out.data(), out_sizes.data(),
                         out_places.data(), comm, request));
    finish(request);
    for (int rank = 0; rank < ranks; rank++)
        for (int i = 0; i < me + rank; i++)
            assert_int_equal(out[static_cast<size_t>(places[size_t(rank)] + i)], 10 * rank + me);
    assert_int_equal(out.back(), -1);
}

void meet()
{
    Mpi::Cell request;
    must(mpi->ibarrier(comm, request));
    finish(request);
}

void a_window_is_read_by_requests_that_end_one_by_one(void**)
{
    if (ranks == 1)
        skip();  // Open MPI 4 makes no window of one rank
    constexpr size_t kRows = 1000, kSlots = 16;
    struct Row {
        uint64_t words[3];
    };
    std::vector<Row> shard(kRows);
    for (size_t i = 0; i < kRows; i++)
        shard[i] = {{static_cast<uint64_t>(me), i, ~i}};
    const Mpi::Handle win = must(mpi->win_create(shard.data(), kRows * sizeof(Row), comm));
    must(mpi->win_lock_all(win));
    must(mpi->win_sync(win));
    meet();
    const int target = (me + 1) % ranks;
    MpiRequests requests(*mpi, kSlots);
    Row landing[kSlots];
    size_t row_of[kSlots], posted = 0, ended = 0;
    while (ended < kRows) {
        while (!requests.full() && posted < kRows) {
            const size_t row = posted++ * 7 % kRows;
            const auto slot = static_cast<size_t>(requests.next());
            landing[slot] = {};
            row_of[slot] = row;
            const int given = must(
                mpi->rget(&landing[slot], sizeof(Row), target, row * sizeof(Row), win, requests));
            assert_int_equal(given, slot);
        }
        assert_true(requests.open() > 0 && requests.open() <= kSlots);
        for (const auto& [slot, code] : must(mpi->testsome(requests))) {
            assert_int_equal(code, 0);
            const Row& row = landing[slot];
            assert_int_equal(row.words[0], target);
            assert_int_equal(row.words[1], row_of[slot]);
            assert_int_equal(row.words[2], ~row_of[slot]);
            ended++;
        }
    }
    assert_int_equal(requests.open(), 0);
    assert_int_equal(must(mpi->testsome(requests)).size(), 0);
    meet();
    must(mpi->win_unlock_all(win));
    must(mpi->win_free(win));
}

void more_requests_than_slots_and_more_bytes_than_an_int_are_refused(void**)
{
    MpiRequests none(*mpi, 0), one(*mpi, 1);
    char byte;
    const uint64_t no_win = mpi->table().win_null;
    assert_int_equal(mpi->rget(&byte, 1, 0, 0, no_win, none).error().code, DDS_ERR_INTERNAL);
    const auto huge = mpi->rget(&byte, size_t{1} << 31, 0, 0, no_win, one);
    assert_int_equal(huge.error().code, DDS_ERR_INTERNAL);
    assert_int_equal(one.open(), 0);
}

void errors_return_with_the_words_of_mpi(void**)
{
    Mpi::Cell request;
    char in[4] = {}, out[64];
    const auto refused = mpi->iallgather(in, -1, out, comm, request);
    assert_false(static_cast<bool>(refused));
    assert_int_equal(refused.error().code, DDS_ERR_IO);
    unit::assert_says(refused.error().text, "MPI_Iallgather failed (");
    unit::assert_says(refused.error().text, mpi->name());
    unit::assert_says(refused.error().text, "class ");
    assert_null(strpbrk(refused.error().text.c_str(), "\n\t"));
    assert_true(refused.error().text.size() < 600);
}

void one_mpi_is_one_object(void**)
{
    const auto library = must(dds::mpi::find(nullptr));
    assert_ptr_equal(must(Mpi::open(must(dds::mpi::table_of(library)))), mpi);
    assert_true(library.live());
    assert_true(mpi->name().size() > 5);
}

// Ends when it has been asked three times.
struct Third : Mpi::Parked {
    explicit Third(int& asked) : asked_(asked) {}
    bool reap(const Mpi&) override { return ++asked_ == 3; }
    size_t bytes() const override { return 1000; }
    int& asked_;
};

void what_is_parked_is_asked_until_it_has_ended(void**)
{
    int asked = 0;
    mpi->park(std::make_unique<Third>(asked));
    assert_int_equal(Mpi::parked_bytes(), 1000);
    mpi->reap();
    mpi->reap();
    assert_int_equal(Mpi::parked_bytes(), 1000);
    mpi->reap();
    mpi->reap();
    assert_int_equal(asked, 3);
    assert_int_equal(Mpi::parked_bytes(), 0);
}

int told = 0, forgotten = 0, last_asked = 0;

void the_end_of_mpi_is_told_while_it_still_works(void**)
{
    mpi->at_finalize([] {
        told++;
        meet();
    });
    const uint64_t number = mpi->at_finalize([] { forgotten++; });
    mpi->forget(number);
    mpi->park(std::make_unique<Third>(last_asked));
    must(mpi->comm_free(comm));
    comm = mpi->handle_at(mpi_world()->comm);
    mpi_finish();
    assert_int_equal(told, 1);
    assert_int_equal(forgotten, 0);
    assert_int_equal(last_asked, 3);
    assert_int_equal(Mpi::parked_bytes(), 0);
    assert_int_equal(mpi->usable().error().code, DDS_ERR_STATE);
    const auto late = mpi->comm_rank(comm);
    assert_int_equal(late.error().code, DDS_ERR_STATE);
    unit::assert_says(late.error().text, "finalised");
    Mpi::Cell request = mpi->null_request();
    assert_int_equal(mpi->test(request).error().code, DDS_ERR_STATE);
    const auto library = dds::mpi::find(nullptr);
    assert_int_equal(library.error().code, DDS_ERR_STATE);
    unit::assert_says(library.error().text, "finalised");
    assert_int_equal(Mpi::open(mpi->table()).error().code, DDS_ERR_STATE);
}

}  // namespace

int main()
{
    const CMUnitTest tests[] = {
        cmocka_unit_test(what_is_known_of_it_is_what_its_own_header_says),
        cmocka_unit_test(fortrans_integer_is_turned_into_the_handle),
        cmocka_unit_test(one_mpi_is_one_object),
        cmocka_unit_test(a_barrier_waits_for_the_last),
        cmocka_unit_test(bytes_of_every_rank_come_in_rank_order),
        cmocka_unit_test(lengths_may_differ_and_be_none),
        cmocka_unit_test(a_window_is_read_by_requests_that_end_one_by_one),
        cmocka_unit_test(more_requests_than_slots_and_more_bytes_than_an_int_are_refused),
        cmocka_unit_test(errors_return_with_the_words_of_mpi),
        cmocka_unit_test(what_is_parked_is_asked_until_it_has_ended),
        cmocka_unit_test(the_end_of_mpi_is_told_while_it_still_works),
    };
    return cmocka_run_group_tests(tests, open_mpi, nullptr);
}
