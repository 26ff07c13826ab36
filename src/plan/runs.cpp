#include "plan/runs.hpp"

#include <algorithm>

namespace dds {

void split_run(WireRun run, uint64_t row_bytes, uint64_t most, std::vector<WireRun>& runs)
{
    const WireRun whole = run;
    for (uint64_t done = 0; done < whole.bytes; done += run.bytes) {
        run.bytes = std::min(most, whole.bytes - done);
        run.from = whole.from + done;
        run.to = whole.to + done;
        run.first = whole.first + static_cast<int64_t>(done / row_bytes);
        const int64_t last = whole.first + static_cast<int64_t>((done + run.bytes - 1) / row_bytes);
        run.count = last - run.first + 1;
        runs.push_back(run);
    }
}

void plan_runs(const Partition& partition, std::span<const int64_t> rows, uint64_t row_bytes,
               uint64_t most, std::span<const uint8_t> wired, std::vector<WireRun>& runs)
{
    runs.clear();
    if (row_bytes == 0)
        return;
    std::vector<WireRun> whole;
    whole.reserve(rows.size());
    const auto n = static_cast<int64_t>(rows.size());
    for (int64_t i = 0; i < n; i++) {
        const int64_t row = rows[static_cast<size_t>(i)];
        const int shard = partition.shard(row);
        if (!wired[static_cast<size_t>(shard)])
            continue;
        const uint64_t from = static_cast<uint64_t>(row - partition.start(shard)) * row_bytes;
        const uint64_t to = static_cast<uint64_t>(i) * row_bytes;
        if (!whole.empty()) {
            WireRun& last = whole.back();
            if (last.shard == shard && last.from + last.bytes == from &&
                last.to + last.bytes == to) {
                last.bytes += row_bytes;
                last.count++;
                continue;
            }
        }
        whole.push_back({shard, from, to, row_bytes, i, 1});
    }
    const auto by_shard = [](const WireRun& a, const WireRun& b) { return a.shard < b.shard; };
    if (!std::is_sorted(whole.begin(), whole.end(), by_shard))  // of one owner it is
        std::stable_sort(whole.begin(), whole.end(), by_shard);
    if (std::none_of(whole.begin(), whole.end(),
                     [most](const WireRun& run) { return run.bytes > most; })) {
        runs.swap(whole);
        return;
    }
    for (const WireRun& run : whole)
        split_run(run, row_bytes, most, runs);
}

}  // namespace dds
