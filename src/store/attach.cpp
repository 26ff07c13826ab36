// Readers of another job (method 2): they find a core job's variables by its records, its memory by
// its lobbies on this node, and by libfabric on others.  Nobody of the core job does anything for it.
#include <unistd.h>

#include <mutex>
#include <thread>

#include "base/env.hpp"
#include "node/identity.hpp"
#include "node/visitor.hpp"
#include "store/attached.hpp"
#include "store/contain.hpp"
#include "transport/nic.hpp"

namespace dds {
namespace {

constexpr int64_t kCall = 5'000;  // ms for an owner of this node to answer

bool same(const CoreRecord& core, const VariableRecord& record)
{
    return core.store == record.store && core.epoch == record.epoch;
}

// What the next run of the core job ends: one that died has left its records.
bool passes(const Error& error)
{
    return error.code == DDS_ERR_PEER || error.code == DDS_ERR_STALE ||
           error.code == DDS_ERR_TIMEOUT || error.code == DDS_ERR_NOTFOUND;
}

}  // namespace

Error gone_stale(const char* name)
{
    return fail(DDS_ERR_STALE,
                "variable \"%s\": a process of the core job has ended, and the job may have begun "
                "anew: attach to it again",
                name);
}

Result<std::unique_ptr<Store>> Store::attach(int n_core, const dds_options_t& given)
{
    DDS_LET(options, read_options(given));
    if (n_core <= 0)
        return fail(DDS_ERR_ARG, "n_core is %d: give the number of ranks of the core job", n_core);
    DDS_LET(store, open_attached(n_core, options));
    store->set_timeout(given.timeout_ms, given.collective_timeout_ms);
    return std::move(store);
}

Result<std::unique_ptr<Store>> Store::open_attached(int n_core, const StoreOptions& options)
{
    std::unique_ptr<Store> store(new Store(-1, n_core));
    store->options_ = options;
    store->set_timeout(0, 0);
    store->spare_ = std::thread::hardware_concurrency() > 1;  // it serves nobody
    store->attached_ = std::make_unique<Attached>();
    DDS_LET(shelf, Shelf::open(options.handshake_dir));
    store->attached_->shelf = std::move(shelf);
    DDS_LET(router, Router::of_reader(std::vector<Way>(static_cast<size_t>(n_core), Way::none), {},
                                      nullptr, nullptr));
    store->router_ = std::move(router);
    return store;
}

Result<bool> Store::Attached::pin(Store& store, const VariableRecord& record)
{
    DDS_LET(found, shelf.look(record.store, &why));
    if (!found)
        return false;
    DDS_TRY(check_together(record, *found));
    if (only && *only != std::pair(found->store, found->epoch))
        return gone_stale(record.name.c_str());
    if (static_cast<int>(found->ranks.size()) != store.size())
        return fail(DDS_ERR_MISMATCH, "n_core is %d, and the core job in %s has %zu ranks",
                    store.size(), shelf.directory().path().c_str(), found->ranks.size());
    auto met = meet(store, *found);
    if (!met) {
        if (!passes(met.error()))
            return met.error();
        why = std::move(met).error();
        return false;
    }
    core = std::move(*found);
    return true;
}

// Each rank of the core job: mapped where it is on this node, else by libfabric.
Result<void> Store::Attached::meet(Store& store, const CoreRecord& found)
{
    DDS_LET(here, node_identity());
    auto fresh = std::make_unique<Visitors>();
    std::vector<Way> ways;
    std::vector<std::string> reasons, addresses;
    bool wired = false, one_node = true;
    for (size_t rank = 0; rank < found.ranks.size(); rank++) {
        const CoreRecord::Rank& owner = found.ranks[rank];
        addresses.push_back(owner.address);
        one_node = one_node && owner.node == here;
        const bool near = owner.node == here && owner.uid == geteuid() && !owner.socket.empty();
        if (near && store.options_.share) {
            DDS_LET(visitor, Visitor::call(shelf.directory().fd(),
                                           {static_cast<int>(rank), owner.socket, found.store,
                                            owner.incarnation,
                                            [this, &store] {
                                                if (joined.load(std::memory_order_acquire))
                                                    store.go_stale();
                                            }},
                                           kCall));
            fresh->add(static_cast<int>(rank), std::move(visitor));
            ways.push_back(Way::shared);
            reasons.emplace_back();
            continue;
        }
        const bool reached = !found.provider.empty() && !owner.address.empty();
        ways.push_back(reached ? Way::wire : Way::none);
        reasons.emplace_back(near ? "DDSTORE_SHM=0" : "another node");
        wired = wired || reached;
    }
    std::unique_ptr<Transport> wire;
    if (wired) {
        DDS_LET(opened, open_wire(store, found, one_node));
        wire = std::move(opened);
        DDS_TRY(wire->meet(addresses));
    }
    DDS_LET(router,
            Router::of_reader(std::move(ways), std::move(reasons), fresh.get(), std::move(wire)));
    DDS_TRY(store.take(std::move(router)));
    visitors = std::move(fresh);
    return {};
}

Result<std::unique_ptr<Transport>> Store::Attached::open_wire(const Store& store,
                                                              const CoreRecord& found,
                                                              bool one_node)
{
    FabricWish wish = FabricWish::of_environment(one_node);
    DDS_LET(nic, near_nic(store.options_.nic_map, 0));
    wish.near_net = nic.net;
    wish.near_device = nic.device;
    FabricOffer offer{};
    found.provider.copy(offer.provider, sizeof offer.provider - 1);
    offer.protocol = found.protocol;
    offer.addr_format = found.address_format;
    DDS_LET(choice, fabric_choose(offer, wish));
    return open_transport("fabric", {nullptr, -1, "", nullptr, &choice});
}

bool Store::Attached::lost() const
{
    for (size_t rank = 0; visitors && rank < core->ranks.size(); rank++)
        if (const Visitor* visitor = visitors->find(static_cast<int>(rank));
            visitor && visitor->gone())
            return true;
    return false;
}

void Store::go_stale()
{
    stale_.store(true, std::memory_order_release);
    table_.close();
}

// One look for a variable, and all that follows from it.
class Store::Joining final : public Operation {
public:
    Joining(Store& store, const char* name) : store_(store), name_(name) {}

