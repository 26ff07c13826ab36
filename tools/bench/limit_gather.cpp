#include "limit_gather.hpp"

namespace bench {
namespace {

struct Isa {
    const char* name;
    limit_gather_fn* gather;
    const limit_one* ones;
    bool runs;
};

std::vector<Isa> isas()
{
    __builtin_cpu_init();
    return {
        {"sse2", limit_gather_sse2, limit_one_sse2, true},
        {"avx2", limit_gather_avx2, limit_one_avx2, __builtin_cpu_supports("avx2") != 0},
        {"avx512", limit_gather_avx512, limit_one_avx512, __builtin_cpu_supports("avx512f") != 0}};
}

constexpr size_t kMostPrimed = 65536;

const char* const kCopies[LIMIT_COPIES] = {"memcpy", "loop", "streaming", "rep movsb"};

std::string name_of(const Isa& isa, const limit_how& how)
{
    std::string name = kCopies[how.copy];
    if (how.copy == LIMIT_VECTOR || how.copy == LIMIT_STREAM)
        name = isa.name + (" " + name);
    name += " gather";
    if (how.block)
        name += ", blocks of " + std::to_string(how.block);
    if (how.ahead)
        name += ", " + std::to_string(how.ahead) + " ahead";
    return how.list ? name + ", listed" : name;
}

bool of_any_isa(int copy) { return copy == LIMIT_MEMCPY || copy == LIMIT_STRING; }

// What cannot win for this size was left out after it had lost on every machine that we measured.
bool may_win(const limit_how& how, size_t row, int64_t n, int shards)
{
    if (row > 65536 && (how.block == 1024 || how.ahead > 8192))
        return false;
    if (n == 1 && !how.block && (how.ahead || (how.list && shards <= 2)))
        return false;
    if (how.copy == LIMIT_STREAM && row < 1024)
        return false;
    return how.copy != LIMIT_STRING || row >= 512;
}

std::vector<limit_how> hows(size_t row, int64_t n, int shards, bool all)
{
    std::vector<limit_how> list;
    for (int copy = 0; copy < LIMIT_COPIES; copy++)
        for (const size_t block : {0, 1024, 4096})
            for (const size_t ahead : {0, 2048, 4096, 8192, 16384})
                for (const int listed : {0, 1}) {
                    const limit_how how{copy, listed, block, ahead};
                    const bool same =
                        (block && (row <= block || !ahead)) || (shards > 2 && !listed);
                    if (!same && (all || (may_win(how, row, n, shards) &&
                                          (!listed || shards > 2 || row <= 4096))))
                        list.push_back(how);
                }
    return list;
}

}  // namespace

std::vector<GatherVariant> gather_variants(size_t row, int64_t n, int shards, bool all)
{
    std::vector<GatherVariant> variants;
    const auto known = isas();
    size_t best = known.size() - 1;
    while (!known[best].runs)
        best--;
    for (const limit_how& how : hows(row, n, shards, all))
        for (size_t i = 0; i <= best; i++) {
            const bool once = of_any_isa(how.copy) ? i == 0 : all || i == best;
            if (known[i].runs && once)
                variants.push_back({name_of(known[i], how), known[i].gather, how});
        }
    return variants;
}

std::vector<Side> one_sides(const limit_shards& shards)
{
    std::vector<Side> sides;
    const size_t row = shards.row;
    const auto add = [&](const std::string& name, limit_one_fn* read) {
        sides.push_back({name, [=, &shards](const int64_t* rows, int64_t calls, char* out) {
                             for (int64_t c = 0; c < calls; c++, out += row)
                                 read(&shards, rows[c], out);
                         }});
    };
    for (const Isa& isa : isas())
        for (int copy = 0; isa.runs && copy < LIMIT_COPIES; copy++) {
            const limit_one& one = isa.ones[copy];
            if (!one.plain || (of_any_isa(copy) && isa.gather != limit_gather_sse2) ||
                !may_win({copy, 0, 0, 0}, row, 1, shards.n))
                continue;
            std::string name = kCopies[copy];
            if (!of_any_isa(copy))
                name = isa.name + (" " + name);
            add(name + " of one row", one.plain);
            if (row > 64 && row <= kMostPrimed)
                add(name + " of one row, prefetched", one.primed);
        }
    return sides;
}

Side gather_side(const GatherVariant& variant, const limit_shards& shards, int64_t n)
{
    return {variant.name, [=, &shards](const int64_t* rows, int64_t calls, char* out) {
                const size_t batch = static_cast<size_t>(n) * shards.row;
                for (int64_t c = 0; c < calls; c++, rows += n, out += batch)
                    variant.gather(&shards, rows, n, out, &variant.how);
            }};
}

}  // namespace bench
