// What error texts of communicators have in common.
#pragma once

#include <string>
#include <vector>

namespace dds {

// "rank 3", "ranks 1-3, 7"; "none that is known" where there is none.  `ranks` is ascending; a long
// list is cut.
std::string ranks_in_words(const std::vector<int>& ranks);

}  // namespace dds
