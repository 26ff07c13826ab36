// Variables: adding, describing, updating, dropping.
#include "api/visit.hpp"

namespace {

using namespace dds;

// Arguments that are wrong here go into the rounds of the collective, so that all ranks hear of them.
int add(Op op, dds_store_t store, const char* name, int64_t nrows, int64_t disp, int type,
        const void* data, const dds_var_options_t* options)
{
    return visiting(store, [&](Store& opened, const Visit&) -> Result<void> {
        VariableSpec spec{name, nrows, disp, type, data, {}, {}};
        auto ours = read_struct(options, "dds_var_options_t");
        if (ours)
            spec.options = *ours;
        else
            spec.problem = ours.error();
        return opened.add(op, spec);
    });
}

// Copy `bytes` out where there is room, and tell how many there are.
Result<void> copy_out(const void* from, size_t bytes, void* to, size_t capacity, size_t* needed)
{
    if (!needed)
        return null_argument("bytes");
    *needed = bytes;
    if (!to && capacity == 0)
        return {};
    if (!to)
        return null_argument("the buffer");
    if (bytes > capacity)
        return fail(DDS_ERR_TRUNCATED, "%zu bytes do not fit into %zu", bytes, capacity);
    if (bytes)
        memcpy(to, from, bytes);
    return {};
}

}  // namespace

extern "C" {

int dds_add(dds_store_t store, const char* name, int64_t nrows, int64_t disp, int type,
            const void* data, const dds_var_options_t* options)
{
    return add(Op::add, store, name, nrows, disp, type, data, options);
}

int dds_create(dds_store_t store, const char* name, int64_t nrows, int64_t disp, int type,
               const dds_var_options_t* options)
{
    return add(Op::create, store, name, nrows, disp, type, nullptr, options);
}

int dds_update(dds_store_t store, const char* name, int64_t first, int64_t nrows, const void* data)
{
    return visiting(store, [&](Store& opened, const Visit&) {
        return opened.update(name, first, nrows, data);
    });
}

int dds_local(dds_store_t store, const char* name, int64_t* nrows, void** data)
{
    return visiting(store, [&](Store& opened, const Visit&) -> Result<void> {
        if (!nrows || !data)
            return null_argument(nrows ? "data" : "nrows");
        return opened.local(name, nrows, data);
    });
}

int dds_join(dds_store_t store, const char* name)
{
    return visiting(store, [&](Store& opened, const Visit&) { return opened.join(name); });
}

int dds_publish(dds_store_t store, const char* name, int64_t version)
{
    return visiting(store,
                    [&](Store& opened, const Visit&) { return opened.publish(name, version); });
}

int dds_wait_version(dds_store_t store, const char* name, int64_t version, int timeout_ms,
                     int64_t* seen)
{
    return visiting(store, [&](Store& opened, const Visit&) -> Result<void> {
        if (timeout_ms < 0)
            return fail(DDS_ERR_ARG, "timeout_ms is %d: give a positive one, or 0 for the default",
                        timeout_ms);
        int64_t found = 0;
        DDS_TRY(opened.wait_version(name, version, timeout_ms, found));
        if (seen)
            *seen = found;
        return {};
    });
}

int dds_drop(dds_store_t store, const char* name)
{
    return visiting(store, [&](Store& opened, const Visit& visit) {
        return opened.drop(name, visit.handle());
    });
}

int dds_info(dds_store_t store, const char* name, dds_info_t* info)
{
    return visiting(store, [&](Store& opened, const Visit&) -> Result<void> {
        if (!info)
            return null_argument("info");
        dds_info_t ours{};
        DDS_TRY(opened.info(name, ours));
        return write_struct(info, ours, "dds_info_t");
    });
}

int dds_meta(dds_store_t store, const char* name, void* buf, size_t capacity, size_t* bytes)
{
    return visiting(store, [&](Store& opened, const Visit&) -> Result<void> {
        DDS_LET(v, opened.variable(name));
        return copy_out(v->meta.data(), v->meta.size(), buf, capacity, bytes);
    });
}

int dds_owner(dds_store_t store, const char* name, int64_t row, int* rank, int64_t* local_row)
{
    return visiting(store, [&](Store& opened, const Visit&) -> Result<void> {
        DDS_LET(v, opened.variable(name));
        if (row < 0 || row >= v->partition->total())
            return fail(DDS_ERR_RANGE, "row %lld of variable \"%s\" is not within its %lld rows",
                        static_cast<long long>(row), name,
                        static_cast<long long>(v->partition->total()));
        const int owner = v->partition->owner(row);
        if (rank)
            *rank = owner;
        if (local_row)
            *local_row = row - v->partition->first(owner);
        return {};
    });
}

int dds_partition(dds_store_t store, const char* name, int64_t* first)
{
    return visiting(store, [&](Store& opened, const Visit&) -> Result<void> {
        DDS_LET(v, opened.variable(name));
        if (!first)
            return null_argument("first");
        const auto firsts = v->partition->firsts();
        memcpy(first, firsts.data(), firsts.size_bytes());
        return {};
    });
}

int dds_list(dds_store_t store, char* names, size_t capacity, size_t* bytes)
{
    return visiting(store, [&](Store& opened, const Visit&) -> Result<void> {
        const std::string all = opened.names();
        return copy_out(all.data(), all.size(), names, capacity, bytes);
    });
}

int dds_profile(dds_store_t store, const char* name, dds_profile_t* profile)
{
    return visiting(store, [&](Store& opened, const Visit&) -> Result<void> {
        if (!profile)
            return null_argument("profile");
        DDS_LET(v, opened.variable(name));
        dds_profile_t ours{};
        v->profile.tell(ours);
        return write_struct(profile, ours, "dds_profile_t");
    });
}
}
