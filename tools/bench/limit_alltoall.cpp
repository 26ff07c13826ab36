#include "limit_alltoall.hpp"

#include <algorithm>
#include <cstring>

#include "mpi.hpp"

namespace bench {
namespace {

constexpr size_t kRound = size_t{2} << 20;  // bytes of a rank's batch

template <class H>
class AlltoallOf final : public Alltoall {
public:
    AlltoallOf(const MpiShards& shards, int64_t n, limit_gather_fn* gather, const limit_how& how)
        : s_(shards),
          n_(n),
          round_(std::clamp<int64_t>(static_cast<int64_t>(kRound / shards.row), 1, n)),
          gather_(gather),
          how_(how)
    {
        const size_t ranks = static_cast<size_t>(s_.ranks), m = static_cast<size_t>(round_);
        asked_.resize(ranks * static_cast<size_t>(n));
        list_.resize(m + 1);
        places_.resize(ranks * (m + 1));
        packed_.resize(ranks * m * s_.row);
        come_.resize(m * s_.row);
        for (Part* part : {&indices_, &sent_, &got_}) {
            part->sizes.resize(ranks);
            part->at.resize(ranks);
        }
        for (size_t r = 0; r < ranks; r++) {
            indices_.sizes[r] = static_cast<int>(n * 8);
            indices_.at[r] = static_cast<int>(static_cast<int64_t>(r) * n * 8);
        }
    }

    void read(const int64_t* rows, char* out) override
    {
        mpi_.allgatherv(rows, indices_.sizes[0], mpi_.byte, asked_.data(), indices_.sizes.data(),
                        indices_.at.data(), mpi_.byte, mpi_.world);
        for (int64_t at = 0; at < n_; at += round_) {
            const int64_t m = std::min(round_, n_ - at);
            pack(at, m);
            expect(rows + at, m);
            copy_own(rows + at, out + static_cast<size_t>(at) * s_.row);
            mpi_.alltoallv(packed_.data(), sent_.sizes.data(), sent_.at.data(), mpi_.byte,
                           come_.data(), got_.sizes.data(), got_.at.data(), mpi_.byte, mpi_.world);
            unpack(out + static_cast<size_t>(at) * s_.row);
        }
    }

private:
    struct Part {
        std::vector<int> sizes, at;  // bytes, a rank
    };

    // Those of m rows that rank r owns, without a branch on a random row.
    template <class Take>
    size_t owned(const int64_t* rows, int64_t m, int r, const Take& take) const
    {
        const int64_t first = s_.first[r];
        const auto mine = static_cast<uint64_t>(s_.first[r + 1] - first);
        size_t k = 0;
        for (int64_t i = 0; i < m; i++) {
            take(k, i);
            k += static_cast<uint64_t>(rows[i] - first) < mine;
        }
        return k;
    }
    int64_t* places(int r) { return &places_[static_cast<size_t>(r * (round_ + 1))]; }

    // What the others want of this rank.
    void pack(int64_t at, int64_t m)
    {
        const int64_t all[] = {0, s_.first[s_.ranks]};
        const limit_shards mine{&s_.own, all, nullptr, 1, 0, s_.row};
        size_t packed = 0;
        for (int r = 0; r < s_.ranks; r++) {
            const int64_t* wanted = &asked_[static_cast<size_t>(r * n_ + at)];
            size_t k = 0;
            if (r != s_.me)
                k = owned(wanted, m, s_.me, [&](size_t to, int64_t i) { list_[to] = wanted[i]; });
            if (k)
                gather_(&mine, list_.data(), static_cast<int64_t>(k), packed_.data() + packed,
                        &how_);
            sent_.sizes[static_cast<size_t>(r)] = static_cast<int>(k * s_.row);
            sent_.at[static_cast<size_t>(r)] = static_cast<int>(packed);
            packed += k * s_.row;
        }
    }

    // Where what it wants itself will come from.
    void expect(const int64_t* rows, int64_t m)
    {
        size_t come = 0;
        for (int r = 0; r < s_.ranks; r++) {
            int64_t* const list = places(r);
            const size_t k = owned(rows, m, r, [&](size_t to, int64_t i) { list[to] = i; });
            const size_t bytes = r == s_.me ? 0 : k * s_.row;
            own_ = r == s_.me ? k : own_;
            got_.sizes[static_cast<size_t>(r)] = static_cast<int>(bytes);
            got_.at[static_cast<size_t>(r)] = static_cast<int>(come);
            come += bytes;
        }
    }

    void copy_own(const int64_t* rows, char* out)
    {
        constexpr size_t kAhead = 8;
        const int64_t* const list = places(s_.me);
        for (size_t k = 0; k < own_; k++) {
            if (k + kAhead < own_) {
                const char* next = s_.own + static_cast<size_t>(rows[list[k + kAhead]]) * s_.row;
                for (size_t o = 0; o < std::min<size_t>(s_.row, 1024); o += 64)
                    __builtin_prefetch(next + o);
            }
            memcpy(out + static_cast<size_t>(list[k]) * s_.row,
                   s_.own + static_cast<size_t>(rows[list[k]]) * s_.row, s_.row);
        }
    }

    void unpack(char* out)
    {
        for (int r = 0; r < s_.ranks; r++) {
            const char* from = come_.data() + got_.at[static_cast<size_t>(r)];
            const char* const end = from + got_.sizes[static_cast<size_t>(r)];
            for (const int64_t* place = places(r); from < end; from += s_.row, place++)
                memcpy(out + static_cast<size_t>(*place) * s_.row, from, s_.row);
        }
    }

    const Mpi<H> mpi_;
    const MpiShards s_;
    const int64_t n_, round_;
    limit_gather_fn* gather_;
    const limit_how how_;
    std::vector<int64_t> asked_, list_, places_;
    std::vector<char> packed_, come_;
    Part indices_, sent_, got_;
    size_t own_ = 0;
};

}  // namespace

std::unique_ptr<Alltoall> Alltoall::make(const MpiShards& shards, int64_t n,
                                         limit_gather_fn* gather, const limit_how& how)
{
    if (mpi_is_mpich())
        return std::make_unique<AlltoallOf<int>>(shards, n, gather, how);
    return std::make_unique<AlltoallOf<void*>>(shards, n, gather, how);
}

}  // namespace bench
