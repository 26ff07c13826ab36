#include "transport/fabric_flight.hpp"

#include <cstddef>
#include <cstring>

#include "base/crc32c.hpp"
#include "transport/fabric_context.hpp"

namespace dds {

bool FabricPlace::proves(const Arenas::Header& header) const
{
    return memcmp(header.magic, "DDSARENA", sizeof header.magic) == 0 &&
           memcmp(header.store, key.store, sizeof key.store) == 0 &&
           header.incarnation == key.incarnation && header.id == key.id &&
           header.crc == crc32c(0, &header, offsetof(Arenas::Header, crc));
}

FabricFlight::FabricFlight(std::shared_ptr<FabricContext> taken, const Node* neighbours,
                           Batch& batch)
    : context(std::move(taken)), node(neighbours), runs(batch.runs.data()), left(batch.runs.size())
{
    landed.reserve(batch.runs.size());
}

FabricFlight::~FabricFlight()
{
    if (context && !context->inherited())
        context->drop(*this);
}

void FabricFlight::want(FabricLane& lane)
{
    if (lane.waiting || !lane.to_post())
        return;
    lane.waiting = true;
    waiting.push_back(static_cast<uint32_t>(&lane - lanes.data()));
}

void FabricFlight::doubt(FabricLane& lane, int64_t since)
{
    if (lane.since == 0)
        doubtful++;
    lane.since = since;
}

void FabricFlight::trust(FabricLane& lane)
{
    lane.since = 0;
    doubtful--;
}

void FabricFlight::judge(FabricLane& lane, Error why)
{
    if (lane.verdict)
        return;
    if (lane.since)
        trust(lane);
    lane.again.clear();
    lane.verdict = std::move(why);
    judged = true;
}

void FabricFlight::tell(Batch& batch)
{
    for (const uint32_t run : landed)
        batch.end(batch.runs[run], DDS_SUCCESS);
    landed.clear();
    if (!std::exchange(judged, false))
        return;
    for (FabricLane& lane : lanes) {
        if (!lane.verdict || std::exchange(lane.told, true))
            continue;
        for (uint32_t i = lane.first; i < lane.end; i++)
            if (batch.runs[i].code == Run::kOpen)
                batch.fail_run(batch.runs[i], *lane.verdict);
    }
}

}  // namespace dds
