#include "lines.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <sstream>

#include "control.hpp"

namespace bench {
namespace {

std::string pipe_in(const std::string& dir) { return dir + "/lines"; }

Line parsed(const std::string& text)
{
    std::istringstream words(text);
    Line line;
    Outcome& o = line.outcome;
    words >> line.row >> line.batch >> line.per_call >> line.readers >> line.wrong >> line.read >>
        o.product >> o.limit >> o.over >> o.ratio >> o.spread >> o.rounds;
    words.get();  // the space before the name
    std::getline(words, line.limit);
    return line;
}

}  // namespace

// Open for writing too: it has no end before this has.
Lines::Lines(const std::string& dir) : fd_(-1)
{
    if (mkfifo(pipe_in(dir).c_str(), 0600) == 0 || errno == EEXIST)
        fd_ = open(pipe_in(dir).c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (fd_ < 0)
        die("no pipe %s: %s", pipe_in(dir).c_str(), strerror(errno));
}

Lines::~Lines() { close(fd_); }

void Lines::take(int wait_ms, const std::function<void(const Line&)>& use)
{
    pollfd here = {fd_, POLLIN, 0};
    poll(&here, 1, wait_ms);
    char some[4096];
    for (ssize_t n; (n = read(fd_, some, sizeof some)) > 0;)
        rest_.append(some, static_cast<size_t>(n));
    for (size_t end; (end = rest_.find('\n')) != std::string::npos; rest_.erase(0, end + 1))
        use(parsed(rest_.substr(0, end)));
}

void Lines::send(const std::string& dir, const Line& line)
{
    const Outcome& o = line.outcome;
    std::ostringstream text;
    text.precision(17);
    text << line.row << ' ' << line.batch << ' ' << line.per_call << ' ' << line.readers << ' '
         << line.wrong << ' ' << line.read << ' ' << o.product << ' ' << o.limit << ' ' << o.over
         << ' ' << o.ratio << ' ' << o.spread << ' ' << o.rounds << ' ' << line.limit << '\n';
    const std::string whole = text.str();
    const int fd = open(pipe_in(dir).c_str(), O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write(fd, whole.data(), whole.size()) != static_cast<ssize_t>(whole.size()))
        die("cannot tell the launcher: %s", strerror(errno));
    close(fd);
}

}  // namespace bench
