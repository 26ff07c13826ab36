// Who is reading now.  Each thread has a slot of its own in which it announces what it uses with a
// plain store; whoever takes something away makes it unreachable, fences all threads at once
// (membarrier) and waits for the slots that still hold it.  So a read writes nothing shared, and the
// rare writer pays.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace dds {

struct Chunk;  // of slots

struct alignas(128) Reader {
    std::atomic<uint64_t> using_{0};  // count << 32 | low half of the token; 0: nothing
    uint32_t count = 0;
    uint32_t index = 0;  // unique among the slots, reused by later threads

    // The thread's last variable (store/lookup): valid while `version` is the table's.
    uint64_t version = 0;
    alignas(16) unsigned char key[16] = {};
    void* variable = nullptr;
    void* counters = nullptr;
    const void* quick = nullptr;  // the same where one small row of it is read without a call
    uint32_t name_bits = 0;       // which of the key's bytes the name has, its end included

    // What the thread used when it called a callback of the user, which may call us again.
    static constexpr int kHeld = 8;
    std::array<std::atomic<uint64_t>, kHeld> held{};
    std::atomic<uint32_t> moves{0};  // of a use between its own slot and these; odd: under way
    int depth = 0;

    std::atomic<bool> taken{false};
};

class Readers {
public:
    // This thread's slot; given back when the thread ends.  NULL only without memory.
    static Reader* mine()
    {
        Reader* reader = current_;
        if (reader) [[likely]]
            return reader;
        return enrol();
    }
    static Reader* known() { return current_; }  // NULL: this thread has not read yet
    // Announce and withdraw the use of what `token` stands for; nothing of it may be touched before
    // the caller has seen, after this, that the token is still live.
    static void announce(Reader* reader, uint64_t token)
    {
        const uint64_t count = ++reader->count;
        reader->using_.store(count << 32 | static_cast<uint32_t>(token), std::memory_order_relaxed);
        std::atomic_signal_fence(std::memory_order_seq_cst);
    }
    // A token's bit 1 is free for this: its thread is inside, and touches nothing for the time being.
    static constexpr uint64_t kIdle = 2;
    static void withdraw(Reader* reader) { reader->using_.store(0, std::memory_order_release); }

    // After the token was made dead for new readers: whether those that still used it then have left.
    // Looks at one slot after another, so that it needs no memory.
    class Leaving {
    public:
        // `idle_too`: also those that touch nothing now, but will.
        Leaving(uint64_t token, bool idle_too);
        bool gone();  // never waits

    private:
        uint32_t token_, mask_;
        Chunk* chunk_;
        uint32_t slot_ = 0;
        bool met_ = false;   // a use was seen in this slot,
        uint32_t last_ = 0;  // and this is the last that counts
    };
    // Whether this thread itself holds a use around a callback: that does not end while it waits.
    static bool held_here(uint64_t token);
    // Leaving, idle ones too, waited for at most `ns`; false where a use has not ended, or is held here.
    static bool wait_for(uint64_t token, int64_t ns);

    // Around a wait in which the thread touches nothing of what it uses, but that it must be there.
    class Idle {
    public:
        Idle() : reader_(mine()) { set(kIdle); }
        ~Idle() { set(0); }
        Idle(const Idle&) = delete;
        Idle& operator=(const Idle&) = delete;

    private:
        void set(uint64_t bit)
        {
            const uint64_t use = reader_ ? reader_->using_.load(std::memory_order_relaxed) : 0;
            if (use)
                reader_->using_.store((use & ~kIdle) | bit, std::memory_order_release);
            std::atomic_signal_fence(std::memory_order_seq_cst);
        }
        Reader* reader_;
    };

    // Around a callback of the user: it may call the library in this thread.
    class Hold {
    public:
        Hold();
        ~Hold();
        Hold(const Hold&) = delete;
        Hold& operator=(const Hold&) = delete;

    private:
        Reader* reader_;
        uint64_t used_ = 0;
    };

private:
    static Reader* enrol();
    // Initial-exec: one load, where __tls_get_addr costs 25 ns a read (and 8 bytes of static TLS
    // are always left for a library that is loaded late).
    static constinit thread_local Reader* current_ __attribute__((tls_model("initial-exec")));
};

}  // namespace dds
