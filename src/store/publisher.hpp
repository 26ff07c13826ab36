// What a core job does for readers of other jobs (method 2): every rank shows its arenas in a lobby,
// and rank 0 keeps the records on the shelf.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "memory/arena.hpp"
#include "node/lobby.hpp"
#include "store/shelf.hpp"

namespace dds {

class Publisher {
public:
    static Result<std::unique_ptr<Publisher>> open(const std::string& directory,
                                                   const StoreId& store, uint64_t incarnation);
    ~Publisher();  // takes the records away first

    const std::string& socket() const { return lobby_->name(); }
    void show(const std::shared_ptr<Arena>& arena)
    {
        lobby_->offer(arena->id, arena->segment, arena);
    }
    void hide(uint32_t arena) { lobby_->withdraw(arena); }

    // Rank 0's.
    Result<void> put(CoreRecord record);
    Result<void> put(VariableRecord record);
    Result<void> put_version(const std::string& name, int64_t version);
    void remove(std::string name);

private:
    Publisher(Shelf shelf, std::unique_ptr<Lobby> lobby, const StoreId& store)
        : shelf_(std::move(shelf)), lobby_(std::move(lobby)), store_(store)
    {
    }

    Shelf shelf_;
    std::unique_ptr<Lobby> lobby_;
    StoreId store_;
    uint64_t epoch_ = 0;  // 0: no core record
    uint64_t sequence_ = 0;
    std::map<std::string, VariableRecord> records_;
};

}  // namespace dds
