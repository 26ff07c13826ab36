#include "limit_mpi.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "limit_maps.hpp"
#include "mpi.hpp"

namespace bench {
namespace {

template <class H>
struct Window {
    Mpi<H> mpi;
    MpiShards shards;
    H handle;
    std::vector<int64_t> base;  // base[r] + g * row is where in rank r's window row g is
};

// How one thread reads.  MPICH 4.0.2 returns stale rows after MPI_Win_flush_all: each target is
// flushed by itself.
template <class H>
class Reader {
public:
    Reader(const Window<H>& window, int64_t n, bool by_request, bool own_by_mpi)
        : window_(window),
          n_(n),
          by_request_(by_request),
          own_by_mpi_(own_by_mpi),
          asked_(static_cast<size_t>(window.shards.ranks))
    {
        own_at_.resize(static_cast<size_t>(n) + 1);
        requests_.resize(by_request ? std::min<size_t>(kRequests, static_cast<size_t>(n)) : 0);
    }

    void read(const int64_t* rows, char* out)
    {
        const MpiShards& s = window_.shards;
        size_t own = 0;
        int open = 0;
        for (int64_t i = 0; i < n_; i++) {
            const int owner = owner_of(rows[i]);
            if (owner == s.me && !own_by_mpi_) {
                own_at_[own++] = i;
                continue;
            }
            char* to = out + static_cast<size_t>(i) * s.row;
            const int bytes = static_cast<int>(s.row);
            const intptr_t at =
                window_.base[static_cast<size_t>(owner)] + rows[i] * static_cast<int64_t>(s.row);
            const Mpi<H>& mpi = window_.mpi;
            if (by_request_) {
                mpi.rget(to, bytes, mpi.byte, owner, at, bytes, mpi.byte, window_.handle,
                         &requests_[static_cast<size_t>(open)]);
                if (++open == static_cast<int>(requests_.size()))
                    wait(open);
            } else {
                mpi.get(to, bytes, mpi.byte, owner, at, bytes, mpi.byte, window_.handle);
                asked_[static_cast<size_t>(owner)] = 1;
            }
        }
        copy_own(own, rows, out);
        wait(open);
        for (int owner = 0; !by_request_ && owner < s.ranks; owner++)
            if (std::exchange(asked_[static_cast<size_t>(owner)], 0))
                window_.mpi.win_flush(owner, window_.handle);
    }

private:
    static constexpr size_t kRequests = 1024;  // under way

    int owner_of(int64_t g) const
    {
        int owner = 0;
        for (int r = 1; r < window_.shards.ranks; r++)  // no branch on a random row
            owner += g >= window_.shards.first[r];
        return owner;
    }
    void wait(int& open)
    {
        if (open)
            window_.mpi.waitall(open, requests_.data(), window_.mpi.statuses_ignore);
        open = 0;
    }
    void copy_own(size_t own, const int64_t* rows, char* out)
    {
        constexpr size_t kAhead = 8;
        const MpiShards& s = window_.shards;
        for (size_t k = 0; k < own; k++) {
            if (k + kAhead < own) {
                const char* next = s.own + static_cast<size_t>(rows[own_at_[k + kAhead]]) * s.row;
                for (size_t o = 0; o < std::min<size_t>(s.row, 1024); o += 64)
                    __builtin_prefetch(next + o);
            }
            const int64_t i = own_at_[k];
            memcpy(out + static_cast<size_t>(i) * s.row,
                   s.own + static_cast<size_t>(rows[i]) * s.row, s.row);
        }
    }

    const Window<H>& window_;
    int64_t n_;
    bool by_request_, own_by_mpi_;
    std::vector<char> asked_;
    std::vector<int64_t> own_at_;
    std::vector<H> requests_;
};

template <class H>
class WindowOf final : public MpiWindow {
public:
    // Over all of the mapping: MPICH 4.0.2 takes a part of what is in a window already for the whole,
    // and reads from its begin.
    explicit WindowOf(const MpiShards& shards) : window_{{}, shards, {}, {}}
    {
        const size_t first = static_cast<size_t>(shards.first[shards.me]) * shards.row;
        const Mapped all = mapping_of(shards.own + first);
        const Mpi<H>& mpi = window_.mpi;
        mpi.win_create(const_cast<char*>(all.begin), all.end - all.begin, 1, mpi.no_info, mpi.world,
                       &window_.handle);
        const int64_t mine = shards.own - all.begin;
        const std::vector<int> sizes(static_cast<size_t>(shards.ranks), 8);
        std::vector<int> places;
        for (int r = 0; r < shards.ranks; r++)
            places.push_back(8 * r);
        window_.base.resize(sizes.size());
        mpi.allgatherv(&mine, 8, mpi.byte, window_.base.data(), sizes.data(), places.data(),
                       mpi.byte, mpi.world);
        mpi.win_lock_all(mpi.no_check, window_.handle);
    }
    ~WindowOf() override
    {
        window_.mpi.win_unlock_all(window_.handle);
        window_.mpi.win_free(&window_.handle);
    }
    WindowOf(const WindowOf&) = delete;
    WindowOf& operator=(const WindowOf&) = delete;

    std::vector<Side> sides(int64_t n) const override
    {
        std::vector<Side> list;
        for (const bool by_request : {false, true})
            for (const bool own_by_mpi : {false, true}) {
                std::string name = by_request ? "MPI_Rget + MPI_Waitall" : "MPI_Get + flush";
                name += own_by_mpi ? ", own rows too, " : ", ";
                auto reader = std::make_shared<Reader<H>>(window_, n, by_request, own_by_mpi);
                const size_t batch = window_.shards.row * static_cast<size_t>(n);
                list.push_back(
                    {name + mpi_name(), [=](const int64_t* rows, int64_t calls, char* out) {
                         for (int64_t c = 0; c < calls; c++, rows += n, out += batch)
                             reader->read(rows, out);
                     }});
            }
        return list;
    }

private:
    Window<H> window_;
};

}  // namespace

std::unique_ptr<MpiWindow> MpiWindow::make(const MpiShards& shards)
{
    if (mpi_is_mpich())
        return std::make_unique<WindowOf<int>>(shards);
    return std::make_unique<WindowOf<void*>>(shards);
}

}  // namespace bench
