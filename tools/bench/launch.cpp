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

namespace bench {
namespace {

pid_t start(int argc, char** argv, int rank, int control, const std::string& dir)
{
    const pid_t parent = getpid();
    const pid_t child = fork();
    if (child)
        return child;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)  // it died before the line above
        _exit(kFailed);
    std::vector<std::string> more = {
        "--as-rank", std::to_string(rank), "--control", std::to_string(control), "--dir", dir};
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
    action.sa_handler = [](int) { stopped = 1; };  // no SA_RESTART: wait() returns
    for (const int signal : {SIGINT, SIGTERM, SIGHUP})
        sigaction(signal, &action, nullptr);
}

// Waits for all; when one fails or we are told to stop the others are ended, since they would wait
// for it.  Rank 0 knows the result.
int wait_for(std::vector<pid_t> ranks, bool failed)
{
    const pid_t first = ranks.empty() ? 0 : ranks[0];
    int result = kFailed;
    while (!ranks.empty()) {
        if (failed || stopped)
            for (const pid_t rank : ranks)
                kill(rank, SIGKILL);
        int status;
        const pid_t rank = wait(&status);
        if (rank < 0)
            continue;
        std::erase(ranks, rank);
        const int code = WIFEXITED(status) ? WEXITSTATUS(status) : kFailed;
        failed |= code == kFailed;
        if (rank == first)
            result = code;
    }
    return failed || stopped ? kFailed : result;
}

}  // namespace

int launch(const Options& options, int argc, char** argv)
{
    std::string dir = std::filesystem::temp_directory_path() / "ddstore-bench-XXXXXX";
    if (!mkdtemp(dir.data()))
        die("no directory %s: %s", dir.c_str(), strerror(errno));
    stop_on_signals();
    const int64_t most = *std::max_element(options.batches.begin(), options.batches.end());
    const int control =
        make_control(options.what == "get_batch_all" ? Exchange::bytes(options.ranks, most) : 0);
    std::vector<pid_t> ranks;
    for (int rank = 0; rank < options.ranks; rank++) {
        ranks.push_back(start(argc, argv, rank, control, dir));
        if (ranks.back() < 0) {
            ranks.pop_back();
            break;
        }
    }
    const int result = wait_for(ranks, static_cast<int>(ranks.size()) < options.ranks);
    std::error_code ignored;
    std::filesystem::remove_all(dir, ignored);
    return result;
}

}  // namespace bench
