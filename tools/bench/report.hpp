// What the launcher prints: a table for people, JSON for programs.
#pragma once

#include <string>
#include <vector>

#include "measure.hpp"
#include "options.hpp"

namespace bench {

struct Line {
    size_t row = 0;
    int64_t batch = 1;
    double per_call = 1;  // rows that a call counts for
    std::string limit;
    Outcome outcome;
    uint64_t wrong = 0, read = 0;  // rows
    int readers = 0;

    double us_per_row() const { return 1e6 * outcome.product / per_call; }
    double limit_us_per_row() const { return 1e6 * outcome.limit / per_call; }
    double limit_gbs() const { return 1e-3 * static_cast<double>(row) / limit_us_per_row(); }
};

class Report {
public:
    explicit Report(const Options& options);
    void add(const Line& line);
    int finish();  // writes the plot; the exit status

private:
    const Options& options_;
    double memcpy_gbs_;
    std::vector<Line> lines_;
};

}  // namespace bench
