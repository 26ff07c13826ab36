// How bytes move.  A transport reads runs from segments of other ranks; nothing in it waits.  Rows
// that are mapped in this process bypass it (gather.hpp); it then costs one call a batch, none a row.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "memory/arena.hpp"
#include "node/node.hpp"

namespace dds {

// The one form of a remote address: shard, window, file destination.
struct Remote {
    uint32_t peer;
    uint32_t segment;
    uint64_t offset;
};

struct Run {
    Remote from;
    std::byte* to;
    uint64_t bytes;
    uint32_t user;  // the caller's number for it
    int32_t code = kOpen;

    static constexpr int32_t kOpen = -1;  // else a DDS_ERR_*
};

// Runs under way over one transport.
struct Batch {
    std::vector<Run> runs;
    size_t ended = 0;
    Error error{DDS_SUCCESS, -1, {}};  // the first run's that failed
    uint64_t held = 0;                 // bytes that a transfer which was given up may still write
    // For profiles: whether time is taken, that of waiting for other batches' threads, and how many
    // times `to` was to be registered and was not.
    bool timed = false;
    int64_t lock_ns = 0;
    uint64_t unregistered = 0;
    struct State {
        virtual ~State() = default;
    };
    std::unique_ptr<State> state;  // the transport's own

    void end(Run& run, int32_t code)
    {
        run.code = code;
        ended++;
    }
    void fail_run(Run& run, Error why)
    {
        end(run, why.code);
        if (error.code == DDS_SUCCESS)
            error = std::move(why);
    }
    bool done() const { return ended == runs.size(); }
};

// What a peer must know to read a segment.
struct Key {
    static constexpr size_t kMost = 64;
    std::array<std::byte, kMost> bytes{};
    uint32_t used = 0;
};

class Transport {
public:
    virtual ~Transport() = default;
    virtual const char* name() const = 0;
    virtual std::string words() const { return name(); }  // and by what, for dds_path
    virtual int path() const = 0;                         // DDS_PATH_*

    // The owner's side, once a segment: an arena, or memory of the caller that stays where it is.
    virtual Result<void> expose(uint32_t segment, const Block& block, Key& key) = 0;
    virtual Result<void> expose(uint32_t segment, std::span<const std::byte> own, Key& key) = 0;
    // Nobody reads it any more.
    virtual void unexpose(uint32_t) {}
    // Whether attach() needs the owner's key, so that a segment is exposed before its place is told.
    virtual bool keyed() const { return false; }

    // Whether it reads memory that stays where the caller has it, too.
    virtual bool reads_own_memory() const { return false; }
    // Whether attach() and reap() are calls of all ranks of the store at once, which then are given
    // all segments, those of this rank and of its node too.
    virtual bool collective() const { return false; }
    // Whether a read may have to wait for its target to call the library: its deadline is that of
    // collective calls.
    virtual bool patient() const { return false; }

    // What others need to reach this rank, to be exchanged before the first attach(); then those of
    // all, by rank, once.
    virtual std::string address() const { return {}; }
    virtual Result<void> meet(std::span<const std::string> addresses)
    {
        static_cast<void>(addresses);
        return {};
    }

    // Take what attach() will need, before the others rely on our coming to it.
    virtual Result<void> ready() { return {}; }

    // The readers' side, once a segment.
    struct Attach {
        uint32_t peer;
        uint32_t segment;
        uint64_t bytes;  // of the segment
        Key key;
    };
    virtual Result<void> attach(std::span<const Attach> segments, int64_t timeout_ms) = 0;
    virtual bool attached(uint32_t peer, uint32_t segment) const = 0;
    virtual void detach(uint32_t peer, uint32_t segment) = 0;
    // All ranks have detached the same: what is not needed any more goes.  Not while an abandoned
    // read is under way: asked before, for the others to hear of it.
    virtual bool quiet() const { return true; }
    virtual Result<void> reap() { return {}; }
    // The last attach() failed on some rank: what it made here is detached, and never goes.
    virtual void spoil() {}

    // The segment's bytes, where they are in this process's map; else NULL.
    virtual const std::byte* mapped(uint32_t, uint32_t) const { return nullptr; }

    // What keeps them there after a detach.
    virtual std::shared_ptr<const void> hold(uint32_t, uint32_t) const { return nullptr; }

    // The same in a forked child, which uses nothing of the parent's connections and must leave them as
    // they are.
    virtual Result<std::unique_ptr<Transport>> in_child() const
    {
        return fail(DDS_ERR_UNSUPPORTED, "%s cannot be used in a forked child", words().c_str());
    }

    // A destination that is used again and again; until it is not.  Reads under way keep what they
    // have of it.
    virtual Result<void> register_local(std::span<std::byte>) { return {}; }
    virtual void unregister_local(std::byte*) {}

    // What the owner wrote before a meeting of all ranks is what the others read after it, where each
    // does this before and after.
    virtual Result<void> sync() { return {}; }
    virtual void tell(dds_stats_t& stats) const { static_cast<void>(stats); }

    virtual Result<void> post(Batch& batch) = 0;
    virtual bool progress(Batch& batch) = 0;  // true when all runs ended
    // Between two steps: whether a batch's park() ends by itself when something has come for it.
    virtual bool wakes() const { return false; }
    virtual void park(Batch&, int64_t ns) { clock::sleep(ns); }
    // After it no byte lands in the caller's memory, but for batch.held where a wire cannot cancel.
    virtual void abandon(Batch& batch) = 0;
};

}  // namespace dds
