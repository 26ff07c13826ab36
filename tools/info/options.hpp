// The command line.
#pragma once

#include <string>

namespace info {

// Exit statuses.
constexpr int kWrong = 1, kUsage = 2;

struct Options {
    bool json = false;
    std::string mpi;  // the library to load; empty: none
    int rank = 0;     // the one that tells
};

// Prints and exits for --help and for what it does not understand.
Options parse(int argc, char** argv);

}  // namespace info
