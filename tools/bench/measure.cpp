#include "measure.hpp"

#include <sched.h>
#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <cmath>

#include "content.hpp"

namespace bench {
namespace {

constexpr size_t kSlotBytes = size_t{32} << 10;  // a hot destination, as a batch's buffer is
constexpr int kTries = 8, kTriesTogether = 3;

double clock_of(clockid_t clock)
{
    timespec t;
    clock_gettime(clock, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

}  // namespace

double now() { return clock_of(CLOCK_MONOTONIC); }

std::vector<int> cores()
{
    cpu_set_t set;
    std::vector<int> list;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        for (int core = 0; core < CPU_SETSIZE; core++)
            if (CPU_ISSET(core, &set))
                list.push_back(core);
    return list;
}

const std::vector<int>& cores_at_start()
{
    static const std::vector<int> list = cores();
    return list;
}

std::vector<int> cores_of(int member, int members)
{
    const std::vector<int>& all = cores_at_start();
    std::vector<int> share;
    for (size_t i = static_cast<size_t>(member) % all.size(); i < all.size();
         i += static_cast<size_t>(members))
        share.push_back(all[i]);
    return share;
}

void pin(const std::vector<int>& cores)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const int core : cores)
        CPU_SET(core, &set);
    sched_setaffinity(0, sizeof set, &set);  // not pinned: only noisier
}

long lost_cores()
{
    rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nivcsw;
}

double quantile(std::vector<double> values, double q)
{
    const auto at = values.begin() + static_cast<ptrdiff_t>(q * static_cast<double>(values.size()));
    std::nth_element(values.begin(), at, values.end());
    return *at;
}

int64_t Job::slots() const
{
    const size_t batch = std::max<size_t>(row * static_cast<size_t>(n), 1);
    return static_cast<int64_t>(std::clamp<size_t>(kSlotBytes / batch, 1, 1024));
}

double Job::block(Team& team, const Run& run, int64_t calls)
{
    // Sharing a core, a member's own time is what the calls cost, and the block as a whole shows by
    // how much longer than its own time it takes.
    const bool shared = !team.spin() && !collective;
    const clockid_t clock = shared ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC;
    for (int tries = 1;; tries++) {
        bool lost = false;
        double taken = 0;
        int64_t done = 0;
        team.meet();
        const double wall = now(), own = clock_of(CLOCK_THREAD_CPUTIME_ID);
        while (done < calls) {
            const int64_t some = std::min(slots(), calls - done);
            rows.resize(static_cast<size_t>(some * n));
            for (int64_t& g : rows)
                g = random.below(total);
            if (collective)
                team.meet();
            const long before = lost_cores();
            const double start = clock_of(clock);
            run(rows.data(), some, out);
            const double spent = clock_of(clock) - start;
            const bool off = !shared && lost_cores() != before;
            if (served)
                team.meet();
            wrong += wrong_rows(content, rows.data(), some * n, row, out);
            read += rows.size();
            if (off && !collective && tries < kTries) {
                tries++;
                continue;
            }
            lost |= off;
            taken += spent;
            done += some;
        }
        if (collective && team.any(lost) && team.spin() && tries < kTriesTogether)
            continue;
        const double busy = clock_of(CLOCK_THREAD_CPUTIME_ID) - own;
        const double factor = shared ? (now() - wall) / busy : 1;
        return taken * factor / static_cast<double>(done);
    }
}

namespace {

int64_t calls_for(Team& team, Job& job, const Run& run, double seconds)
{
    job.block(team, run, 1);  // warm
    int64_t calls = 1;
    for (;;) {
        const double each = team.sum(job.block(team, run, calls)) / team.size();
        const double fits = std::clamp(seconds / each, 1.0, 1e6);
        if (fits < 2.0 * static_cast<double>(calls))
            return team.first(std::max<int64_t>(1, std::lround(fits)));
        calls = team.first(std::min(8 * calls, std::lround(fits)));
    }
}

}  // namespace

size_t fastest(Team& team, Job& job, const std::vector<Side>& sides, int rounds, double seconds,
               std::vector<double>* each)
{
    const int64_t calls = calls_for(team, job, sides[0].run, seconds);
    std::vector<std::vector<double>> times(sides.size());
    for (int round = 0; round < rounds; round++)
        for (size_t i = 0; i < sides.size(); i++) {
            const size_t k = round % 2 ? sides.size() - 1 - i : i;
            times[k].push_back(team.sum(job.block(team, sides[k].run, calls)) / team.size());
        }
    // Relative to its round: the machine as a whole may be slower in one second than in the next.
    std::vector<double> medians;
    std::vector<double> means(static_cast<size_t>(rounds), 0);
    for (const auto& t : times)
        for (size_t round = 0; round < t.size(); round++)
            means[round] += t[round] / static_cast<double>(times.size());
    for (auto& t : times) {
        for (size_t round = 0; round < t.size(); round++)
            t[round] /= means[round];
        medians.push_back(quantile(t, 0.5) * quantile(means, 0.5));
    }
    if (each)
        *each = medians;
    return static_cast<size_t>(std::min_element(medians.begin(), medians.end()) - medians.begin());
}

Outcome duel_of(const Timed& product, const Timed& limit, int rounds)
{
    std::vector<double> ratios, differences, products, limits;
    for (int round = 0; round < rounds; round++) {
        double a = product(), b = limit();
        b += limit();
        a += product();
        products.push_back(a / 2);
        limits.push_back(b / 2);
        ratios.push_back(a / b);
        differences.push_back((a - b) / 2);
    }
    const double ratio = quantile(ratios, 0.5);
    return {quantile(products, 0.5),
            quantile(limits, 0.5),
            quantile(differences, 0.5),
            ratio,
            (quantile(ratios, 0.75) - quantile(ratios, 0.25)) / ratio,
            rounds};
}

Outcome duel(Team& team, Job& job, const Run& product, const Run& limit, int rounds, double seconds)
{
    const int64_t calls = calls_for(team, job, limit, seconds);
    auto time = [&](const Run& run) { return team.sum(job.block(team, run, calls)) / team.size(); };
    time(product);
    return duel_of([&] { return time(product); }, [&] { return time(limit); }, rounds);
}

}  // namespace bench
