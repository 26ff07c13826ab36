#include "api/comm.hpp"

#include <atomic>
#include <string>

#include "api/door.hpp"
#include "base/env.hpp"

namespace dds {

Handles<Comm, dds_comm_t, 2>& comm_handles()
{
    static auto* handles = new Handles<Comm, dds_comm_t, 2>("communicator");
    return *handles;
}

// Made while the library is loaded: its mutex must be known before there are threads.
[[maybe_unused]] static auto& made_at_load = comm_handles();

Result<int> collective_ms()
{
    DDS_LET(seconds, env::integer("DDSTORE_COLLECTIVE_TIMEOUT_S"));
    return static_cast<int>(seconds.value_or(1800) * 1000);
}

Result<void> hand_out(Result<std::unique_ptr<Comm>> opened, dds_comm_t* out)
{
    DDS_TRY(opened);
    *out = comm_handles().put(std::shared_ptr<Comm>(std::move(*opened)));
    return {};
}

namespace {

template <class T>
std::span<std::byte> bytes_at(T* data, size_t bytes)
{
    return {reinterpret_cast<std::byte*>(data), bytes};
}

}  // namespace
}  // namespace dds

using namespace dds;

extern "C" {

int dds_comm_self(dds_comm_t* comm)
{
    return guarded([&]() -> Result<void> {
        if (!comm)
            return null_argument("comm");
        return hand_out(open_self(), comm);
    });
}

int dds_comm_file(const char* dir, const char* ns, int rank, int size, int timeout_ms,
                  dds_comm_t* comm)
{
    return guarded([&]() -> Result<void> {
        if (!comm)
            return null_argument("comm");
        if (timeout_ms < 0)
            return fail(DDS_ERR_ARG, "timeout_ms is %d: give a positive one, or 0 for the default",
                        timeout_ms);
        DDS_TRY(env::check());
        const auto usual = env::text("DDSTORE_HANDSHAKE_DIR");
        if (!dir && !usual)
            return null_argument("dir, with DDSTORE_HANDSHAKE_DIR unset,");
        const std::string where = dir ? dir : *usual;
        if (timeout_ms == 0) {
            DDS_LET(seconds, env::integer("DDSTORE_HANDSHAKE_TIMEOUT_S"));
            timeout_ms = static_cast<int>(seconds.value_or(300) * 1000);
        }
        static std::atomic<int> next{0};
        const std::string name = ns ? ns : "s" + std::to_string(next.fetch_add(1));
        return hand_out(open_file(where, name, rank, size, timeout_ms), comm);
    });
}

int dds_comm_custom(const dds_comm_ops_t* ops, void* ctx, dds_comm_t* comm)
{
    return guarded([&]() -> Result<void> {
        if (!comm || !ops)
            return null_argument(comm ? "ops" : "comm");
        DDS_LET(ours, read_struct(ops, "dds_comm_ops_t"));
        return hand_out(open_custom(ours, ctx), comm);
    });
}

int dds_comm_rank(dds_comm_t comm, int* rank)
{
    return guarded([&]() -> Result<void> {
        DDS_LET(found, comm_handles().get(comm));
        if (!rank)
            return null_argument("rank");
        *rank = found->rank();
        return {};
    });
}

int dds_comm_size(dds_comm_t comm, int* size)
{
    return guarded([&]() -> Result<void> {
        DDS_LET(found, comm_handles().get(comm));
        if (!size)
            return null_argument("size");
        *size = found->size();
        return {};
    });
}

int dds_comm_barrier(dds_comm_t comm)
{
    return guarded([&]() -> Result<void> {
        DDS_LET(found, comm_handles().get(comm));
        DDS_LET(ms, collective_ms());
        return barrier(*found, ms);
    });
}

int dds_comm_allgather(dds_comm_t comm, const void* in, size_t bytes, void* out)
{
    return guarded([&]() -> Result<void> {
        DDS_LET(found, comm_handles().get(comm));
        if (bytes && (!in || !out))
            return null_argument(in ? "out" : "in");
        size_t all;
        if (__builtin_mul_overflow(bytes, static_cast<size_t>(found->size()), &all))
            return fail(DDS_ERR_OVERFLOW, "%zu bytes from each of %d ranks", bytes, found->size());
        DDS_LET(ms, collective_ms());
        return allgather(*found, {static_cast<const std::byte*>(in), bytes}, bytes_at(out, all),
                         ms);
    });
}

int dds_comm_allgatherv(dds_comm_t comm, const void* in, size_t bytes, void* out, size_t capacity,
                        size_t* sizes)
{
    return guarded([&]() -> Result<void> {
        DDS_LET(found, comm_handles().get(comm));
        if ((bytes && !in) || (capacity && !out) || !sizes)
            return null_argument(!sizes ? "sizes" : bytes && !in ? "in" : "out");
        DDS_LET(ms, collective_ms());
        return allgatherv(*found, {static_cast<const std::byte*>(in), bytes},
                          bytes_at(out, capacity), {sizes, static_cast<size_t>(found->size())}, ms);
    });
}

int dds_comm_free(dds_comm_t* comm)
{
    return guarded([&]() -> Result<void> {
        if (!comm)
            return null_argument("comm");
        if (!*comm)
            return {};
        auto taken = comm_handles().take(*comm);
        // The parent's files are the parent's to remove.
        if (!taken && taken.error().code != DDS_ERR_FORKED)
            return taken.error();
        *comm = nullptr;
        return {};
    });
}
}
