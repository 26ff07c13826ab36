#include "hosts.hpp"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "control.hpp"

namespace bench {

Words hosts_program(const char* name)
{
    namespace fs = std::filesystem;
    const fs::path source = fs::path(this_program()).parent_path().parent_path().parent_path();
    const fs::path program = source / "tests/hosts" / name;
    std::error_code ignored;
    if (geteuid() != 0)
        die("--hosts makes network namespaces: it needs root");
    if (!fs::exists(program, ignored))
        die("--hosts needs %s: run the program from where it was built", program.c_str());
    return {in_path("python3"), "-sSEB", program};
}

Words hosts_command(const Options& options)
{
    Words command = hosts_program("hosts.py");
    command.insert(command.end(), {"up", std::to_string(options.hosts), "--"});
    return command;
}

int start_on_hosts(const Options& options, const Words& words)
{
    std::vector<pid_t> ranks;
    const auto end_all = [&] {
        for (const pid_t pid : ranks)
            kill(pid, SIGKILL);  // hosts.py, with which its rank ends
    };
    bool failed = false;
    for (int rank = 0; rank < options.ranks && !failed; rank++) {
        Words command = hosts_program("hosts.py");
        const int host = rank * options.hosts / options.ranks + 1;
        command.insert(command.end(), {"exec", std::to_string(host)});
        command.insert(command.end(), words.begin(), words.end());
        command.insert(command.end(), {"--as-rank", std::to_string(rank)});
        const pid_t pid = start(command, SIGKILL);
        failed = pid < 0;
        if (!failed)
            ranks.push_back(pid);
    }
    if (failed)
        end_all();
    int status;
    for (pid_t pid; (pid = waitpid(-1, &status, 0)) > 0;) {
        std::erase(ranks, pid);
        if (!failed && (!WIFEXITED(status) || WEXITSTATUS(status) != 0)) {
            failed = true;
            end_all();  // they would wait for it
        }
    }
    return failed ? kFailed : 0;
}

}  // namespace bench
