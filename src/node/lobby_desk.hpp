// Who answers in a lobby.  Private to the room.
#pragma once

#include <map>
#include <mutex>
#include <vector>

#include "node/lobby.hpp"
#include "node/lobby_message.hpp"

namespace dds {

class Lobby::Desk final : public Service {
public:
    Desk(const std::array<unsigned char, 16>& store, uint64_t incarnation);
    Result<void> open(Fd door);
    int fd() const { return epoll_.get(); }

    int64_t serve() override;
    void close() override;

    void offer(uint32_t id, const Segment& segment, std::shared_ptr<const void> keep);
    void withdraw(uint32_t id);

private:
    struct Visit {
        Fd fd;
        int64_t since = 0;   // a stranger's; 0 once it has said hello
        bool owing = false;  // asked for `id` and not answered yet
        uint32_t id = 0;
    };
    struct Offer {
        int fd;
        size_t bytes;
        std::shared_ptr<const void> keep;
    };

    void admit();
    void seat(Fd fd);
    Visit* place();
    Visit* oldest_stranger();
    void attend(Visit& visit, uint32_t events);
    Result<void> hear(Visit& visit, std::span<const std::byte> bytes);
    Result<void> welcome(Visit& visit, const LobbyMessage& hello);
    Result<bool> answer(const Visit& visit);
    Result<void> settle(Visit& visit);
    void refuse(int fd, int code);
    void listen_to(const Visit& visit, uint32_t events);
    void open_door(bool open);
    void drop(Visit& visit);

    const std::array<unsigned char, 16> store_;
    const uint64_t incarnation_;
    Fd epoll_, door_;
    int64_t shut_until_ = 0;     // the door, for want of descriptors
    std::vector<Visit> visits_;  // as many as may be; those under way have a descriptor

    std::mutex mutex_;  // of what follows: the program's threads change it
    std::map<uint32_t, Offer> offers_;
};

}  // namespace dds
