// dds_attach and dds_join by a reader of another job, whose ranks hold the variable and wait.
// dds_attach waits for nothing, and who is there is found by the first dds_join: both are attach.
#include <algorithm>

#include "cases.hpp"
#include "content.hpp"
#include "limit_door.hpp"
#include "limit_maps.hpp"
#include "limit_records.hpp"

namespace bench {
namespace {

constexpr int kRounds = 31;
constexpr const char* kFirst = "first";  // what is joined before the clock of join starts

// The median of a few: whom the kernel puts off the core, or wakes late, is not what is measured.
// Over libfabric each opens an endpoint, which takes many times what a late wake-up adds.
double median_of(const Timed& one, const std::string& path)
{
    const int calls = path == "fabric" ? 1 : 7;
    std::vector<double> each;
    for (int call = 0; call < calls; call++)
        each.push_back(one());
    return quantile(each, 0.5);
}

class Visitor {
public:
    Visitor(Rank& rank, size_t row)
        : rank_(rank),
          joins_(rank.options.what == "join"),
          row_(row),
          content_(Variable::content_of(rank.options, row)),
          first_(cut(static_cast<int64_t>(rank.options.total / row), rank.options.ranks,
                     rank.options.uneven)),
          records_(rank.options.records()),
          random_(rank.options.seed)
    {
        visit();  // tells provider_ and shown_
    }

    void open_limit()
    {
        access_ = rank_.options.path == "fabric" ? make_fabric_access(rank_, row_, first_)
                                                 : make_socket_access(rank_.options);
    }
    const std::string& provider() const { return provider_; }

    double visit()  // seconds
    {
        const Options& options = rank_.options;
        dds_store_t store = nullptr;
        double start = now();
        must(dds_attach(options.records().c_str(), options.ranks, nullptr, &store), "dds_attach");
        if (joins_) {
            must(dds_join(store, kFirst), "dds_join");
            maps_ = mappings();
            start = now();
        }
        must(dds_join(store, Variable::kName), "dds_join");
        const double taken = now() - start;
        shown_ = !joins_ || options.path == "fabric" || mappings() > maps_;
        if (options.path == "fabric" && provider_.empty())
            provider_ = provider_of(store, options.ranks);
        check(store);
        must(dds_free(&store), "dds_free");
        return taken;
    }

    double limit()  // seconds
    {
        double start = now();
        records_.open();
        if (joins_) {
            access_->connect();
            start = now();
        } else {
            records_.read_core();
        }
        records_.read_variable(Variable::kName);
        if (!joins_)
            access_->connect();
        else if (shown_)
            access_->again();
        const double taken = now() - start;
        access_->leave();
        records_.close();
        return taken;
    }

    Line measure()
    {
        Line line;
        line.row = row_;
        line.batch = 1;
        line.limit = std::string(joins_ ? "open, read and checksum of the record"
                                        : "open, read and checksum of both records") +
                     (shown_ ? "; " + access_->words(!joins_) : "");
        const int rounds = rank_.options.rounds ? rank_.options.rounds : kRounds;
        const std::string& path = rank_.options.path;
        line.outcome = duel_of([&] { return median_of([&] { return visit(); }, path); },
                               [&] { return median_of([&] { return limit(); }, path); }, rounds);
        line.wrong = wrong_;
        line.read = read_;
        return line;
    }

private:
    // Rows of each rank in turn, by the way that the line will say; the join may have read some, too.
    void check(dds_store_t store)
    {
        constexpr size_t kBytes = size_t{1} << 20;
        std::vector<int64_t> rows(std::clamp<size_t>(kBytes / row_, 2, 64));
        for (int64_t& g : rows) {
            const size_t owner = next_++ % (first_.size() - 1);
            g = first_[owner] + random_.below(first_[owner + 1] - first_[owner]);
        }
        std::vector<char> out(rows.size() * row_);
        const auto n = static_cast<int64_t>(rows.size());
        must(dds_get_batch(store, Variable::kName, n, rows.data(), out.data(), out.size()),
             "dds_get_batch");
        wrong_ += wrong_rows(content_, rows.data(), n, row_, out.data());
        read_ += rows.size();
        dds_stats_t stats = DDS_STATS_INIT;
        must(dds_stats(store, &stats), "dds_stats");
        const int path = rank_.options.path == "fabric" ? DDS_PATH_FABRIC : DDS_PATH_SHM;
        if (stats.rows[path] < static_cast<uint64_t>(n))
            die("not all rows came by --path %s", rank_.options.path.c_str());
    }

    Rank& rank_;
    const bool joins_;
    const size_t row_;
    const uint64_t content_;
    const std::vector<int64_t> first_;
    Records records_;
    std::unique_ptr<Access> access_;
    std::string provider_;
    Random random_;
    size_t maps_ = 0, next_ = 0;
    bool shown_ = false;  // the variable's memory is not that of what was joined before
    uint64_t wrong_ = 0, read_ = 0;
};

// The ranks meet the reader four times: the variable is there; the reader knows the way; the doors
// of the limit are open; it has measured.
Line be_visited(Rank& rank, size_t row)
{
    if (rank.options.what == "join")
        must(dds_create(rank.store, kFirst, 1, 1, DDS_UINT8, nullptr), "dds_create");
    {
        const Variable variable(rank, row);
        rank.all.meet();
        const auto door = rank.options.path == "fabric" ? open_fabric_door(rank, variable)
                                                        : open_socket_door(rank, variable);
        rank.all.meet();
        rank.all.meet();
    }
    if (rank.options.what == "join")
        must(dds_drop(rank.store, kFirst), "dds_drop");
    return {};
}

Line measure_visits(Rank& rank, size_t row)
{
    rank.all.meet();
    Visitor visitor(rank, row);
    const std::string& provider = visitor.provider();
    if (provider.size() >= sizeof rank.control.provider)
        die("a provider's name has %zu bytes", provider.size());
    *std::copy(provider.begin(), provider.end(), rank.control.provider) = '\0';
    rank.all.meet();
    rank.all.meet();
    visitor.open_limit();
    const Line line = visitor.measure();
    rank.all.meet();
    rank.all.meet();  // before it is dropped
    return line;
}

}  // namespace

Line visit_job(Rank& rank, size_t row, int64_t)
{
    return rank.me == rank.options.ranks ? measure_visits(rank, row) : be_visited(rank, row);
}

}  // namespace bench
