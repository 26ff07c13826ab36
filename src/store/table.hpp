// Names to variables.  Reads look up without a lock: cells are filled once, a drop leaves a grave,
// and a grown table replaces the old one, which is freed when no reader can still be in it.  Adds and
// drops are collective calls, one at a time.
#pragma once

#include <emmintrin.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <vector>

#include "base/readers.hpp"
#include "store/variable.hpp"

namespace dds {

// A name as it is looked up: names up to 15 bytes are their own key, longer ones are compared whole.
struct NameKey {
    alignas(16) unsigned char bytes[16];
    bool is_short;

    explicit NameKey(const char* name);
};

class Table {
public:
    Table();
    ~Table();

    // A number that no other state of any table has: what a thread remembers is valid while it holds.
    uint64_t version() const { return version_.load(std::memory_order_acquire); }

    Variable* find(const NameKey& key, const char* name) const;
    std::shared_ptr<Variable> share(const char* name) const;
    // Makes room for one insert, which then cannot fail.
    void prepare();
    void insert(std::shared_ptr<Variable> variable);
    // Unreachable for new readers on return; the caller waits for the old ones, then lets go of it.
    std::shared_ptr<Variable> remove(const char* name);
    // No name is found any more; what reads on at this moment may.
    void close();
    // The caller has seen that no reader is left in what insert and remove replaced.
    void collect();

    std::vector<std::shared_ptr<Variable>> all() const;  // in order of creation
    size_t count() const;
    // The same in a forked child, of a table that another thread may have been changing.
    std::vector<Variable*> inherited() const;

private:
    struct Cells;

    void put(Cells& cells, Variable* variable) const;
    void changed();

    std::atomic<uint64_t> version_;
    std::atomic<Cells*> cells_;
    std::vector<std::unique_ptr<Cells>> retired_;
    mutable std::mutex mutex_;  // of what follows: lists against adds and drops
    std::vector<std::shared_ptr<Variable>> variables_;
    size_t used_ = 0;  // cells, graves too
};

// Whether the 16 bytes at a name may be read at once: not across the end of its page, and not where a
// sanitizer would object.
inline bool readable_at_once(const char* name)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    constexpr bool kAllowed = false;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
    constexpr bool kAllowed = false;
#else
    constexpr bool kAllowed = true;
#endif
#else
    constexpr bool kAllowed = true;
#endif
    return kAllowed && (reinterpret_cast<uintptr_t>(name) & 4095) <= 4096 - 16;
}

inline NameKey::NameKey(const char* name)
{
    char copy[16];
    if (!readable_at_once(name)) [[unlikely]] {
        memset(copy, 0, sizeof copy);
        memcpy(copy, name, strnlen(name, sizeof copy));
        name = copy;
    }
    alignas(16) static constexpr uint8_t kMask[32] = {255, 255, 255, 255, 255, 255, 255, 255,
                                                      255, 255, 255, 255, 255, 255, 255, 255};
    __m128i x = _mm_loadu_si128(reinterpret_cast<const __m128i*>(name));
    const auto zeros =
        static_cast<unsigned>(_mm_movemask_epi8(_mm_cmpeq_epi8(x, _mm_setzero_si128())));
    is_short = zeros != 0;
    if (is_short) [[likely]]
        x = _mm_and_si128(
            x,
            _mm_loadu_si128(reinterpret_cast<const __m128i*>(kMask + 16 - __builtin_ctz(zeros))));
    _mm_store_si128(reinterpret_cast<__m128i*>(bytes), x);
}

}  // namespace dds
