// The windows of one store, and what becomes of them.  Freeing one is a call of all its ranks that
// waits for them, and dds_free waits for nobody: then they stay until the same ranks meet again, in
// the next dds_init or in MPI_Finalize, and the memory behind them until all have freed the store.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "comm/mpi.hpp"

namespace dds {

struct MpiWindow {
    Mpi::Handle handle;
    std::shared_ptr<const void> keep;  // our part of it, where it is the library's memory
    size_t bytes = 0;                  // of that
    int live = 0;                      // segments of all ranks that are still attached
    bool spoilt = false;               // some rank may not have it: it cannot be freed
};

using StoreId = std::array<unsigned char, 16>;

class MpiWindows : public std::enable_shared_from_this<MpiWindows> {
public:
    static std::shared_ptr<MpiWindows> open(const StoreId& store, std::shared_ptr<Comm> comm);

    size_t count() const { return all_.size(); }
    void ready();  // take the memory that the next add() needs
    // Collective: one window more, of this rank's memory, under its lock for life.
    Result<std::shared_ptr<MpiWindow>> add(std::span<std::byte> memory,
                                           std::shared_ptr<const void> keep, int segments);
    Result<void> sync() const;
    Result<void> free_unused();  // collective
    // The store is freed; `lost`: reads of ours that were given up and are under way still.  Local.
    void park(std::shared_ptr<const std::atomic<int>> lost);

    // Stores of so many ranks that all of them have freed, the least that there is room for, in order:
    // what a rank tells in dds_init.
    static void parked(int size, std::span<StoreId> known);
    // All ranks of that store told the same: what is left of it goes.  Collective.
    static Result<void> free_parked(const StoreId& store);

private:
    class Waiting;
    MpiWindows(const StoreId& store, std::shared_ptr<Comm> comm);
    static void at_finalize(const Mpi* mpi);
    Result<void> free_these(std::span<const std::shared_ptr<MpiWindow>> windows) const;
    Result<void> meet();  // start the barrier
    void forget();

    const StoreId store_;
    std::shared_ptr<Comm> comm_;
    const MpiGroup group_;
    std::vector<std::shared_ptr<MpiWindow>> all_;
    std::shared_ptr<MpiWindow> next_;
    std::shared_ptr<const std::atomic<int>> lost_;
    std::unique_ptr<Mpi::Cell> barrier_;  // of the ranks that have freed the store
    bool ended_ = false;                  // MPI_Finalize has seen to it
    std::atomic<bool> left_{false};       // and it has ended: nobody reads any more
};

}  // namespace dds
