#include "limit_cma.hpp"

#include <limits.h>
#include <sys/uio.h>

#include <algorithm>
#include <cstring>
#include <memory>

namespace bench {
namespace {

class Reader {
public:
    Reader(const std::vector<CmaShard>& shards, size_t row, int64_t n, size_t most)
        : shards_(shards), row_(row), n_(n), most_(most), lists_(shards.size())
    {
    }

    void read(const int64_t* rows, char* out)
    {
        for (int64_t i = 0; i < n_; i++, out += row_) {
            const size_t owner = owner_of(rows[i]);
            const CmaShard& shard = shards_[owner];
            const char* from = shard.base + static_cast<size_t>(rows[i]) * row_;
            if (!shard.pid) {
                memcpy(out, from, row_);
                continue;
            }
            lists_[owner].here.push_back({out, row_});
            lists_[owner].there.push_back({const_cast<char*>(from), row_});
        }
        for (size_t owner = 0; owner < shards_.size(); owner++)
            fetch(shards_[owner].pid, lists_[owner]);
    }

private:
    struct List {
        std::vector<iovec> here, there;
    };

    size_t owner_of(int64_t g) const
    {
        size_t owner = 0;
        for (size_t s = 1; s < shards_.size(); s++)
            owner += g >= shards_[s].first;
        return owner;
    }
    // A short or failed read shows in the bytes, which are compared afterwards.
    void fetch(pid_t pid, List& list)
    {
        for (size_t at = 0; at < list.here.size(); at += most_) {
            const size_t some = std::min(most_, list.here.size() - at);
            if (process_vm_readv(pid, &list.here[at], some, &list.there[at], some, 0) < 0)
                break;
        }
        list.here.clear();
        list.there.clear();
    }

    std::vector<CmaShard> shards_;
    size_t row_;
    int64_t n_;
    size_t most_;
    std::vector<List> lists_;
};

}  // namespace

std::vector<Side> cma_sides(const std::vector<CmaShard>& shards, size_t row, int64_t n)
{
    std::vector<Side> sides;
    for (const size_t most : {1, 16, 64, 128, 256, IOV_MAX}) {
        if (most > 1 && most / 2 >= static_cast<size_t>(n))
            continue;
        auto reader = std::make_shared<Reader>(shards, row, n, most);
        sides.push_back({"process_vm_readv, " + std::to_string(most) + " rows a call",
                         [=](const int64_t* rows, int64_t calls, char* out) {
                             for (int64_t c = 0; c < calls; c++)
                                 reader->read(rows + c * n, out + static_cast<size_t>(c * n) * row);
                         }});
    }
    return sides;
}

}  // namespace bench
