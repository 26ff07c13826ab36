// What a store tells of itself, and what a rank does to its own shard.
#include <emmintrin.h>

#include <cstring>

#include "drivers/mpi.hpp"
#include "memory/views.hpp"
#include "store/store.hpp"
#include "store/variable_card.hpp"

namespace dds {
namespace {

std::vector<Transport*> transports_of(Router& routes)
{
    std::vector<Transport*> all{&routes.shared(), &routes.own_memory()};
    if (routes.wire())
        all.push_back(routes.wire());
    return all;
}

Result<void> register_with(Router& routes, std::span<std::byte> buffer)
{
    for (Transport* transport : transports_of(routes))
        DDS_TRY(transport->register_local(buffer));
    return {};
}

}  // namespace

Result<std::shared_ptr<Variable>> Store::variable(const char* name) const
{
    DDS_TRY(check_name(name));
    auto found = table_.share(name);
    if (!found && stale())
        return gone_stale(name);
    if (!found)
        return fail(DDS_ERR_NOTFOUND, "rank %d: there is no variable \"%s\"", rank(), name);
    return found;
}

Result<void> Store::update(const char* name, int64_t first, int64_t nrows, const void* data)
{
    DDS_TRY(check_member("dds_update"));
    DDS_LET(v, variable(name));
    if (v->in_place)
        return fail(DDS_ERR_UNSUPPORTED,
                    "variable \"%s\" lies in the caller's memory (DDS_NOCOPY): "
                    "write there",
                    name);
    if (nrows < 0)
        return fail(DDS_ERR_ARG, "variable \"%s\": %lld rows", name, static_cast<long long>(nrows));
    if (first < 0 || first > v->own_rows - nrows)
        return fail(DDS_ERR_RANGE,
                    "variable \"%s\": %lld rows from row %lld of rank %d's own shard of %lld", name,
                    static_cast<long long>(nrows), static_cast<long long>(first), rank(),
                    static_cast<long long>(v->own_rows));
    const size_t row = v->mapped.row, bytes = static_cast<size_t>(nrows) * row;
    if (bytes == 0)
        return {};
    if (!data)
        return fail(DDS_ERR_ARG, "variable \"%s\": data is NULL", name);
    std::byte* to = v->own_data + static_cast<size_t>(first) * row;
    // A row of 8 aligned bytes or fewer is written by one store, so that no reader sees half of it.
    const auto* from = static_cast<const std::byte*>(data);
    const auto each = [&]<class Word>(Word) {
        for (size_t at = 0; at < bytes; at += sizeof(Word)) {
            Word word;
            memcpy(&word, from + at, sizeof word);
            __atomic_store_n(reinterpret_cast<Word*>(to + at), word, __ATOMIC_RELAXED);
        }
    };
    if (row == 8)
        each(uint64_t{});
    else if (row == 4)
        each(uint32_t{});
    else if (row == 2)
        each(uint16_t{});
    else
        memcpy(to, from, bytes);
    _mm_sfence();
    std::atomic_thread_fence(std::memory_order_release);
    return {};
}

Result<void> Store::local(const char* name, int64_t* nrows, void** data)
{
    DDS_TRY(check_member("dds_local"));
    DDS_LET(v, variable(name));
    if (v->own_data)
        views::add(v->own_data, v->block.arena);
    *nrows = v->own_rows;
    *data = v->own_data;
    return {};
}

Result<void> Store::info(const char* name, dds_info_t& info) const
{
    DDS_LET(v, variable(name));
    info.flags = v->flags;
    info.type = v->type;
    info.memory = DDS_MEM_HOST;
    info.ndim = static_cast<int32_t>(v->shape.size());
    for (size_t i = 0; i < v->shape.size(); i++)
        info.shape[i] = v->shape[i];
    info.rows = v->partition->total();
    info.disp = v->disp;
    info.first = rank() < 0 ? 0 : v->partition->first(rank());
    info.nrows = v->own_rows;
    info.itemsize = v->itemsize;
    info.meta_bytes = v->meta.size();
    info.version = v->version.load(std::memory_order_acquire);
    return {};
}

std::string Store::names() const
{
    std::string names;
    for (const auto& variable : table_.all())
        names.append(variable->name).push_back('\0');
    return names;
}

void Store::stats(dds_stats_t& stats) const
{
    counters_.sum(stats.rows, stats.bytes);
    stats.timeouts = timeouts_.load(std::memory_order_relaxed);
    if (node_)
        stats.dead_peers = static_cast<uint64_t>(node_->dead_count());
    if (arenas_) {
        stats.arenas = arenas_->count();
        stats.arena_bytes = arenas_->bytes();
    }
    stats.parked_bytes = views::parked_bytes() + Mpi::parked_bytes();
    const std::shared_ptr<Router> routes = this->routes();
    if (const Transport* wire = routes->wire())
        wire->tell(stats);
    std::set<const Partition*> counted;
    for (const auto& variable : table_.all()) {
        stats.used_bytes += variable->block.bytes;
        stats.table_bytes += variable->table_bytes();
        if (counted.insert(variable->partition.get()).second)
            stats.table_bytes += variable->partition->bytes();
    }
    stats.peer_maps = peer_maps_.load(std::memory_order_relaxed);
}

std::shared_ptr<Router> Store::routes() const
{
    const std::lock_guard lock(routes_mutex_);
    return router_;
}

Result<void> Store::take(std::shared_ptr<Router> routes)
{
    const std::lock_guard lock(routes_mutex_);
    for (const auto& [buffer, bytes] : receive_buffers_)
        DDS_TRY(register_with(*routes, {buffer, bytes}));
    router_ = std::move(routes);
    return {};
}

std::string Store::path(int rank) const { return routes()->words(rank); }

Result<void> Store::register_recv(void* buffer, size_t bytes)
{
    if (bytes == 0)
        return {};
    if (!buffer)
        return fail(DDS_ERR_ARG, "buffer is NULL");
    const std::lock_guard lock(routes_mutex_);
    DDS_TRY(register_with(*router_, {static_cast<std::byte*>(buffer), bytes}));
    size_t& known = receive_buffers_[static_cast<std::byte*>(buffer)];
    known = std::max(known, bytes);
    return {};
}

Result<void> Store::unregister_recv(void* buffer)
{
    const std::lock_guard lock(routes_mutex_);
    if (receive_buffers_.erase(static_cast<std::byte*>(buffer)) == 0)
        return fail(DDS_ERR_ARG, "buffer %p is not registered", buffer);
    for (Transport* transport : transports_of(*router_))
        transport->unregister_local(static_cast<std::byte*>(buffer));
    return {};
}

}  // namespace dds
