// What the unit tests share: CMocka from C++, a directory that goes away, ranks as processes and as
// threads, and a clock that runs faster.
#pragma once

#include <dirent.h>
#include <ftw.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

extern "C" {
#include <cmocka.h>
}
#undef fail  // ours makes an Error
#undef fail_msg
#define fail_msg(...) (print_error(__VA_ARGS__), print_error("\n"), _fail(__FILE__, __LINE__))

#include "base/clock.hpp"
#include "base/result.hpp"

namespace unit {

using dds::Error;

class Scratch {
public:
    Scratch()
    {
        const char* base = getenv("TMPDIR");
        path_ = std::string(base && *base ? base : "/tmp") + "/ddstore-unit-XXXXXX";
        if (!mkdtemp(path_.data()))
            abort();
    }
    ~Scratch()
    {
        nftw(
            path_.c_str(),
            [](const char* at, const struct stat*, int, FTW*) { return ::remove(at); }, 16,
            FTW_DEPTH | FTW_PHYS);
    }
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;

    const std::string& path() const { return path_; }
    std::string at(const std::string& name) const { return path_ + "/" + name; }
    std::vector<std::string> names(const std::string& sub = "") const
    {
        std::vector<std::string> names;
        DIR* dir = opendir((path_ + "/" + sub).c_str());
        while (const dirent* entry = dir ? readdir(dir) : nullptr)
            if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
                names.push_back(entry->d_name);
        if (dir)
            closedir(dir);
        return names;
    }

private:
    std::string path_;
};

// How the work of one rank ended: 0 or the class of its error; minus the signal that killed it.
struct Outcome {
    int code = 0;
    int rank = -1;
    double seconds = 0;
    char text[1200] = {};
};

inline Outcome outcome_of(const Error& error, double seconds)
{
    Outcome outcome;
    outcome.code = error.code;
    outcome.rank = error.rank;
    outcome.seconds = seconds;
    snprintf(outcome.text, sizeof outcome.text, "%s", error.text.c_str());
    return outcome;
}

inline const Error kFine{DDS_SUCCESS, -1, {}};

inline double now()
{
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// `work(rank)` gives an Error, kFine where all was well.  No assertion of CMocka inside.
template <class Work>
std::vector<Outcome> in_processes(int ranks, const Work& work)
{
    const size_t bytes = static_cast<size_t>(ranks) * sizeof(Outcome);
    auto* shared = static_cast<Outcome*>(
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    std::vector<pid_t> children;
    fflush(nullptr);
    for (int rank = 0; rank < ranks; rank++) {
        const pid_t child = fork();
        if (child == 0) {
            const double begun = now();
            const Error error = work(rank);
            shared[rank] = outcome_of(error, now() - begun);
            _exit(0);
        }
        children.push_back(child);
    }
    for (int rank = 0; rank < ranks; rank++) {
        int status = 0;
        waitpid(children[static_cast<size_t>(rank)], &status, 0);
        if (WIFSIGNALED(status))
            shared[rank].code = -WTERMSIG(status);
        else if (WEXITSTATUS(status) != 0)
            shared[rank].code = -1000;
    }
    std::vector<Outcome> outcomes(shared, shared + ranks);
    munmap(shared, bytes);
    return outcomes;
}

template <class Work>
std::vector<Outcome> in_threads(int ranks, const Work& work)
{
    std::vector<Outcome> outcomes(static_cast<size_t>(ranks));
    std::vector<std::thread> threads;
    for (int rank = 0; rank < ranks; rank++)
        threads.emplace_back([&, rank] {
            const double begun = now();
            const Error error = work(rank);
            outcomes[static_cast<size_t>(rank)] = outcome_of(error, now() - begun);
        });
    for (auto& thread : threads)
        thread.join();
    return outcomes;
}

inline void assert_all(const std::vector<Outcome>& outcomes, int code)
{
    for (size_t rank = 0; rank < outcomes.size(); rank++)
        if (outcomes[rank].code != code)
            fail_msg("rank %zu: %d instead of %d: %s", rank, outcomes[rank].code, code,
                     outcomes[rank].text);
}

inline void assert_says(const std::string& text, const std::string& words)
{
    if (text.find(words) == std::string::npos)
        fail_msg("'%s' does not say '%s'", text.c_str(), words.c_str());
}

// Time runs `factor` times as fast while this lives.
class FastClock : public dds::clock::Source {
public:
    explicit FastClock(int factor) : factor_(factor), begun_(real()) { dds::clock::replace(this); }
    ~FastClock() override { dds::clock::replace(nullptr); }
    int64_t now() override { return begun_ + (real() - begun_) * factor_; }
    void sleep(int64_t ns) override
    {
        const timespec t{ns / factor_ / 1'000'000'000, ns / factor_ % 1'000'000'000};
        nanosleep(&t, nullptr);
    }
    bool random(void* out, size_t bytes) override { return getentropy(out, bytes) == 0; }

private:
    static int64_t real()
    {
        timespec t;
        clock_gettime(CLOCK_MONOTONIC, &t);
        return t.tv_sec * 1'000'000'000 + t.tv_nsec;
    }
    int64_t factor_, begun_;
};

}  // namespace unit
