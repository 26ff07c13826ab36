// The clock's rules: fresh rows for every call, every row checked after the clock stops, a run that
// lost its core is made again, and two sides measured in turns (A B B A).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "random.hpp"
#include "team.hpp"

namespace bench {

double now();                                        // seconds
std::vector<int> cores();                            // that this thread may use now
const std::vector<int>& cores_at_start();            // that the program was given
std::vector<int> cores_of(int member, int members);  // a fair share of them, at least one
void pin(const std::vector<int>& cores);
long lost_cores();  // how often this thread was put off its core so far

double quantile(std::vector<double> values, double q);

// `calls` calls of n rows each: call c reads rows + c * n to out + c * n * row.
using Run = std::function<void(const int64_t* rows, int64_t calls, char* out)>;
struct Side {
    std::string name;
    Run run;
};

// One member's share of the work.
struct Job {
    int64_t total;     // rows of the variable
    size_t row;        // bytes
    int64_t n;         // rows a call
    uint64_t content;  // seed of the variable's content
    char* out;         // slots() x n x row bytes
    Random random;
    bool collective = false;       // calls wait for each other: a run is repeated by all or by none
    bool served = false;           // each needs the others while it reads
    uint64_t wrong = 0, read = 0;  // rows
    std::vector<int64_t> rows = {};

    int64_t slots() const;  // calls between two looks at the clock
    // Seconds that about `calls` calls took, per call.
    double block(Team& team, const Run& run, int64_t calls);
};

struct Outcome {
    double product = 0, limit = 0;  // seconds a call, of one member, medians
    double over = 0;                // median of the paired differences, seconds a call
    double ratio = 0, spread = 0;
    int rounds = 0;
};

// The fastest of the sides, on all members together.
size_t fastest(Team& team, Job& job, const std::vector<Side>& sides, int rounds, double seconds,
               std::vector<double>* each = nullptr);
// Two sides in turns, A B B A; each tells the seconds of one call.
using Timed = std::function<double()>;
Outcome duel_of(const Timed& product, const Timed& limit, int rounds);
// Product against limit; `seconds` is about the length of one of the four runs of a round.
Outcome duel(Team& team, Job& job, const Run& product, const Run& limit, int rounds,
             double seconds);

}  // namespace bench
