#include "base/readers.hpp"

#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <memory>
#include <new>

#include "base/clock.hpp"

namespace dds {

// Slots in chunks that are never freed: a reader may be looked at any time.
struct Chunk {
    static constexpr uint32_t kSlots = 64;
    std::array<Reader, kSlots> slots;
    std::atomic<Chunk*> next{nullptr};
};

namespace {

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

// The uses of the token that a thread has announced, in its own slot or held around callbacks.
struct Uses {
    bool any = false;
    uint32_t oldest = 0, newest = 0;

    void add(const std::atomic<uint64_t>& place, uint32_t token, uint32_t mask)
    {
        const uint64_t use = place.load(std::memory_order_acquire);
        if (use == 0 || (static_cast<uint32_t>(use) & mask) != token)
            return;
        const auto count = static_cast<uint32_t>(use >> 32);
        if (!any || before(count, oldest))
            oldest = count;
        if (!any || before(newest, count))
            newest = count;
        any = true;
    }
    static bool before(uint32_t a, uint32_t b) { return static_cast<int32_t>(a - b) < 0; }
};

// A use that moves between slot and held meanwhile must not be missed in both.
Uses uses_of(const Reader& reader, uint32_t token, uint32_t mask)
{
    for (;;) {
        const uint32_t moves = reader.moves.load(std::memory_order_acquire);
        Uses uses;
        uses.add(reader.using_, token, mask);
        for (const auto& held : reader.held)
            uses.add(held, token, mask);
        if (moves % 2 == 0 && reader.moves.load(std::memory_order_acquire) == moves)
            return uses;
        sched_yield();
    }
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

Readers::Leaving::Leaving(uint64_t token, bool idle_too)
    : token_(static_cast<uint32_t>(token)),
      mask_(~static_cast<uint32_t>(idle_too ? kIdle : 0)),
      chunk_(&first)
{
    fence_all_threads();
}

bool Readers::Leaving::gone()
{
    for (; chunk_; chunk_ = chunk_->next.load(std::memory_order_acquire), slot_ = 0) {
        for (; slot_ < Chunk::kSlots; slot_++, met_ = false) {
            const Reader& reader = chunk_->slots[slot_];
            if (&reader == current_)
                continue;  // its use ends with the call
            const Uses uses = uses_of(reader, token_, mask_);
            // Uses that began later have seen that the token is dead, or soon will.
            if (!uses.any || (met_ && Uses::before(last_, uses.oldest)))
                continue;
            if (!met_)
                last_ = uses.newest;
            met_ = true;
            return false;
        }
    }
    return true;
}

bool Readers::held_here(uint64_t token)
{
    Uses uses;
    if (current_)
        for (const auto& held : current_->held)
            uses.add(held, static_cast<uint32_t>(token), ~static_cast<uint32_t>(kIdle));
    return uses.any;
}

bool Readers::wait_for(uint64_t token, int64_t ns)
{
    if (held_here(token))
        return false;
    Leaving leaving(token, true);
    const int64_t deadline = clock::now() + ns;
    while (!leaving.gone()) {
        if (clock::now() >= deadline)
            return false;
        sched_yield();
    }
    return true;
}

Readers::Hold::Hold() : reader_(mine())
{
    if (!reader_)
        return;
    used_ = reader_->using_.load(std::memory_order_relaxed);
    reader_->moves.fetch_add(1, std::memory_order_acq_rel);
    if (used_ && reader_->depth < Reader::kHeld)
        reader_->held[static_cast<size_t>(reader_->depth)].store(used_, std::memory_order_release);
    reader_->depth++;
    withdraw(reader_);
    reader_->moves.fetch_add(1, std::memory_order_release);
}

Readers::Hold::~Hold()
{
    if (!reader_)
        return;
    reader_->depth--;
    reader_->moves.fetch_add(1, std::memory_order_acq_rel);
    reader_->using_.store(used_, std::memory_order_release);
    if (reader_->depth < Reader::kHeld)
        reader_->held[static_cast<size_t>(reader_->depth)].store(0, std::memory_order_release);
    reader_->moves.fetch_add(1, std::memory_order_release);
}

}  // namespace dds
