#include "node/lobby_message.hpp"

#include <cstring>

namespace dds {

LobbyMessage LobbyMessage::make(Kind kind)
{
    LobbyMessage message{};
    message.magic = kMagic;
    message.version = kVersion;
    message.kind = kind;
    message.length = sizeof message;
    return message;
}

Result<LobbyMessage> LobbyMessage::parse(std::span<const std::byte> bytes)
{
    constexpr size_t kHead = offsetof(LobbyMessage, id);
    LobbyMessage message{};
    if (bytes.size() >= kHead)
        memcpy(&message, bytes.data(), kHead);
    if (message.magic != kMagic || message.length != bytes.size())
        return fail(DDS_ERR_CORRUPT, "a message of %zu bytes is none of ddstore's", bytes.size());
    if (message.version != kVersion)
        return fail(DDS_ERR_VERSION,
                    "a message of version %u where this library speaks version %u: use the same "
                    "release of ddstore in both programs",
                    message.version, kVersion);
    if (bytes.size() != sizeof message)
        return fail(DDS_ERR_CORRUPT, "a message has %zu bytes instead of %zu", bytes.size(),
                    sizeof message);
    memcpy(&message, bytes.data(), sizeof message);
    if (message.kind < kHello || message.kind > kAnswer || message.code > DDS_ERR_INTERNAL)
        return fail(DDS_ERR_CORRUPT, "a message of kind %u with code %u", message.kind,
                    message.code);
    return message;
}

}  // namespace dds
