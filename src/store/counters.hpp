// What dds_stats tells of reads.  Each thread counts in a block of its own, so that a read writes
// nothing that another thread reads; blocks are summed when somebody asks.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "base/readers.hpp"

namespace dds {

struct alignas(128) Counters {
    static constexpr int kPaths = 8;
    std::array<std::atomic<uint64_t>, kPaths> rows{}, bytes{};

    // Only the block's thread adds, so a plain load and store are enough.
    void add(int path, uint64_t more_rows, uint64_t more_bytes)
    {
        bump(rows[static_cast<size_t>(path)], more_rows);
        bump(bytes[static_cast<size_t>(path)], more_bytes);
    }

private:
    static void bump(std::atomic<uint64_t>& count, uint64_t more)
    {
        count.store(count.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
    }
};

class CounterBlocks {
public:
    ~CounterBlocks()
    {
        for (auto& block : blocks_)
            delete block.load(std::memory_order_relaxed);
    }

    // The block of this reader; past kMost threads at a time some share one and may lose counts.
    Counters* of(const Reader& reader)
    {
        auto& place = blocks_[reader.index % kMost];
        if (Counters* block = place.load(std::memory_order_acquire)) [[likely]]
            return block;
        auto made = std::make_unique<Counters>();
        Counters* none = nullptr;
        if (place.compare_exchange_strong(none, made.get(), std::memory_order_acq_rel))
            return made.release();
        return none;
    }

    void sum(uint64_t (&rows)[Counters::kPaths], uint64_t (&bytes)[Counters::kPaths]) const
    {
        for (const auto& place : blocks_) {
            const Counters* block = place.load(std::memory_order_acquire);
            for (size_t path = 0; block && path < Counters::kPaths; path++) {
                rows[path] += block->rows[path].load(std::memory_order_relaxed);
                bytes[path] += block->bytes[path].load(std::memory_order_relaxed);
            }
        }
    }

private:
    static constexpr size_t kMost = 1024;
    std::array<std::atomic<Counters*>, kMost> blocks_{};
};

}  // namespace dds