    Result<Step> step() override
    {
        const std::lock_guard lock(store_.attached_->mutex);
        bool done = false;
        DDS_TRY(contain([&]() -> Result<void> {
            DDS_LET(found, look());
            done = found;
            return {};
        }));
        return done ? Step::ended : Step::idle;
    }

private:
    Result<bool> look();
    Result<void> take(const VariableRecord& record);
    Result<void> locate(const VariableRecord& record, Variable& v);
    Result<void> prove(const std::shared_ptr<Variable>& v);

    Store& store_;
    const char* name_;
};

Result<bool> Store::Joining::look()
{
    Attached& attached = *store_.attached_;
    if (store_.stale())
        return gone_stale(name_);
    if (store_.table_.find(NameKey(name_), name_))
        return fail(DDS_ERR_EXISTS, "variable \"%s\" is joined already", name_);
    DDS_LET(record, attached.shelf.look(name_, &attached.why));
    if (!record)
        return false;
    if (!attached.core) {
        DDS_LET(pinned, attached.pin(store_, *record));
        if (!pinned)
            return false;
    } else if (!same(*attached.core, *record)) {
        return fail(DDS_ERR_STALE,
                    "variable \"%s\" in %s is of another run than what was joined first: attach "
                    "anew",
                    name_, attached.shelf.directory().path().c_str());
    }
    auto taken = take(*record);
    if (taken) {
        attached.joined.store(true, std::memory_order_release);
        if (attached.lost())  // before anybody was told
            store_.go_stale();
        return true;
    }
    // Until something is joined the next run may be the one.
    if (!passes(taken.error()) || store_.table_.count())
        return taken.error();
    attached.why = std::move(taken).error();
    attached.core.reset();
    return false;
}

Result<void> Store::Joining::take(const VariableRecord& record)
{
    auto v = std::make_shared<Variable>();
    v->name = record.name;
    v->order = store_.next_order_++;
    v->id = static_cast<uint16_t>(v->order);
    v->type = record.type;
    v->flags = record.flags;
    v->disp = record.disp;
    v->itemsize = record.itemsize;
    v->shape = record.shape;
    v->meta = record.meta;
    v->version = record.published;
    v->in_place = record.flags & DDS_NOCOPY;
    v->mapped.profiled = store_.options_.profile;
    if (record.rows.size() != static_cast<size_t>(store_.size()))
        return fail(DDS_ERR_MISMATCH, "variable \"%s\" has shards of %zu ranks, n_core is %d",
                    record.name.c_str(), record.rows.size(), store_.size());
    DDS_LET(partition, Partition::make(record.rows));
    v->partition = store_.intern(std::move(partition));
    DDS_TRY(locate(record, *v));
    v->map();
    DDS_TRY(prove(v));
    store_.table_.prepare();
    store_.table_.insert(std::move(v));
    return {};
}

Result<void> Store::Joining::locate(const VariableRecord& record, Variable& v)
{
    Router& router = *store_.router_;
    const size_t row = static_cast<size_t>(v.disp) * v.itemsize;
    std::vector<Transport::Attach> mapped, wired;
    for (const VariableRecord::Segment& segment : record.segments) {
        Transport::Attach attach{segment.rank, segment.id, segment.bytes, {}};
        if (segment.key.size() > Key::kMost)
            return fail(DDS_ERR_CORRUPT, "variable \"%s\": a key of %zu bytes", v.name.c_str(),
                        segment.key.size());
        std::copy(segment.key.begin(), segment.key.end(), attach.key.bytes.begin());
        attach.key.used = static_cast<uint32_t>(segment.key.size());
        const Way way = router.way(static_cast<int>(segment.rank));
        if (way == Way::shared && !v.in_place) {
            if (!router.shared().attached(segment.rank, segment.id))
                mapped.push_back(attach);
        } else if (way == Way::wire && !router.wire()->attached(segment.rank, segment.id)) {
            wired.push_back(attach);
        }
    }
    DDS_TRY(router.shared().attach(mapped, store_.read_ms()));
    if (router.wire())
        DDS_TRY(router.wire()->attach(wired, store_.read_ms()));
    const auto shards = static_cast<size_t>(v.partition->shards());
    v.places.resize(shards);
    v.bases.resize(shards);
    for (const VariableRecord::Segment& segment : record.segments) {
        const int shard = v.partition->shard_of_rank(static_cast<int>(segment.rank));
        if (shard < 0)
            continue;
        const auto at = static_cast<size_t>(shard);
        v.places[at] = {segment.offset, segment.id, row != 0};
        if (v.in_place || router.way(static_cast<int>(segment.rank)) != Way::shared)
            continue;
        const std::byte* data = router.shared().mapped(segment.rank, segment.id) + segment.offset;
        v.places[at].wired = false;
        v.bases[at] = data - static_cast<size_t>(v.partition->start(shard)) * row;
        v.holds.push_back(router.shared().hold(segment.rank, segment.id));
    }
    return {};
}

// Whoever is behind a wire has what the record says: a byte of each shard tells.
Result<void> Store::Joining::prove(const std::shared_ptr<Variable>& v)
{
    std::vector<std::byte> row(v->mapped.row);
    for (size_t shard = 0; shard < v->places.size(); shard++) {
        const int rank = v->partition->rank_of(static_cast<int>(shard));
        if (!v->places[shard].wired || store_.router_->way(rank) != Way::wire)
            continue;
        DDS_LET(read, WireRead::start_range(store_, v, v->partition->start(static_cast<int>(shard)),
                                            1, row.data()));
        DDS_TRY(read->finish());
    }
    return {};
}

Result<void> Store::join(const char* name)
{
    if (!attached_)
        return fail(DDS_ERR_STATE, "dds_join is for readers of another job: see dds_attach");
    DDS_TRY(check_name(name));
    DDS_LET(seconds, env::integer("DDSTORE_HANDSHAKE_TIMEOUT_S"));
    Joining joining(*this, name);
    DDS_LET(waited, wait(joining, {.timeout_ms = seconds.value_or(300) * 1000,
                                   .park_max_ns = Attached::kLook}));
    if (waited == Waited::interrupted)
        return fail(DDS_ERR_INTERRUPTED, "interrupted in dds_join of variable \"%s\"", name);
    const std::lock_guard lock(attached_->mutex);  // of what other threads' joins find
    if (waited == Waited::timeout)
        return fail(DDS_ERR_TIMEOUT,
                    "variable \"%s\" did not come to %s within %lld s "
                    "(DDSTORE_HANDSHAKE_TIMEOUT_S): %s",
                    name, attached_->shelf.directory().path().c_str(),
                    static_cast<long long>(seconds.value_or(300)), attached_->why.text.c_str());
    return {};
}

Result<std::unique_ptr<Store>> Store::attach_again(const Store& origin, bool child)
{
    DDS_LET(reader, open_attached(origin.size_, origin.options_));
    reader->set_timeout(origin.read_ms(), origin.collective_ms());
    // Before something is joined another thread may be looking for the run.
    if (origin.attached_->joined.load(std::memory_order_acquire))
        reader->attached_->only =
            std::pair(origin.attached_->core->store, origin.attached_->core->epoch);
    std::vector<std::string> names;
    if (child)
        for (const Variable* variable : origin.table_.inherited())
            names.push_back(variable->name);
    else
        for (const auto& variable : origin.table_.all())
            names.push_back(variable->name);
    if (origin.stale())
        return gone_stale(names.empty() ? "" : names.front().c_str());
    for (const std::string& name : names) {
        DDS_LET(step, Joining(*reader, name.c_str()).step());
        if (step != Step::ended)  // it was there
            return gone_stale(name.c_str());
    }
    return std::move(reader);
}

Result<void> Store::wait_version(const char* name, int64_t version, int64_t timeout_ms,
                                 int64_t& seen)
{
    struct Waiting final : Operation {
        Waiting(Store& asked, Variable& of, int64_t least) : store(asked), v(of), version(least) {}
        Result<Step> step() override
        {
            if (v.version < version && store.attached_)
                DDS_TRY(look());
            return v.version >= version ? Step::ended : Step::idle;
        }
        Result<void> look()
        {
            if (store.stale())
                return gone_stale(v.name.c_str());
            const Attached& attached = *store.attached_;
            DDS_LET(record, attached.shelf.look(v.name));
            if (!record)
                return {};
            if (!same(*attached.core, *record))
                return gone_stale(v.name.c_str());
            v.version.store(record->published, std::memory_order_release);
            return {};
        }
        Store& store;
        Variable& v;
        int64_t version;
    };
    DDS_LET(v, variable(name));
    Waiting waiting(*this, *v, version);
    DDS_LET(waited, wait(waiting, {.timeout_ms = timeout_ms ? timeout_ms : read_ms(),
                                   .park_max_ns = Attached::kLook}));
    seen = v->version;
    if (waited == Waited::interrupted)
        return fail(DDS_ERR_INTERRUPTED, "interrupted while waiting for version %lld of \"%s\"",
                    static_cast<long long>(version), name);
    if (waited == Waited::timeout)
        return fail(DDS_ERR_TIMEOUT,
                    "version %lld of variable \"%s\" was not published: it is at %lld",
                    static_cast<long long>(version), name, static_cast<long long>(seen));
    return {};
}

}  // namespace dds
