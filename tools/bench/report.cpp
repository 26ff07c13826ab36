#include "report.hpp"

#include <cstdio>
#include <cstring>
#include <memory>

#include "plot.hpp"

namespace bench {
namespace {

constexpr double kMostSpread = 0.15;

// Plain memcpy of what no cache holds, undisturbed.
double measure_memcpy()
{
    constexpr size_t kBytes = size_t{128} << 20;
    const auto from = std::make_unique<char[]>(kBytes), to = std::make_unique<char[]>(kBytes);
    memset(from.get(), 1, kBytes);
    std::vector<double> times;
    for (int i = 0; i < 6; i++) {
        const double start = now();
        memcpy(to.get(), from.get(), kBytes);
        __asm__ volatile("" ::"r"(to.get()) : "memory");
        times.push_back(now() - start);
    }
    return 1e-9 * static_cast<double>(kBytes) / quantile(times, 0);
}

}  // namespace

Report::Report(const Options& options) : options_(options), memcpy_gbs_(measure_memcpy())
{
    if (!options.json && options.what != "kernels")
        printf("%-13s %4s %5s %8s %6s %11s %11s %7s %6s %8s  %s (memcpy here: %.1f GB/s)\n", "case",
               "path", "ranks", "row", "batch", "us per row", "limit", "GB/s", "ratio", "spread",
               "limit is", memcpy_gbs_);
}

void Report::add(const Line& line)
{
    lines_.push_back(line);
    const Outcome& o = line.outcome;
    const char* const format =
        options_.json
            ? "{\"case\":\"%s\",\"path\":\"%s\",\"ranks\":%d,\"row\":%zu,\"batch\":%lld,"
              "\"us_per_row\":%.5f,\"limit\":\"%s\",\"limit_us_per_row\":%.5f,\"limit_gbs\":%.3f,"
              "\"ratio\":%.4f,\"spread\":%.4f,\"ok\":%s,\"over_ns\":%.1f,\"readers\":%d,"
              "\"rounds\":%d,\"rows_checked\":%llu,\"memcpy_gbs\":%.2f}\n"
            : nullptr;
    const char* const ok = line.wrong ? "false" : "true";
    const double gbs = options_.visitors() ? 0 : line.limit_gbs();  // no row travels
    const auto batch = static_cast<long long>(line.batch);
    if (format)
        printf(format, options_.what.c_str(), options_.path.c_str(), options_.ranks, line.row,
               batch, line.us_per_row(), line.limit.c_str(), line.limit_us_per_row(), gbs, o.ratio,
               o.spread, ok, 1e9 * o.over, line.readers, o.rounds,
               static_cast<unsigned long long>(line.read), memcpy_gbs_);
    else
        printf("%-13s %4s %5d %8zu %6lld %11.4f %11.4f %7.2f %6.3f %8.3f  %s%s\n",
               options_.what.c_str(), options_.path.c_str(), options_.ranks, line.row, batch,
               line.us_per_row(), line.limit_us_per_row(), gbs, o.ratio, o.spread,
               line.limit.c_str(), line.wrong ? "  WRONG BYTES" : "");
    fflush(stdout);
    if (line.wrong)
        fprintf(stderr, "%llu of %llu rows were wrong\n",
                static_cast<unsigned long long>(line.wrong),
                static_cast<unsigned long long>(line.read));
}

int Report::finish()
{
    if (!options_.plot.empty() && !write_plot(options_.plot, options_, lines_))
        return kFailed;
    bool noisy = false;
    for (const Line& line : lines_) {
        if (line.wrong)
            return kWrong;
        noisy |= line.outcome.spread > kMostSpread;
    }
    if (noisy)
        fprintf(stderr, "too noisy, spread over %.2f: measure again in a quieter minute\n",
                kMostSpread);
    return noisy ? kNoisy : 0;
}

}  // namespace bench
