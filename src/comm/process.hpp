// Which process wrote something, and whether it is certain that it still runs.  Certain only within
// one boot and one PID namespace; elsewhere nobody can tell.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace dds::filecomm {

struct Process {
    std::array<uint8_t, 16> boot{};  // boot id
    uint64_t namespace_inode = 0;    // of PIDs
    int64_t pid = 0;
    uint64_t started = 0;  // in ticks since boot: a PID is given out again, this is not
};

enum class Life { alive, dead, unknown };

Process this_process();
Life life_of(const Process& process);
std::string in_words(const Process& process);  // "process 1234"

}  // namespace dds::filecomm
