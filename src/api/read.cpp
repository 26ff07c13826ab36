// Reading.  What stays on the node is all in this file's two functions and what they have in line;
// anything else goes out of line.
#include "store/read.hpp"

#include "api/visit.hpp"
#include "store/wire_read.hpp"

namespace {

using namespace dds;

template <class Work>
[[gnu::cold, gnu::noinline]] int out_of_line(Work work) noexcept
{
    return guarded(work);
}

Result<void> get_wired(Store& store, const char* name, int64_t first, int64_t nrows, void* out)
{
    DDS_LET(v, store.variable(name));
    DDS_LET(read, WireRead::start_range(store, v, first, nrows, static_cast<std::byte*>(out)));
    return read->finish();
}

Result<void> get_batch_wired(Store& store, const char* name, int64_t n, const int64_t* rows,
                             void* out)
{
    DDS_LET(v, store.variable(name));
    if (const int64_t bad = first_bad(v->mapped, n, rows); bad < n)
        return bad_row(store, *v, rows[bad], bad);
    DDS_LET(read, WireRead::start(store, v, n, rows, static_cast<std::byte*>(out), nullptr));
    return read->finish();
}

// Any rows, any variable.
[[gnu::noinline]] int get_any(dds_store_t store, const char* name, int64_t first, int64_t nrows,
                              void* out, size_t out_bytes)
try {
    const Visit visit(store);
    if (!visit || !name) [[unlikely]]
        return refuse(visit ? null_argument("name") : visit.refusal());
    Variable* v = look_up(visit.store(), visit.reader(), name);
    if (!v) [[unlikely]]
        return refuse(no_variable(visit.store(), name));
    if (nrows >= 0 && (first < 0 || first > static_cast<int64_t>(v->mapped.total) - nrows))
        [[unlikely]]
        return refuse(bad_range(visit.store(), *v, first, nrows));
    if (!fits(*v, nrows, out, out_bytes)) [[unlikely]]
        return refuse(bad_buffer(*v, nrows, &first, out, out_bytes));
    if (!v->mapped.whole) [[unlikely]]
        return out_of_line([&] { return get_wired(visit.store(), name, first, nrows, out); });
    int64_t own = 0;
    if (v->mapped.row)
        copy_range(v->mapped, first, nrows, static_cast<std::byte*>(out), own);
    count_rows(visit.reader(), *v, nrows, own);
    return DDS_SUCCESS;
} catch (...) {
    return refuse_exception();
}

}  // namespace

extern "C" {

// What most calls are is done here, without a frame and without another call.
int dds_get(dds_store_t store, const char* name, int64_t first, int64_t nrows, void* out,
            size_t out_bytes)
{
    Reader* const reader = Readers::known();
    if (reader && name && out && nrows == 1) [[likely]] {
        const Visit visit(store, *reader);
        if (visit && get_quick(visit.store(), *reader, name, first, static_cast<std::byte*>(out),
                               out_bytes)) [[likely]]
            return DDS_SUCCESS;
    }
    return get_any(store, name, first, nrows, out, out_bytes);
}

int dds_get_batch(dds_store_t store, const char* name, int64_t n, const int64_t* rows, void* out,
                  size_t out_bytes)
try {
    const Visit visit(store);
    if (!visit || !name) [[unlikely]]
        return refuse(visit ? null_argument("name") : visit.refusal());
    Variable* v = look_up(visit.store(), visit.reader(), name);
    if (!v) [[unlikely]]
        return refuse(no_variable(visit.store(), name));
    if (!fits(*v, n, out, out_bytes) || (!rows && n)) [[unlikely]]
        return refuse(bad_buffer(*v, n, rows, out, out_bytes));
    if (!v->mapped.whole) [[unlikely]]
        return out_of_line([&] { return get_batch_wired(visit.store(), name, n, rows, out); });
    int64_t own = 0;
    const int64_t bad = gather_rows(v->mapped, n, rows, static_cast<std::byte*>(out), own);
    if (bad < n) [[unlikely]]
        return refuse(bad_row(visit.store(), *v, rows[bad], bad));
    count_rows(visit.reader(), *v, n, own);
    return DDS_SUCCESS;
} catch (...) {
    return refuse_exception();
}

int dds_get_batch_all(dds_store_t store, const char* name, int64_t n, const int64_t* rows,
                      void* out, size_t out_bytes)
{
    return visiting(store, [&](Store& opened, const Visit& visit) {
        return opened.get_batch_all(name, n, rows, out, out_bytes, visit.reader());
    });
}

int dds_register_recv(dds_store_t store, void* buffer, size_t bytes)
{
    return visiting(
        store, [&](Store& opened, const Visit&) { return opened.register_recv(buffer, bytes); });
}

int dds_unregister_recv(dds_store_t store, void* buffer)
{
    return visiting(store,
                    [&](Store& opened, const Visit&) { return opened.unregister_recv(buffer); });
}

int dds_epoch_begin(dds_store_t store)
{
    return visiting(store,
                    [&](Store& opened, const Visit&) { return opened.epoch(Op::epoch_begin); });
}

int dds_epoch_end(dds_store_t store)
{
    return visiting(store,
                    [&](Store& opened, const Visit&) { return opened.epoch(Op::epoch_end); });
}
}
