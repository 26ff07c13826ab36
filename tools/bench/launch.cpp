#include "launch.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "control.hpp"
#include "hosts.hpp"
#include "limit_exchange.hpp"
#include "lines.hpp"
#include "mpi_job.hpp"
#include "process.hpp"

namespace bench {
namespace {

using Use = std::function<void(const Line&)>;

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
bool wait_for(std::vector<pid_t> started, int by, bool failed, Lines& lines, const Use& use)
{
    constexpr int kLookMs = 100, kPatience = 100;  // looks
    for (int looks = 0; !started.empty();) {
        // Once: an mpirun that is told twice leaves things behind.
        if ((failed || stopped) && looks++ % kPatience == 0)
            for (const pid_t pid : started)
                kill(pid, looks > kPatience ? SIGKILL : by);
        lines.take(kLookMs, use);
        int status;
        for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;)
            if (std::erase(started, pid))
                failed |= !WIFEXITED(status) || WEXITSTATUS(status) != 0;
    }
    // Ranks that an mpirun killed and did not wait for are ours now.
    for (int looks = 0; looks < kPatience && waitpid(-1, nullptr, WNOHANG) >= 0; looks++)
        lines.take(kLookMs, use);
    lines.take(0, use);
    return !failed && !stopped;
}

// The run's directory, and what the ranks find there.
class Launcher {
public:
    Launcher(const Options& options, const Words& words) : options_(options), words_(words)
    {
        dir_ = std::filesystem::temp_directory_path() / "ddstore-bench-XXXXXX";
        if (!mkdtemp(dir_.data()))
            die("no directory %s: %s", dir_.c_str(), strerror(errno));
    }
    ~Launcher()
    {
        std::error_code ignored;
        std::filesystem::remove_all(dir_, ignored);
    }
    Launcher(const Launcher&) = delete;
    Launcher& operator=(const Launcher&) = delete;

    // As copies of this program.
    bool run_ranks(const Use& use)
    {
        const int64_t most = *std::max_element(options_.batches.begin(), options_.batches.end());
        const std::string control = make_control(
            options_.what == "get_batch_all" ? Exchange::bytes(options_.ranks, most) : 0);
        Lines lines(dir_);
        std::vector<pid_t> ranks;
        const int all = options_.ranks + options_.visitors();
        for (int rank = 0; rank < all; rank++) {
            const pid_t pid =
                start(rank_words({"--as-rank", std::to_string(rank)}, control), SIGKILL);
            if (pid < 0)
                break;
            ranks.push_back(pid);
        }
        const bool failed = static_cast<int>(ranks.size()) < all;
        return wait_for(std::move(ranks), SIGKILL, failed, lines, use);
    }

    // By the mpirun, which ends its ranks when it is told to.
    bool run_mpi(const MpiJob& job, const Use& use)
    {
        return run_by(job.command, {"--as-mpi", job.library}, use);
    }

    // By a starter of ours beside the hosts.
    bool run_on_hosts(const Use& use) { return run_by(hosts_command(options_), {}, use); }

private:
    bool run_by(Words command, const Words& how, const Use& use)
    {
        const std::string control = make_control(dir_, 0);
        Lines lines(dir_);
        for (const std::string& word : rank_words(how, control))
            command.push_back(word);
        const pid_t pid = start(command, SIGTERM);
        if (pid < 0)
            die("cannot start %s: %s", command[0].c_str(), strerror(errno));
        return wait_for({pid}, SIGTERM, false, lines, use);
    }

    Words rank_words(const Words& how, const std::string& control) const
    {
        Words all = words_;
        all[0] = this_program();
        all.insert(all.end(), how.begin(), how.end());
        all.insert(all.end(), {"--control", control, "--dir", dir_});
        return all;
    }

    const Options& options_;
    const Words& words_;
    std::string dir_;
};

// The MPIs to run under, one after another; none: ranks of our own.
std::vector<MpiJob> jobs_of(const Options& options)
{
    std::vector<MpiJob> jobs;
    if (!options.mpi.empty() || options.over_mpi)
        for (const char* name : kMpis) {
            if (!options.mpi.empty() && options.mpi != name)
                continue;
            if (const auto job = find_mpi(name, options))
                jobs.push_back(*job);
        }
    if (jobs.empty() && !options.mpi.empty())
        die("no %s here: neither mpirun.%s nor mpirun in PATH is of it, with its library",
            options.mpi.c_str(), options.mpi.c_str());
    if (jobs.empty() && options.path == "mpi")
        die("no MPI here: --path mpi needs the mpirun of Open MPI or MPICH in PATH");
    return jobs;
}

// Of two limits the better is the one: the library does the same beside both.
void keep_better(std::vector<Line>& lines, const Line& line)
{
    const auto same = std::find_if(lines.begin(), lines.end(), [&](const Line& other) {
        return other.row == line.row && other.batch == line.batch;
    });
    if (same == lines.end())
        lines.push_back(line);
    else if (line.wrong || (!same->wrong && line.outcome.ratio > same->outcome.ratio))
        *same = line;
}

}  // namespace

int launch(const Options& options, int argc, char** argv)
{
    const auto jobs = jobs_of(options);
    const Words words(argv, argv + argc);
    stop_on_signals();
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    Launcher launcher(options, words);
    Report report(options);
    const Use print = [&](const Line& line) { report.add(line); };
    bool well = true;
    if (options.hosts && options.path == "fabric")
        well = launcher.run_on_hosts(print);
    else if (jobs.empty())
        well = launcher.run_ranks(print);
    std::vector<Line> best;
    const bool compared = options.path != "mpi" && jobs.size() > 1;
    for (const MpiJob& job : jobs)
        well = well &&
               launcher.run_mpi(
                   job, compared ? Use([&](const Line& line) { keep_better(best, line); }) : print);
    if (!well)
        return kFailed;
    std::for_each(best.begin(), best.end(), print);
    return report.finish();
}

}  // namespace bench
