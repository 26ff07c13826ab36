#include "variable.hpp"

#include <unistd.h>

#include "content.hpp"
#include "limit_maps.hpp"
#include "random.hpp"

namespace bench {

void must(int code, const char* call)
{
    if (code != DDS_SUCCESS)
        die("%s: %s: %s", call, dds_error_name(code), dds_last_error());
}

std::vector<int64_t> cut(int64_t total, int ranks, bool uneven)
{
    std::vector<int64_t> first(static_cast<size_t>(ranks) + 1);
    for (int r = 0; r <= ranks; r++)
        first[static_cast<size_t>(r)] =
            static_cast<int64_t>(static_cast<__int128>(total) * r / ranks);
    const int64_t eighth = total / ranks / 8;
    if (uneven)
        for (int r = 1; r < ranks; r++)
            first[static_cast<size_t>(r)] += (r % 5 - 2) * eighth;
    return first;
}

// "fabric tcp;ofi_rxm 127.0.0.1: ..." of the library's own path.
std::string provider_of(dds_store_t store, int ranks)
{
    char text[256];
    for (int peer = 0; peer < ranks; peer++) {
        must(dds_path(store, peer, text, sizeof text), "dds_path");
        const std::string words = text;
        if (words.starts_with("fabric "))
            return words.substr(7, words.find_first_of(" :", 7) - 7);
    }
    die("no rank is reached by --path fabric");
}

uint64_t Variable::content_of(const Options& options, size_t row)
{
    return Random(options.seed * 0x10001 + row).next();
}

Variable::Variable(Rank& rank, size_t row)
    : rank_(rank),
      row_(row),
      content_(content_of(rank.options, row)),
      first_(cut(static_cast<int64_t>(rank.options.total / row), rank.options.ranks,
                 rank.options.uneven))
{
    const int64_t first = first_[static_cast<size_t>(rank.me)];
    const int64_t mine = first_[static_cast<size_t>(rank.me) + 1] - first;
    const size_t bytes = static_cast<size_t>(mine) * row;
    const auto disp = static_cast<int64_t>(row);
    dds_var_options_t options = DDS_VAR_OPTIONS_INIT;
    options.flags = rank.options.huge ? DDS_HUGEPAGES : 0;
    if (rank.options.path == "cma") {
        options.flags = DDS_NOCOPY;
        kept_.reset(new char[bytes]);
        data_ = kept_.get();
        fill(content_, static_cast<uint64_t>(first) * row, bytes, data_);
        must(dds_add(rank.store, kName, mine, disp, DDS_UINT8, data_, &options), "dds_add");
    } else {
        must(dds_create(rank.store, kName, mine, disp, DDS_UINT8, &options), "dds_create");
        int64_t rows;
        void* local;
        must(dds_local(rank.store, kName, &rows, &local), "dds_local");
        data_ = static_cast<char*>(local);
        fill(content_, static_cast<uint64_t>(first) * row, bytes, data_);
    }
    rank.all.meet();
}

Variable::~Variable()
{
    rank_.all.meet();
    if (!kept_)
        must(dds_release_local(data_), "dds_release_local");
    must(dds_drop(rank_.store, kName), "dds_drop");
}

const limit_shards& Variable::shards()
{
    const size_t n = static_cast<size_t>(rank_.options.ranks), me = static_cast<size_t>(rank_.me);
    const size_t own = static_cast<size_t>(first_[me + 1] - first_[me]) * row_;
    for (size_t r = 0; r < n; r++) {
        const uint64_t from = static_cast<uint64_t>(first_[r]) * row_;
        const size_t bytes = static_cast<size_t>(first_[r + 1] - first_[r]) * row_;
        const char* at = r == me ? data_ : find_shard(content_, from, bytes, data_, own);
        if (!at)
            die("rank %zu's rows are not mapped in rank %zu", r, me);
        bases_.push_back(at - from);
    }
    while (total() >> shards_.shift > 8 * static_cast<int64_t>(n))
        shards_.shift++;  // a few buckets a rank: hardly a row needs a second look
    for (int64_t b = 0, r = 0; b <= (total() - 1) >> shards_.shift; b++) {
        while (b << shards_.shift >= first_[static_cast<size_t>(r) + 1])
            r++;
        buckets_.push_back(static_cast<uint16_t>(r));
    }
    shards_.base = bases_.data();
    shards_.first = first_.data();
    shards_.bucket = buckets_.data();
    shards_.n = static_cast<int>(n);
    shards_.row = row_;
    return shards_;
}

std::vector<Variable::Remote> Variable::remotes()
{
    const Remote mine = {
        getpid(), data_ - static_cast<uint64_t>(first_[static_cast<size_t>(rank_.me)]) * row_};
    std::vector<Remote> list(static_cast<size_t>(rank_.options.ranks));
    must(dds_comm_allgather(rank_.comm, &mine, sizeof mine, list.data()), "dds_comm_allgather");
    return list;
}

}  // namespace bench
