// What a store is opened with: the caller's options, then the environment, then defaults.
#include <algorithm>

#include "base/env.hpp"
#include "store/store.hpp"
#include "transport/nic.hpp"

namespace dds {
namespace {

Result<int64_t> deadline_ms(const char* variable, int64_t seconds)
{
    DDS_LET(set, env::integer(variable));
    return set.value_or(seconds) * 1000;
}

}  // namespace

Result<StoreOptions> read_options(const dds_options_t& given)
{
    StoreOptions options;
    if (given.flags != 0)
        return fail(DDS_ERR_ARG, "flags 0x%x: no flag of dds_options_t is known", given.flags);
    if (given.reserved != 0)
        return fail(DDS_ERR_ARG, "the reserved field of dds_options_t is %d, not 0",
                    given.reserved);
    if (given.timeout_ms < 0 || given.collective_timeout_ms < 0)
        return fail(DDS_ERR_ARG, "a deadline of %d ms: give a positive one, or 0 for the default",
                    std::min(given.timeout_ms, given.collective_timeout_ms));
    if (given.method < DDS_METHOD_MPI || given.method > DDS_METHOD_FILE)
        return fail(DDS_ERR_ARG, "method %d: it is 0 (MPI), 1 (fabric) or 2 (file)", given.method);
    if (given.method == DDS_METHOD_FILE)
        options.handshake_dir = given.handshake_dir
                                    ? given.handshake_dir
                                    : env::text("DDSTORE_HANDSHAKE_DIR").value_or("");
    else if (given.handshake_dir)
        return fail(DDS_ERR_ARG, "handshake_dir goes with method 2, not with %d", given.method);
    if (given.method == DDS_METHOD_FILE && options.handshake_dir.empty())
        return fail(DDS_ERR_ARG,
                    "method 2 needs a directory that all jobs see: give handshake_dir, or "
                    "set DDSTORE_HANDSHAKE_DIR");
    if (given.nic_map) {
        DDS_TRY(parse_nic_map(given.nic_map, "nic_map"));
        options.nic_map = given.nic_map;
    }
    if (given.hints && given.hints[0])
        return fail(DDS_ERR_ARG, "hint \"%.64s\" is not known", given.hints[0]);
    options.method = given.method;
    DDS_LET(read_ms, deadline_ms("DDSTORE_TIMEOUT_S", 30));
    DDS_LET(collective_ms, deadline_ms("DDSTORE_COLLECTIVE_TIMEOUT_S", 1800));
    options.read_ms = read_ms;
    options.collective_ms = collective_ms;
    DDS_LET(max_read, env::integer("DDSTORE_MAX_READ_BYTES"));
    options.max_read = max_read.value_or(int64_t{1} << 30);
    DDS_LET(max_exchange, env::integer("DDSTORE_ALLTOALL_MAX_BYTES"));
    options.max_exchange = max_exchange.value_or(int64_t{2} << 20);
    DDS_LET(profile, env::flag("DDSTORE_PROFILE"));
    options.profile = profile.value_or(false);
    DDS_LET(share, env::flag("DDSTORE_SHM"));
    options.share = share.value_or(true);
    return options;
}

}  // namespace dds
