// dds_add against memcpy into fresh shared memory.
#include <algorithm>
#include <memory>

#include "cases.hpp"
#include "content.hpp"
#include "limit_add.hpp"

namespace bench {
namespace {

constexpr int kRounds = 11;

class Adder {
public:
    Adder(Rank& rank, size_t row)
        : rank_(rank),
          row_(row),
          content_(rank.options.seed),
          first_(cut(static_cast<int64_t>(rank.options.total / row), rank.options.ranks,
                     rank.options.uneven))
    {
        from_ = first_[static_cast<size_t>(rank.me)];
        rows_ = first_[static_cast<size_t>(rank.me) + 1] - from_;
        data_ = std::make_unique<Buffer>(bytes());
        fill(content_, static_cast<uint64_t>(from_) * row, bytes(), data_->data());
    }
    size_t bytes() const { return static_cast<size_t>(rows_) * row_; }

    double add()  // seconds
    {
        dds_var_options_t options = DDS_VAR_OPTIONS_INIT;
        options.flags = rank_.options.huge ? DDS_HUGEPAGES : 0;
        rank_.all.meet();
        const double start = now();
        must(dds_add(rank_.store, Variable::kName, rows_, static_cast<int64_t>(row_), DDS_UINT8,
                     data_->data(), &options),
             "dds_add");
        const double taken = now() - start;
        verify();
        must(dds_drop(rank_.store, Variable::kName), "dds_drop");
        return rank_.all.sum(taken) / rank_.all.size();
    }
    double limit(const AddVariant& variant)
    {
        rank_.all.meet();
        const double taken = add_limit(variant, data_->data(), bytes(), rank_.options.huge);
        return rank_.all.sum(taken) / rank_.all.size();
    }
    void count(Line& line)
    {
        line.wrong = static_cast<uint64_t>(rank_.all.sum(static_cast<double>(wrong_)));
        line.read = static_cast<uint64_t>(rank_.all.sum(static_cast<double>(read_)));
        line.per_call = rank_.all.sum(static_cast<double>(rows_)) / rank_.all.size();
    }

private:
    void verify()
    {
        int64_t rows;
        void* local;
        must(dds_local(rank_.store, Variable::kName, &rows, &local), "dds_local");
        for (int64_t i = 0; i < rows; i++) {
            const int64_t g = from_ + i;
            wrong_ += wrong_rows(content_, &g, 1, row_,
                                 static_cast<char*>(local) + static_cast<size_t>(i) * row_);
        }
        read_ += static_cast<uint64_t>(rows);
        must(dds_release_local(local), "dds_release_local");
    }

    Rank& rank_;
    size_t row_;
    uint64_t content_;
    std::vector<int64_t> first_;
    int64_t from_, rows_;
    std::unique_ptr<Buffer> data_;
    uint64_t wrong_ = 0, read_ = 0;
};

}  // namespace

Line add_rows(Rank& rank, size_t row, int64_t)
{
    pin(cores_of(rank.me, rank.options.ranks));
    Adder adder(rank, row);
    const auto variants = add_variants(static_cast<int>(cores().size()));
    adder.add();
    std::vector<double> best;
    for (const AddVariant& v : variants)
        best.push_back(std::min(adder.limit(v), adder.limit(v)));
    const AddVariant& limit =
        variants[static_cast<size_t>(std::min_element(best.begin(), best.end()) - best.begin())];
    Line line;
    line.row = row;
    line.batch = 1;
    line.limit = limit.name;
    const int rounds = rank.options.rounds ? rank.options.rounds : kRounds;
    line.outcome = duel_of([&] { return adder.add(); }, [&] { return adder.limit(limit); }, rounds);
    adder.count(line);
    return line;
}

}  // namespace bench
