#include "store/table.hpp"

#include <algorithm>
#include <string_view>

namespace dds {
namespace {

constexpr size_t kFirstCells = 64;

std::atomic<uint64_t> next_version{1};

// Names are chosen by the program, not by an attacker: speed and spread are all that is asked for.
uint64_t hash_of(const NameKey& key, std::string_view name)
{
    uint64_t a = 0, b = 0;
    if (key.is_short) {
        memcpy(&a, key.bytes, 8);
        memcpy(&b, key.bytes + 8, 8);
    } else {
        for (const char c : name)
            a = (a ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    }
    a = (a ^ (b << 29 | b >> 35)) * 0x9e3779b97f4a7c15u;
    return a ^ a >> 32;
}

}  // namespace

struct Table::Cells {
    struct Cell {
        std::atomic<uint64_t> hash{0};
        std::atomic<Variable*> variable{nullptr};
        std::atomic<bool> grave{false};
    };
    explicit Cells(size_t count) : mask(count - 1), cells(count) {}
    size_t mask;
    std::vector<Cell> cells;
};

Table::Table() : version_(next_version.fetch_add(1)), cells_(new Cells(kFirstCells)) {}

Table::~Table() { delete cells_.load(); }

void Table::changed() { version_.store(next_version.fetch_add(1), std::memory_order_release); }

Variable* Table::find(const NameKey& key, const char* name) const
{
    const std::string_view text(name);
    const uint64_t hash = hash_of(key, text);
    const Cells& table = *cells_.load(std::memory_order_acquire);
    for (size_t i = hash;; i++) {
        const auto& cell = table.cells[i & table.mask];
        Variable* variable = cell.variable.load(std::memory_order_acquire);
        if (!variable) {
            if (!cell.grave.load(std::memory_order_acquire))
                return nullptr;
        } else if (cell.hash.load(std::memory_order_relaxed) == hash && variable->name == text) {
            return variable;
        }
    }
}

std::shared_ptr<Variable> Table::share(const char* name) const
{
    const std::lock_guard lock(mutex_);
    const Variable* found = find(NameKey(name), name);
    if (!found)
        return nullptr;
    // In order of creation, so the place is found by halving.
    const auto at =
        std::lower_bound(variables_.begin(), variables_.end(), found->order,
                         [](const auto& v, uint64_t order) { return v->order < order; });
    return at != variables_.end() ? *at : nullptr;
}

void Table::put(Cells& table, Variable* variable) const
{
    const uint64_t hash = hash_of(NameKey(variable->name.c_str()), variable->name);
    size_t i = hash;
    while (table.cells[i & table.mask].variable.load(std::memory_order_relaxed) ||
           table.cells[i & table.mask].grave.load(std::memory_order_relaxed))
        i++;
    auto& cell = table.cells[i & table.mask];
    cell.hash.store(hash, std::memory_order_relaxed);
    cell.variable.store(variable, std::memory_order_release);
}

void Table::prepare()
{
    const std::lock_guard lock(mutex_);
    if (variables_.size() == variables_.capacity())
        variables_.reserve(2 * variables_.size() + kFirstCells);
    Cells* cells = cells_.load(std::memory_order_relaxed);
    if (2 * (used_ + 1) <= cells->cells.size())
        return;
    size_t count = kFirstCells;
    while (count < 4 * (variables_.size() + 1))
        count *= 2;
    auto grown = std::make_unique<Cells>(count);
    for (const auto& old : variables_)
        put(*grown, old.get());
    retired_.reserve(retired_.size() + 1);
    retired_.emplace_back(cells);
    cells_.store(grown.release(), std::memory_order_release);
    used_ = variables_.size();
}

void Table::insert(std::shared_ptr<Variable> variable)
{
    const std::lock_guard lock(mutex_);
    put(*cells_.load(std::memory_order_relaxed), variable.get());
    used_++;
    variables_.push_back(std::move(variable));
}

std::shared_ptr<Variable> Table::remove(const char* name)
{
    std::shared_ptr<Variable> variable = share(name);
    const std::lock_guard lock(mutex_);
    Cells& table = *cells_.load(std::memory_order_relaxed);
    for (size_t i = hash_of(NameKey(name), name);; i++) {
        auto& cell = table.cells[i & table.mask];
        if (cell.variable.load(std::memory_order_relaxed) != variable.get())
            continue;
        cell.grave.store(true, std::memory_order_release);
        cell.variable.store(nullptr, std::memory_order_release);
        break;
    }
    std::erase(variables_, variable);
    changed();
    return variable;
}

void Table::close()
{
    const std::lock_guard lock(mutex_);
    for (auto& cell : cells_.load(std::memory_order_relaxed)->cells) {
        if (!cell.variable.load(std::memory_order_relaxed))
            continue;
        cell.grave.store(true, std::memory_order_release);
        cell.variable.store(nullptr, std::memory_order_release);
    }
    changed();
}

void Table::collect() { retired_.clear(); }

std::vector<std::shared_ptr<Variable>> Table::all() const
{
    const std::lock_guard lock(mutex_);
    return variables_;
}

std::vector<Variable*> Table::inherited() const
{
    std::vector<Variable*> found;
    for (const auto& cell : cells_.load(std::memory_order_acquire)->cells)
        if (Variable* variable = cell.variable.load(std::memory_order_acquire))
            found.push_back(variable);
    std::sort(found.begin(), found.end(),
              [](const Variable* a, const Variable* b) { return a->order < b->order; });
    return found;
}

size_t Table::count() const
{
    const std::lock_guard lock(mutex_);
    return variables_.size();
}

}  // namespace dds
