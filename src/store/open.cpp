// dds_init: the ranks tell each other what they are, those of a node meet, and all agree whether the
// store stands.
#include <algorithm>
#include <cstring>
#include <optional>
#include <thread>

#include "base/clock.hpp"
#include "base/env.hpp"
#include "base/failpoint.hpp"
#include "base/log.hpp"
#include "comm/mpi.hpp"
#include "store/attached.hpp"
#include "store/opening.hpp"
#include "store/request.hpp"
#include "store/store.hpp"
#include "transport/mpi_windows.hpp"
#include "transport/nic.hpp"

namespace dds {
namespace {

constexpr uint32_t kProtocol = 1;
constexpr int64_t kLastWords = 10'000;  // ms to hear why the others failed

// What goes round first: of the same size in every version, so that versions can tell each other.
struct InitCard {
    uint32_t magic, protocol;
    Verdict<192> verdict;
    int32_t method;
    int32_t shares;  // whether this rank maps the others' memory (DDSTORE_SHM)
    int64_t max_exchange;
    std::array<StoreId, 8> left;  // freed stores whose windows may go now, ascending, then zeros
    NodeCard node;
};
constexpr uint32_t kMagic = 0x53534444;  // "DDSS"

struct EndCard {
    Verdict<376> verdict;
    uint32_t address_bytes = 0;  // where a wire reads this rank
    char address[256] = "";
    // Where readers of other jobs ask for this rank's memory, and its incarnation.
    uint32_t socket_bytes = 0;
    char socket[CoreRecord::kMostSocket] = "";
    uint64_t incarnation = 0;
};

// Of method 2: whether rank 0 has left word for readers.
struct PublishedCard {
    Verdict<376> verdict;
};

CoreRecord core_record(std::span<const InitCard> cards, std::span<const EndCard> ends,
                       const std::optional<FabricOffer>& fabric)
{
    CoreRecord core;
    core.epoch = ends[0].incarnation;
    if (fabric) {
        core.provider = fabric->provider;
        core.protocol = fabric->protocol;
        core.address_format = fabric->addr_format;
    }
    for (size_t rank = 0; rank < cards.size(); rank++) {
        CoreRecord::Rank& to = core.ranks.emplace_back();
        to.node = cards[rank].node.node;
        to.uid = cards[rank].node.uid;
        to.incarnation = ends[rank].incarnation;
        to.address.assign(ends[rank].address, ends[rank].address_bytes);
        to.socket.assign(ends[rank].socket, ends[rank].socket_bytes);
    }
    return core;
}

Result<void> compare(std::span<const InitCard> cards)
{
    for (size_t rank = 1; rank < cards.size(); rank++) {
        if (cards[rank].magic != kMagic || cards[rank].protocol != cards[0].protocol)
            return fail_rank(DDS_ERR_VERSION, static_cast<int>(rank),
                             "rank %zu has another version of the library than rank 0", rank);
        if (cards[rank].method != cards[0].method)
            return fail_rank(DDS_ERR_MISMATCH, static_cast<int>(rank),
                             "rank %zu opens the store with method %d, rank 0 with method %d", rank,
                             cards[rank].method, cards[0].method);
        if (cards[rank].max_exchange != cards[0].max_exchange)
            return fail_rank(DDS_ERR_MISMATCH, static_cast<int>(rank),
                             "DDSTORE_ALLTOALL_MAX_BYTES is %lld on rank %zu, %lld on rank 0",
                             static_cast<long long>(cards[rank].max_exchange), rank,
                             static_cast<long long>(cards[0].max_exchange));
    }
    return {};
}

// The ranks are those of freed stores whose windows still stand, and all know them freed.  Several at
// a time: what one rank did not know in time makes up for it in the next dds_init.
Result<void> free_left(Comm& comm, std::span<const InitCard> cards)
{
    for (const StoreId& left : cards[0].left)
        if (comm.mpi() && left != StoreId{} &&
            std::all_of(cards.begin(), cards.end(), [&](const InitCard& card) {
                return std::find(card.left.begin(), card.left.end(), left) != card.left.end();
            }))
            DDS_TRY(MpiWindows::free_parked(left));
    return {};
}

bool one_node(std::span<const InitCard> cards)
{
    return std::all_of(cards.begin(), cards.end(),
                       [&](const InitCard& card) { return same_node(card.node, cards[0].node); });
}

// Whether some rank of the store reads another's rows neither in its own memory nor mapped.
bool wired(std::span<const InitCard> cards)
{
    return cards.size() > 1 &&
           !(one_node(cards) && std::all_of(cards.begin(), cards.end(),
                                            [](const InitCard& card) { return card.shares; }));
}

}  // namespace

Result<std::unique_ptr<Store>> Store::open(std::shared_ptr<Comm> comm, const dds_options_t& given,
                                           const Result<void>& arguments)
{
    std::unique_ptr<Store> store(new Store(comm));
    const int rank = comm->rank();
    auto options = read_options(given);
    auto prepared = Node::prepare();
    Result<void> mine = arguments;
    if (mine && !options)
        mine = options.error();
    else if (mine && !prepared)
        mine = prepared.error();

    InitCard card{kMagic,
                  kProtocol,
                  {},
                  given.method,
                  options && options->share,
                  options ? options->max_exchange : 0,
                  {},
                  {}};
    card.verdict.tell(mine);
    if (prepared)
        card.node = prepared->card;
    if (comm->mpi()) {
        comm->mpi()->mpi->reap();
        MpiWindows::parked(comm->size(), card.left);
    }
    const int64_t patience =
        options ? given.collective_timeout_ms ? given.collective_timeout_ms : options->collective_ms
                : int64_t{1800} * 1000;
    DDS_LET(cards, exchange(*comm, card, patience, nullptr));
    DDS_TRY(first_failure<InitCard>(cards, rank, mine));
    DDS_TRY(compare(cards));
    DDS_TRY(free_left(*comm, cards));
    std::optional<FabricOffer> fabric;
    // Readers of other jobs may be on other nodes.
    const bool published = given.method == DDS_METHOD_FILE;
    FabricWish wish = FabricWish::of_environment(one_node(cards) && !published);
    if (published || (wired(cards) && given.method != DDS_METHOD_MPI)) {
        auto agreed = agree_on_fabric(*comm, wish, patience);
        if (!agreed && agreed.error().code == DDS_ERR_UNSUPPORTED && one_node(cards) &&
            !wish.one_node) {
            wish.one_node = true;  // a machine by itself
            agreed = agree_on_fabric(*comm, wish, patience);
        }
        if (agreed)
            fabric = *agreed;
        else if (wired(cards) || agreed.error().code != DDS_ERR_UNSUPPORTED)
            return agreed.error();
        else
            log(DDS_LOG_INFO, "readers of this node alone can attach: %s",
                agreed.error().text.c_str());
    }
    store->options_ = *options;
    store->set_timeout(given.timeout_ms, given.collective_timeout_ms);

    std::vector<NodeCard> nodes;
    for (const InitCard& each : cards)
        nodes.push_back(each.node);
    auto& node = store->node_;
    node = Node::start(nodes, rank);
    uint64_t incarnation = 0;
    mine = [&]() -> Result<void> {
        // Of its own, so that what it does there need not be in step with others on the same; first,
        // while nothing can have failed that the others have not heard of.
        if (const MpiGroup* group = comm->mpi(); group && wired(cards)) {
            DDS_LET(own, open_mpi(*group->mpi, group->comm, static_cast<int>(patience)));
            store->comm_ = std::move(own);
        }
        DDS_FAILPOINT("init.meet");
        DDS_TRY(node->meet(std::move(*prepared), nodes, store->collective_ms()));
        store->crowded_ = node->crowded();
        store->spare_ = 2 * node->ranks().size() <= std::thread::hardware_concurrency();
        RouterConfig config{*node, store->comm_, store->options_.share, wired(cards), {}};
        if (fabric) {
            const auto here = std::find(node->ranks().begin(), node->ranks().end(), rank);
            DDS_LET(nic, near_nic(store->options_.nic_map,
                                  static_cast<int>(here - node->ranks().begin())));
            wish.near_net = nic.net;
            wish.near_device = nic.device;
            DDS_LET(choice, fabric_choose(*fabric, wish));
            config.fabric = std::move(choice);
        }
        DDS_LET(router, Router::open(config));
        store->router_ = std::move(router);
        if (!clock::random(&incarnation, sizeof incarnation))
            return fail(DDS_ERR_UNSUPPORTED, "the system gives no random numbers (getrandom)");
        unsigned char id[16];
        memcpy(id, node->store_id().data(), sizeof id);
        store->arenas_ = std::make_unique<Arenas>(id, incarnation);
        if (published) {
            DDS_LET(publisher,
                    Publisher::open(store->options_.handshake_dir, node->store_id(), incarnation));
            store->publisher_ = std::move(publisher);
        }
        // A rank that waits at the page does not serve a wire that needs it.
        if (store->router_->collective() || !one_node(cards))
            store->assembly_ = std::make_unique<Assembly>(*store->comm_, *node);
        store->agreement_ =
            store->assembly_
                ? std::make_unique<Agreement>(store->assembly_.get(), store->assembly_->all(), rank)
                : std::make_unique<Agreement>(node->control(), node->ranks(), rank);
        return {};
    }();
    // The others see its door closed and wait no more; and its descriptors may be those that the
    // communicator needs to tell them why.
    if (!mine) {
        node.reset();
        prepared->door.reset();
    }

    EndCard end;
    end.verdict.tell(mine);
    if (Transport* wire = mine ? store->router_->wire() : nullptr) {
        const std::string address = wire->address();
        end.address_bytes = static_cast<uint32_t>(address.copy(end.address, sizeof end.address));
    }
    if (Publisher* publisher = mine ? store->publisher_.get() : nullptr)
        end.socket_bytes =
            static_cast<uint32_t>(publisher->socket().copy(end.socket, sizeof end.socket));
    end.incarnation = incarnation;
    // A rank that failed has no need of the others, but for the cause.  It does not watch them either:
    // one whose door it found closed may have failed, too, and be about to tell why.
    const auto ends = exchange(
        *comm, end, mine ? store->collective_ms() : std::min(store->collective_ms(), kLastWords),
        mine ? node.get() : nullptr);
    if (!ends)
        return mine ? ends.error() : mine.error();
    DDS_TRY(first_failure<EndCard>(*ends, rank, mine));
    if (Transport* wire = store->router_->wire()) {
        std::vector<std::string> addresses;
        for (const EndCard& each : *ends)
            addresses.emplace_back(each.address, each.address_bytes);
        DDS_TRY(wire->meet(addresses));
    }
    if (!published)
        return store;
    mine = {};
    if (rank == 0)
        mine = store->publisher_->put(core_record(cards, *ends, fabric));
    PublishedCard word;
    word.verdict.tell(mine);
    DDS_LET(words, exchange(*comm, word, store->collective_ms(), node.get()));
    DDS_TRY(first_failure<PublishedCard>(words, rank, mine));
    return store;
}

Store::Store(std::shared_ptr<Comm> comm)
    : rank_(comm->rank()), size_(comm->size()), comm_(std::move(comm))
{
}

Store::Store(int rank, int size) : rank_(rank), size_(size) {}

Store::~Store()
{
    attached_.reset();  // its visitors tell the table of deaths
    end_requests(nullptr, "the store was freed");
    if (arenas_)
        arenas_->orphan();
}

void Store::set_timeout(int64_t read_ms, int64_t collective_ms)
{
    read_ms_.store(read_ms ? read_ms : options_.read_ms);
    collective_ms_.store(collective_ms ? collective_ms : options_.collective_ms);
}

void Store::leave()
{
    if (node_ && !reads_only())
        node_->leave();
}

}  // namespace dds
