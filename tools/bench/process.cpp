#include "process.hpp"

#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>

#include "control.hpp"
#include "options.hpp"

namespace bench {

std::string this_program()
{
    char file[PATH_MAX];
    const ssize_t n = readlink("/proc/self/exe", file, sizeof file);
    return n < 0 ? "/proc/self/exe" : std::string(file, static_cast<size_t>(n));
}

std::filesystem::path in_path(const std::string& program)
{
    namespace fs = std::filesystem;
    const char* const path = getenv("PATH");
    const std::string folders = path ? path : "/usr/bin:/bin";
    for (size_t at = 0; at <= folders.size();) {
        const size_t end = std::min(folders.find(':', at), folders.size());
        const fs::path file = fs::path(folders.substr(at, end - at)) / program;
        if (access(file.c_str(), X_OK) == 0)
            return file;
        at = end + 1;
    }
    return {};
}

pid_t start(Words words, int at_death)
{
    const pid_t parent = getpid();
    const pid_t child = fork();
    if (child)
        return child;
    prctl(PR_SET_PDEATHSIG, at_death);
    if (getppid() != parent)  // it died before the line above
        _exit(kFailed);
    std::vector<char*> args;
    for (std::string& word : words)
        args.push_back(word.data());
    args.push_back(nullptr);
    execv(args[0], args.data());
    die("cannot start %s: %s", args[0], strerror(errno));
}

}  // namespace bench
