// A file system with little room: a tmpfs in a mount namespace of a child's own.
#pragma once

#include <sched.h>
#include <sys/mount.h>

#include "unit.hpp"

namespace unit {

// Runs `work`, which returns 0 where all is right, in a child for which `dir` is such a one, with the
// options of tmpfs(5) that `limit` gives.  Skips where none may be mounted.
template <class Work>
void on_a_small_disk(const std::string& dir, const char* limit, const Work& work)
{
    constexpr int kNotAllowed = 77;
    const std::string options = std::string(limit) + ",mode=0700";
    mkdir(dir.c_str(), 0700);
    fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) {
        if (unshare(CLONE_NEWNS) != 0 ||
            mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
            mount("tmpfs", dir.c_str(), "tmpfs", 0, options.c_str()) != 0)
            _exit(kNotAllowed);
        const int wrong = work();
        fflush(nullptr);
        _exit(wrong);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == kNotAllowed)
        skip();
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

}  // namespace unit
