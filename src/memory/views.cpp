#include "memory/views.hpp"

#include <map>
#include <mutex>
#include <set>

#include "base/fork.hpp"

namespace dds::views {
namespace {

struct View {
    std::shared_ptr<Arena> arena;
    size_t count = 0;
};

ForkSafeMutex mutex;
std::map<const void*, View>& held()
{
    // Never destroyed: views may be given back by destructors of the program that run at exit.
    static auto* views = new std::map<const void*, View>;
    return *views;
}

}  // namespace

void add(const void* data, const std::shared_ptr<Arena>& arena)
{
    const std::lock_guard lock(mutex);
    View& view = held()[data];
    view.arena = arena;
    view.count++;
}

bool remove(const void* data)
{
    std::shared_ptr<Arena> last;  // closed after the lock
    const std::lock_guard lock(mutex);
    const auto at = held().find(data);
    if (at == held().end())
        return false;
    if (--at->second.count == 0) {
        last = std::move(at->second.arena);
        held().erase(at);
    }
    return true;
}

size_t parked_bytes()
{
    const std::lock_guard lock(mutex);
    std::set<const Arena*> counted;
    size_t sum = 0;
    for (const auto& [data, view] : held())
        if (view.arena && view.arena->orphan && counted.insert(view.arena.get()).second)
            sum += view.arena->used;
    return sum;
}

}  // namespace dds::views
