// How lines come from rank 0 to the launcher, which prints them: through a pipe with a name, as an
// mpirun stands between the two.
#pragma once

#include <functional>
#include <string>

#include "report.hpp"

namespace bench {

class Lines {
public:
    explicit Lines(const std::string& dir);  // the launcher's end, or exits
    ~Lines();
    Lines(const Lines&) = delete;
    Lines& operator=(const Lines&) = delete;

    // Those that have come, or come within so many milliseconds.
    void take(int wait_ms, const std::function<void(const Line&)>& use);

    static void send(const std::string& dir, const Line& line);  // rank 0's end

private:
    int fd_;
    std::string rest_;
};

}  // namespace bench
