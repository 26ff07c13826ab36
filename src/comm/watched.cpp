#include "comm/watched.hpp"

#include "base/clock.hpp"
#include "base/log.hpp"

namespace dds {
namespace {

constexpr int64_t kLong = 30 * clock::kSecond;

}  // namespace

Result<Step> Watched::step()
{
    auto step = operation_.step();
    if (step && *step != Step::ended && !told_) {
        const int64_t now = clock::now();
        begun_ = begun_ ? begun_ : now;
        if (now - begun_ >= kLong) {
            told_ = true;
            log(DDS_LOG_WARN, "%s has waited 30 s; missing: %s", what_, ask_(words_).c_str());
        }
    }
    return step;
}

}  // namespace dds
