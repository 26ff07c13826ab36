// A store: the variables that the ranks of a communicator share, and how this rank reaches the rows.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "comm/comm.hpp"
#include "store/agree.hpp"
#include "store/assembly.hpp"
#include "store/counters.hpp"
#include "store/publisher.hpp"
#include "store/table.hpp"
#include "transport/router.hpp"

namespace dds {

class Request;

struct StoreOptions {
    int method = DDS_METHOD_MPI;
    int64_t read_ms = 0;  // deadlines
    int64_t collective_ms = 0;
    int64_t max_read = 0;      // bytes a wire reads at once
    int64_t max_exchange = 0;  // bytes a rank gets in a round of a collective read
    bool profile = false;
    std::string nic_map, handshake_dir;
    bool share = true;  // map the memory of ranks of this node
};

// What a store is opened with, from the caller and the environment.
Result<StoreOptions> read_options(const dds_options_t& given);
Error gone_stale(const char* name);

// What dds_add and dds_create are given, checked for itself.
struct VariableSpec {
    const char* name;
    int64_t nrows, disp;
    int type;
    const void* data;  // NULL: zeros
    dds_var_options_t options;
    Result<void> problem;  // what the door found wrong, for all ranks to hear
};

class Store {
public:
    // Collective; `arguments` is what the door found wrong on this rank, for all to hear.
    static Result<std::unique_ptr<Store>> open(std::shared_ptr<Comm> comm,
                                               const dds_options_t& given,
                                               const Result<void>& arguments);
    ~Store();

    // To read the variables of `origin` as they are now and nothing else: by another thread of this
    // process, or in a forked `child`, where nothing of the parent's connections is used.  Local.
    static Result<std::unique_ptr<Store>> open_reader(const Store& origin, bool child);

    // To read what a core job of `n_core` ranks publishes in the directory.  Local.
    static Result<std::unique_ptr<Store>> attach(int n_core, const dds_options_t& given);
    Result<void> join(const char* name);
    // Until that version of the variable is published; `seen` is the one that is.  Local.
    Result<void> wait_version(const char* name, int64_t version, int64_t timeout_ms, int64_t& seen);
    // Collective.
    Result<void> publish(const char* name, int64_t version);

    int rank() const { return rank_; }  // -1: a reader of another job
    int size() const { return size_; }
    int method() const { return options_.method; }
    int64_t read_ms() const { return read_ms_.load(std::memory_order_relaxed); }
    int64_t collective_ms() const { return collective_ms_.load(std::memory_order_relaxed); }
    void set_timeout(int64_t read_ms, int64_t collective_ms);
    bool crowded() const { return crowded_; }
    bool spare() const { return spare_; }
    bool reads_only() const { return !agreement_; }
    // STATE where it only reads.
    Result<void> check_member(const char* call) const;
    size_t max_read() const { return static_cast<size_t>(options_.max_read); }

    // Collective (add.cpp, drop.cpp, read_all.cpp, epoch.cpp).
    Result<void> add(Op op, const VariableSpec& spec);
    Result<void> drop(const char* name, uint64_t token);
    Result<void> get_batch_all(const char* name, int64_t n, const int64_t* rows, void* out,
                               size_t out_bytes, Reader& reader);
    Result<void> epoch(Op op);

    // Local (describe.cpp, update.cpp).
    Result<void> update(const char* name, int64_t first, int64_t nrows, const void* data);
    Result<void> local(const char* name, int64_t* nrows, void** data);
    Result<void> info(const char* name, dds_info_t& info) const;
    Result<std::shared_ptr<Variable>> variable(const char* name) const;
    std::string names() const;
    void stats(dds_stats_t& stats) const;
    std::string path(int rank) const;
    Result<void> register_recv(void* buffer, size_t bytes);
    Result<void> unregister_recv(void* buffer);

    // The read path's own (read.hpp, wire_read.hpp).
    Table& table() { return table_; }
    Router& router() { return *router_; }
    // The first join of a reader changes them; no row is read before.
    std::shared_ptr<Router> routes() const;
    CounterBlocks& counters() { return counters_; }
    void count_timeout() { timeouts_.fetch_add(1, std::memory_order_relaxed); }

    // Requests that are under way; they end with STATE when what they read goes away.
    void enlist(const std::shared_ptr<Request>& request);
    void delist(Request* request);
    void end_requests(const Variable* variable, const char* why);

    // Of a reader of another job: an owner's process is gone, and the job may have begun anew.
    bool stale() const { return stale_.load(std::memory_order_acquire); }

    // Others no longer wait for us, nor do we hold their descriptors; reads of other threads go on.
    void leave();

private:
    static Result<std::unique_ptr<Store>> open_attached(int n_core, const StoreOptions& options);
    // To the same run of the core job, whose end the new reader must see by itself.
    static Result<std::unique_ptr<Store>> attach_again(const Store& origin, bool child);
    void go_stale();
    Result<void> take(std::shared_ptr<Router> routes);

    class Adding;
    class Joining;
    struct Attached;
    struct Use {
        int variables = 0;
        bool own = false;       // nothing else will ever be in the segment
        bool in_place = false;  // it is the peer's own memory
    };

    Result<void> exchange_rows(Variable* v, Result<void> mine, int64_t n, const int64_t* rows,
                               std::byte* out, Reader& reader);

    explicit Store(std::shared_ptr<Comm> comm);
    Store(int rank, int size);

    std::shared_ptr<const Partition> intern(std::shared_ptr<const Partition> partition);
    // Count a peer's segment as used by one variable more or less; the last detaches it, unless the
    // peer may still put a variable into it.
    void use(uint32_t peer, uint32_t segment, bool own, bool in_place);
    void unuse(uint32_t peer, uint32_t segment);
    void hide(uint32_t segment);  // our own, from a wire

    const int rank_, size_;
    std::shared_ptr<Comm> comm_;  // of what only reads: none, nor what follows from it
    StoreOptions options_;
    bool crowded_ = false;  // more ranks of this node than processors
    bool spare_ = false;    // two processors for each
    std::atomic<int64_t> read_ms_{0}, collective_ms_{0};
    std::shared_ptr<Node> node_;
    std::shared_ptr<Router> router_;
    std::unique_ptr<Assembly> assembly_;  // where the ranks do not agree by the page
    std::unique_ptr<Agreement> agreement_;
    std::unique_ptr<Arenas> arenas_;
    std::set<uint32_t> shown_;                           // own arenas that peers have
    std::map<uint32_t, Key> keys_;                       // of own arenas, for a wire with keys
    std::map<std::pair<uint32_t, uint32_t>, Use> uses_;  // (peer, segment) attached here
    std::map<uint32_t, uint32_t> newest_;                // peer -> its arena that still fills
    std::multimap<uint64_t, std::weak_ptr<const Partition>> partitions_;  // by hash, shared
    std::vector<std::shared_ptr<Variable>> graves_;  // dropped, but some reader never left
    uint64_t next_order_ = 0;

    std::unique_ptr<Publisher> publisher_;  // for readers of other jobs
    std::unique_ptr<Attached> attached_;    // as such a reader

    std::atomic<bool> stale_{false};
    Table table_;
    CounterBlocks counters_;
    std::atomic<uint64_t> timeouts_{0}, peer_maps_{0};

    std::mutex requests_mutex_;
    std::map<Request*, std::weak_ptr<Request>> requests_;
    mutable std::mutex routes_mutex_;               // of `router_` where it changes, and of
    std::map<std::byte*, size_t> receive_buffers_;  // what is registered with it
};

}  // namespace dds
