// How often a rank looks into the directory: soon at first, then after an eighth of the time it has
// waited already, at most every 50 ms, never in step with the others.
#pragma once

#include <cstdint>

namespace dds::filecomm {

class Pace {
public:
    Pace();
    void moved() { begun_ = 0; }  // something came: look soon again
    int64_t nap();
    // True once in each 200 ms: time for what is costly to look at.
    bool time_for_rounds();
    int64_t waited() const;  // ns since the last thing moved

private:
    mutable int64_t begun_ = 0;
    int64_t rounds_;
    uint64_t random_;
};

}  // namespace dds::filecomm
