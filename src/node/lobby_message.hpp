// What a lobby and its visitors say to each other.  A pure parser: what comes from another process is
// looked at here before anything is done with it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.hpp"

namespace dds {

struct LobbyMessage {
    static constexpr uint32_t kMagic = 0x4c534444;  // "DDSL"
    static constexpr uint16_t kVersion = 1;
    static constexpr size_t kMost = 512;  // what a later version may need

    // A visitor says hello and is welcomed, then asks and is answered, one question at a time.
    enum Kind : uint16_t { kHello = 1, kWelcome, kAsk, kAnswer };

    uint32_t magic;  // these four stay as they are in every version
    uint16_t version;
    uint16_t kind;
    uint32_t length;
    uint32_t id;     // of the segment
    uint32_t code;   // welcome, answer: DDS_ERR_*
    uint32_t limit;  // welcome with LIMIT: how many visitors there are
    uint64_t bytes;  // answer: of the segment, whose descriptor comes along
    uint64_t incarnation;
    std::array<unsigned char, 16> store;

    static LobbyMessage make(Kind kind);
    // VERSION or CORRUPT where it is none of ours.
    static Result<LobbyMessage> parse(std::span<const std::byte> bytes);
    std::span<const std::byte> view() const { return std::as_bytes(std::span(this, 1)); }
};
static_assert(sizeof(LobbyMessage) == 56);

}  // namespace dds
