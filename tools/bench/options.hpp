// The command line.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace bench {

// Exit statuses.
constexpr int kWrong = 1, kUsage = 2, kNoisy = 3, kFailed = 4;

struct Options {
    std::string what;  // --case
    std::string path = "shm";
    std::string mpi;  // "": none, or where one is needed all that are here
    int hosts = 0;    // 0: ranks of this machine
    int ranks = 2;
    int readers = 0;  // 0: all of them, up to two a core
    std::vector<size_t> rows;
    std::vector<int64_t> batches = {128};
    bool json = false, huge = false, uneven = false, all = false;
    std::string plot;
    uint64_t seed = 1;
    size_t total = size_t{1} << 30;  // bytes of the variable, over all ranks
    int rounds = 0;                  // 0: as many as the case needs

    // Set by the launcher for the ranks that it starts.
    int rank = -1;
    std::string control, dir;
    std::string library;    // of the MPI that started this rank
    bool over_mpi = false;  // the limit is the MPI's
    // Readers of another job beside the ranks, and the case's only readers.
    int visitors() const { return what == "attach" || what == "join"; }
    std::string records() const { return dir + "/records"; }  // of the job that they visit
    // Whoever is told all that a rank is told, but is none, starts the ranks.
    bool starts() const { return !dir.empty() && rank < 0 && library.empty(); }
};

// Prints and exits for --help and for what it does not understand.
Options parse(int argc, char** argv);

}  // namespace bench
