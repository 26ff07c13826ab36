#include "sheet.hpp"

#include <algorithm>

namespace info {
namespace {

// "last_cache" to "last cache"; variables of the environment stay what they are.
std::string in_words(std::string name)
{
    if (!name.empty() && name[0] >= 'a' && name[0] <= 'z')
        std::ranges::replace(name, '_', ' ');
    return name;
}

}  // namespace

std::string Sheet::text() const
{
    std::string out;
    for (const Section& section : sections_) {
        size_t widest = 0;
        for (const Fact& fact : section.facts)
            widest = std::max(widest, fact.name.size());
        out += (out.empty() ? "" : "\n") + std::string(section.name) + "\n";
        for (const Fact& fact : section.facts) {
            out += "  " + in_words(fact.name) + std::string(widest - fact.name.size() + 2, ' ');
            out += fact.value.text;
            if (!fact.words.empty())
                out += "  (" + fact.words + ")";
            out += '\n';
        }
    }
    if (!problems_.empty())
        out += "\nproblems\n";
    for (const std::string& problem : problems_)
        out += "  " + Value(problem).text + '\n';
    return out;
}

std::string Sheet::json() const
{
    Fields all;
    for (const Section& section : sections_) {
        Fields facts;
        for (const Fact& fact : section.facts)
            facts.push_back({fact.name, fact.value});
        all.push_back({section.name, object(facts)});
    }
    std::vector<Value> problems(problems_.begin(), problems_.end());
    all.push_back({"problems", list(problems)});
    return object(all).json + "\n";
}

}  // namespace info
