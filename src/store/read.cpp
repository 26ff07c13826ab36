#include "store/read.hpp"

#include "store/variable_card.hpp"

namespace dds {

Error no_variable(const Store& store, const char* name)
{
    if (const auto valid = check_name(name); !valid)
        return valid.error();
    if (store.stale())
        return gone_stale(name);
    return fail(DDS_ERR_NOTFOUND, "rank %d: there is no variable \"%s\"", store.rank(), name);
}

Error bad_row(const Store& store, const Variable& v, int64_t row, int64_t place)
{
    if (row < 0)
        return fail(DDS_ERR_RANGE,
                    "rank %d: row %lld of variable \"%s\" (number %lld of the batch) is "
                    "negative",
                    store.rank(), static_cast<long long>(row), v.name.c_str(),
                    static_cast<long long>(place));
    return fail(DDS_ERR_RANGE,
                "rank %d: row %lld of variable \"%s\" (number %lld of the batch) is past "
                "the end, %lld",
                store.rank(), static_cast<long long>(row), v.name.c_str(),
                static_cast<long long>(place), static_cast<long long>(v.partition->total()));
}

Error bad_range(const Store& store, const Variable& v, int64_t first, int64_t nrows)
{
    return fail(DDS_ERR_RANGE,
                "rank %d: %lld rows from row %lld of variable \"%s\" are not within its "
                "%lld rows",
                store.rank(), static_cast<long long>(nrows), static_cast<long long>(first),
                v.name.c_str(), static_cast<long long>(v.partition->total()));
}

Error bad_buffer(const Variable& v, int64_t n, const void* rows, const void* out, size_t out_bytes)
{
    if (n < 0)
        return fail(DDS_ERR_ARG, "variable \"%s\": %lld rows", v.name.c_str(),
                    static_cast<long long>(n));
    if (n > 0 && !rows)
        return fail(DDS_ERR_ARG, "variable \"%s\": rows is NULL", v.name.c_str());
    if (bytes_of(n, v.mapped.row) == SIZE_MAX)
        return fail(DDS_ERR_OVERFLOW,
                    "variable \"%s\": %lld rows of %zu bytes do not fit in 64 bits", v.name.c_str(),
                    static_cast<long long>(n), v.mapped.row);
    if (bytes_of(n, v.mapped.row) > out_bytes)
        return fail(DDS_ERR_ARG,
                    "variable \"%s\": %lld rows of %zu bytes do not fit into out_bytes, %zu",
                    v.name.c_str(), static_cast<long long>(n), v.mapped.row, out_bytes);
    (void)out;
    return fail(DDS_ERR_ARG, "variable \"%s\": out is NULL", v.name.c_str());
}

}  // namespace dds
