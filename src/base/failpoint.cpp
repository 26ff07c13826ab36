// The list of DDSTORE_FAILPOINT, parsed when the first point is passed, and what its actions do.
#include "base/failpoint.hpp"

#if DDS_TESTING

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <charconv>
#include <cstring>
#include <deque>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "base/env.hpp"
#include "base/fd.hpp"

namespace dds::failpoint {
namespace {

enum class Action { kill, stop, delay, error };

struct Point {
    std::string name;
    Action action = Action::kill;
    int value = 0;  // ms, or a DDS_ERR_*
    int nth = 0;    // 0: each time
    std::atomic<int> passed{0};
};

struct Plan {
    std::deque<Point> points;
    Error error{DDS_SUCCESS, -1, {}};
    std::string trace;
};

std::string_view cut(std::string_view& rest, char at)
{
    const std::string_view piece = rest.substr(0, rest.find(at));
    rest.remove_prefix(piece.size() == rest.size() ? rest.size() : piece.size() + 1);
    return piece;
}

bool number(std::string_view text, int least, int most, int& out)
{
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
    return error == std::errc() && end == text.data() + text.size() && out >= least && out <= most;
}

bool parse(std::string_view text, Point& point)
{
    point.name = cut(text, ':');
    std::string_view action = cut(text, ':');
    if (point.name.empty() || (!text.empty() && !number(text, 1, 1 << 30, point.nth)))
        return false;
    const std::string_view verb = cut(action, '=');
    if (verb == "kill" || verb == "stop") {
        point.action = verb == "kill" ? Action::kill : Action::stop;
        return action.empty();
    }
    if (verb == "delay") {
        point.action = Action::delay;
        return number(action, 0, 3'600'000, point.value);
    }
    point.action = Action::error;
    return verb == "error" && number(action, DDS_ERR_ARG, DDS_ERR_INTERNAL, point.value);
}

Plan read_plan()
{
    Plan plan;
    plan.trace = env::text("DDSTORE_FAILPOINT_TRACE").value_or("");
    const std::string text = env::text("DDSTORE_FAILPOINT").value_or("");
    for (std::string_view rest = text; !rest.empty();) {
        const std::string_view piece = cut(rest, ',');
        if (!parse(piece, plan.points.emplace_back()))
            plan.error = fail(DDS_ERR_ARG,
                              "DDSTORE_FAILPOINT has '%.64s'; it takes name:action"
                              "[:nth] with kill, stop, delay=MS or error=CODE",
                              std::string(piece).c_str());
    }
    return plan;
}

// One write, so that the lines of many ranks in one file do not mix.
void trace(const std::string& path, const char* name)
{
    const Fd fd(open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
    const std::string line = std::string(name) + '\n';
    if (fd) [[maybe_unused]]
        const ssize_t written = write(fd.get(), line.data(), line.size());
}

Result<void> act(const Point& point)
{
    switch (point.action) {
    case Action::kill: kill(getpid(), SIGKILL); break;
    case Action::stop: kill(getpid(), SIGSTOP); break;
    case Action::delay: clock::sleep(point.value * clock::kMillisecond); break;
    case Action::error: return fail(point.value, "failpoint %s", point.name.c_str());
    }
    return {};
}

}  // namespace

Result<void> hit(const char* name)
{
    static Plan plan = read_plan();
    if (plan.error.code)
        return plan.error;
    if (!plan.trace.empty())
        trace(plan.trace, name);
    for (Point& point : plan.points)
        if (point.name == name) {
            const int time = point.passed.fetch_add(1, std::memory_order_relaxed) + 1;
            if (point.nth == 0 || point.nth == time)
                DDS_TRY(act(point));
        }
    return {};
}

}  // namespace dds::failpoint

#endif
