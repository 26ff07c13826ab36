#include "comm/words.hpp"

namespace dds {

std::string ranks_in_words(const std::vector<int>& ranks)
{
    constexpr int kRanges = 8;
    if (ranks.empty())
        return "none that is known";
    std::string text = ranks.size() == 1 ? "rank " : "ranks ";
    int ranges = 0;
    for (size_t i = 0; i < ranks.size(); ranges++) {
        size_t last = i;
        while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1)
            last++;
        if (ranges == kRanges)
            return text + " and " + std::to_string(ranks.size() - i) + " more";
        if (ranges > 0)
            text += ", ";
        text += std::to_string(ranks[i]);
        if (last > i)
            text += "-" + std::to_string(ranks[last]);
        i = last + 1;
    }
    return text;
}

}  // namespace dds
