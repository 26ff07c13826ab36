#include "base/readers.hpp"

#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <memory>
#include <new>

#include "base/clock.hpp"

namespace dds {
namespace {

// Slots in chunks that are never freed: a reader may be looked at any time.
struct Chunk {
    static constexpr uint32_t kSlots = 64;
    std::array<Reader, kSlots> slots;
    std::atomic<Chunk*> next{nullptr};
};
Chunk first;

bool membarrier_ready()
{
    static const bool ready =
        syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
    return ready;
}
[[maybe_unused]] const bool registered_at_load = membarrier_ready();

// Every running thread of the process has passed a full barrier when this returns.
void fence_all_threads()
{
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (!membarrier_ready() || syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) != 0)
        syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);  // slow, and always there
    std::atomic_thread_fence(std::memory_order_seq_cst);
}

struct Leave {
    Reader* reader = nullptr;
    ~Leave()
    {
        if (reader)
            reader->taken.store(false, std::memory_order_release);
    }
};

bool left_in_time(const std::atomic<uint64_t>& slot, uint64_t token, int64_t deadline)
{
    const uint64_t seen = slot.load(std::memory_order_acquire);
    if (seen == 0 || static_cast<uint32_t>(seen) != static_cast<uint32_t>(token))
        return true;
    while (slot.load(std::memory_order_acquire) == seen) {
        if (clock::now() >= deadline)
            return false;
        sched_yield();
    }
    return true;
}

}  // namespace

constinit thread_local Reader* Readers::current_ = nullptr;

Reader* Readers::enrol()
{
    static thread_local Leave leave;
    uint32_t index = 0;
    for (Chunk* chunk = &first;; chunk = chunk->next.load(std::memory_order_acquire)) {
        for (Reader& reader : chunk->slots) {
            if (!reader.taken.exchange(true, std::memory_order_acquire)) {
                reader.index = index;
                reader.version = 0;
                leave.reader = &reader;
                return current_ = &reader;
            }
            index++;
        }
        if (!chunk->next.load(std::memory_order_acquire)) {
            std::unique_ptr<Chunk> more(new (std::nothrow) Chunk);
            if (!more)
                return nullptr;
            Chunk* none = nullptr;
            if (chunk->next.compare_exchange_strong(none, more.get(), std::memory_order_acq_rel))
                static_cast<void>(more.release());
        }
    }
}

bool Readers::wait_for(uint64_t token, int64_t ns)
{
    fence_all_threads();
    const int64_t deadline = clock::now() + ns;
    for (Chunk* chunk = &first; chunk; chunk = chunk->next.load(std::memory_order_acquire)) {
        for (Reader& reader : chunk->slots) {
            // This thread's own use ends with the call; what it holds outside a callback does not
            // end while we wait.
            const bool own = &reader == current_;
            if (!own && !left_in_time(reader.using_, token, deadline))
                return false;
            for (const auto& held : reader.held)
                if (!left_in_time(held, token, own ? 0 : deadline))
                    return false;
        }
    }
    return true;
}

Readers::Hold::Hold() : reader_(mine())
{
    if (!reader_)
        return;
    used_ = reader_->using_.load(std::memory_order_relaxed);
    if (used_ && reader_->depth < Reader::kHeld)
        reader_->held[static_cast<size_t>(reader_->depth)].store(used_, std::memory_order_release);
    reader_->depth++;
    withdraw(reader_);
}

Readers::Hold::~Hold()
{
    if (!reader_)
        return;
    reader_->depth--;
    // The use goes back to its own slot before its place among the held is cleared.
    reader_->using_.store(used_, std::memory_order_release);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (reader_->depth < Reader::kHeld)
        reader_->held[static_cast<size_t>(reader_->depth)].store(0, std::memory_order_release);
}

}  // namespace dds
