#include "launch.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "control.hpp"
#include "limit_exchange.hpp"
#include "lines.hpp"

namespace bench {
namespace {

pid_t start(int argc, char** argv, int rank, const std::string& control, const std::string& dir)
{
    const pid_t parent = getpid();
    const pid_t child = fork();
    if (child)
        return child;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)  // it died before the line above
        _exit(kFailed);
    std::vector<std::string> more = {
        "--as-rank", std::to_string(rank), "--control", control, "--dir", dir};
    std::vector<char*> args(argv, argv + argc);
    for (std::string& arg : more)
        args.push_back(arg.data());
    args.push_back(nullptr);
    execv("/proc/self/exe", args.data());
    die("cannot start rank %d: %s", rank, strerror(errno));
}

volatile sig_atomic_t stopped = 0;

void stop_on_signals()
{
    struct sigaction action = {};
    action.sa_handler = [](int) { stopped = 1; };
    for (const int signal : {SIGINT, SIGTERM, SIGHUP})
        sigaction(signal, &action, nullptr);
}

// Waits for all and takes their lines; when one fails or we are told to stop the others are ended,
// since they would wait for it.  Whether all went well.
bool wait_for(std::vector<pid_t> ranks, bool failed, Lines& lines,
              const std::function<void(const Line&)>& use)
{
    constexpr int kLookMs = 100;
    while (!ranks.empty()) {
        if (failed || stopped)
            for (const pid_t rank : ranks)
                kill(rank, SIGKILL);
        lines.take(kLookMs, use);
        int status;
        for (pid_t rank; (rank = waitpid(-1, &status, WNOHANG)) > 0;) {
            std::erase(ranks, rank);
            failed |= !WIFEXITED(status) || WEXITSTATUS(status) != 0;
        }
    }
    lines.take(0, use);
    return !failed && !stopped;
}

}  // namespace

int launch(const Options& options, int argc, char** argv)
{
    std::string dir = std::filesystem::temp_directory_path() / "ddstore-bench-XXXXXX";
    if (!mkdtemp(dir.data()))
        die("no directory %s: %s", dir.c_str(), strerror(errno));
    stop_on_signals();
    Report report(options);
    Lines lines(dir);
    const int64_t most = *std::max_element(options.batches.begin(), options.batches.end());
    const std::string control =
        make_control(options.what == "get_batch_all" ? Exchange::bytes(options.ranks, most) : 0);
    std::vector<pid_t> ranks;
    for (int rank = 0; rank < options.ranks; rank++) {
        ranks.push_back(start(argc, argv, rank, control, dir));
        if (ranks.back() < 0) {
            ranks.pop_back();
            break;
        }
    }
    const bool well = wait_for(ranks, static_cast<int>(ranks.size()) < options.ranks, lines,
                               [&](const Line& line) { report.add(line); });
    std::error_code ignored;
    std::filesystem::remove_all(dir, ignored);
    return well ? report.finish() : kFailed;
}

}  // namespace bench
