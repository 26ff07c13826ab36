#include "limit_fabric.hpp"

#include <linux/futex.h>
#include <rdma/fi_errno.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "fabric.hpp"
#include "fabric_target.hpp"

namespace bench {
namespace {

constexpr size_t kBytes = size_t{8} << 20;  // under way at most

// How one thread reads: in the caller's order, so many rows under way.
class Reader {
public:
    Reader(const FabricDomain& domain, const std::vector<FabricPlace>& places,
           const Variable& variable, int me)
        : domain_(domain), end_(domain), variable_(variable), me_(me)
    {
        for (const FabricPlace& place : places)
            targets_.push_back({end_.insert(place.address()), place.key, place.base});
    }

    void read(const int64_t* rows, int64_t n, char* out, int64_t window, bool waits)
    {
        contexts_.resize(std::max(contexts_.size(), static_cast<size_t>(n)));
        const size_t row = variable_.row();
        window = std::min(window, std::max<int64_t>(1, static_cast<int64_t>(kBytes / row)));
        void* const local = land(out, static_cast<size_t>(n) * row);
        int64_t open = 0;
        for (int64_t i = 0; i < n; i++) {
            const size_t owner = owner_of(rows[i]);
            if (static_cast<int>(owner) == me_)
                continue;
            while (open >= window)
                open -= take(waits);
            const auto& target = targets_[owner];
            ssize_t code;
            while (
                (code = fi_read(end_.endpoint.get(), out + static_cast<size_t>(i) * row, row, local,
                                target.address, target.base + static_cast<uint64_t>(rows[i]) * row,
                                target.key, &contexts_[static_cast<size_t>(i)])) == -FI_EAGAIN)
                open -= take(false);
            if (code < 0)
                die("fi_read: error %zd", -code);
            open++;
        }
        copy_own(rows, n, out);
        while (open > 0)
            open -= take(waits);
    }

private:
    struct Remote {
        fi_addr_t address;
        uint64_t key, base;
    };

    size_t owner_of(int64_t g) const
    {
        size_t owner = 0;
        for (size_t r = 1; r < targets_.size(); r++)
            owner += g >= variable_.first()[r];
        return owner;
    }
    void copy_own(const int64_t* rows, int64_t n, char* out)
    {
        const size_t row = variable_.row();
        const int64_t first = variable_.first()[static_cast<size_t>(me_)];
        for (int64_t i = 0; i < n; i++)
            if (static_cast<int>(owner_of(rows[i])) == me_)
                memcpy(out + static_cast<size_t>(i) * row,
                       variable_.own() + static_cast<size_t>(rows[i] - first) * row, row);
    }
    int64_t take(bool waits)
    {
        fi_cq_entry entries[64];
        const ssize_t n = waits ? fi_cq_sread(end_.queue.get(), entries, 64, nullptr, 100)
                                : fi_cq_read(end_.queue.get(), entries, 64);
        if (n > 0)
            return n;
        if (n != -FI_EAGAIN)
            die("fi_cq_read: error %zd", -n);
        if (!waits)
            sched_yield();
        return 0;
    }
    // Registered once where the provider needs it.
    void* land(char* out, size_t bytes)
    {
        if (!(domain_.info().domain_attr->mr_mode & FI_MR_LOCAL))
            return nullptr;
        auto& region = landings_[{out, bytes}];
        if (!region)
            region = domain_.land(out, bytes, end_.endpoint.get());
        return fi_mr_desc(region.get());
    }

    const FabricDomain& domain_;
    FabricEnd end_;
    const Variable& variable_;
    int me_;
    std::vector<Remote> targets_;
    std::vector<fi_context2> contexts_;
    std::map<std::pair<char*, size_t>, Closed<fid_mr>> landings_;
};

class Limit final : public FabricLimit {
public:
    Limit(Rank& rank, const Variable& variable)
        : rank_(rank),
          variable_(variable),
          domain_(provider_of(rank.store, rank.options.ranks),
                  rank.options.hosts ? "" : "127.0.0.1"),
          blocking_(domain_, variable, rank.me, nullptr),
          polling_(domain_, variable, rank.me, &rank.control.polls)
    {
        const FabricPlace mine[2] = {blocking_.place(), polling_.place()};
        std::vector<FabricPlace> all(2 * static_cast<size_t>(rank.options.ranks));
        must(dds_comm_allgather(rank.comm, mine, sizeof mine, all.data()), "dds_comm_allgather");
        for (size_t i = 0; i < all.size(); i++)
            (i % 2 ? polled_ : blocked_).push_back(all[i]);
    }
    ~Limit() override { rank_.all.meet(); }

    std::vector<Side> sides(int64_t n) override
    {
        std::vector<Side> list;
        for (const bool polled : {false, true}) {
            auto reader =
                std::make_shared<Reader>(domain_, polled ? polled_ : blocked_, variable_, rank_.me);
            for (const int64_t window : {1, 8, 16, 32, 64, 128, 256})
                for (const bool waits : {false, true})
                    if (window == 1 || window / 2 < n)
                        list.push_back(side(reader, n, window, waits, polled));
        }
        return list;
    }

private:
    Side side(const std::shared_ptr<Reader>& reader, int64_t n, int64_t window, bool waits,
              bool polled)
    {
        const size_t batch = variable_.row() * static_cast<size_t>(n);
        std::atomic<uint32_t>& polls = rank_.control.polls;
        return {"fi_read, " + std::to_string(window) + " under way, " +
                    (waits ? "sleeping" : "polling") + " reader, " +
                    (polled ? "polling" : "blocking") + " target",
                [=, &polls](const int64_t* rows, int64_t calls, char* out) {
                    if (polled && polls.fetch_add(1) == 0)
                        syscall(SYS_futex, &polls, FUTEX_WAKE, INT32_MAX, nullptr, nullptr, 0);
                    for (int64_t c = 0; c < calls; c++, rows += n, out += batch)
                        reader->read(rows, n, out, window, waits);
                    if (polled)
                        polls.fetch_sub(1);
                }};
    }

    Rank& rank_;
    const Variable& variable_;
    FabricDomain domain_;
    FabricTarget blocking_, polling_;
    std::vector<FabricPlace> blocked_, polled_;
};

}  // namespace

std::unique_ptr<FabricLimit> FabricLimit::make(Rank& rank, const Variable& variable)
{
    return std::make_unique<Limit>(rank, variable);
}

}  // namespace bench
