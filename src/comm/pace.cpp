#include "comm/pace.hpp"

#include <algorithm>

#include "base/clock.hpp"

namespace dds::filecomm {
namespace {

constexpr int64_t kSoonest = 50'000, kLatest = 50 * clock::kMillisecond;
constexpr int64_t kRounds = 200 * clock::kMillisecond;

}  // namespace

Pace::Pace() : rounds_(clock::now() + kRounds)
{
    if (!clock::random(&random_, sizeof random_))
        random_ = 1;
    random_ |= 1;
}

int64_t Pace::waited() const
{
    const int64_t now = clock::now();
    if (begun_ == 0)
        begun_ = now;
    return now - begun_;
}

int64_t Pace::nap()
{
    const int64_t nap = std::clamp(waited() / 8, kSoonest, kLatest);
    random_ = random_ * 6364136223846793005u + 1442695040888963407u;
    const auto jitter = static_cast<int64_t>(random_ >> 32) * (nap / 2) >> 32;
    return nap - jitter;
}

bool Pace::time_for_rounds()
{
    const int64_t now = clock::now();
    if (now < rounds_)
        return false;
    rounds_ = now + kRounds;
    return true;
}

}  // namespace dds::filecomm
