// A picture of the lines: time a row against bytes a row, the library and the limit.
#pragma once

#include "report.hpp"

namespace bench {

bool write_plot(const std::string& file, const Options& options, const std::vector<Line>& lines);

}  // namespace bench
