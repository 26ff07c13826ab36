#include "store/variable_card.hpp"

#include <cstring>

#include "base/checked.hpp"

namespace dds {
namespace {

constexpr uint32_t kFlags = DDS_NOCOPY | DDS_HUGEPAGES;
constexpr size_t kMaxMeta = 64 << 10, kMaxName = 255;
constexpr int kMaxDims = 8;

bool is_utf8(const unsigned char* s, size_t n)
{
    for (size_t i = 0; i < n;) {
        const unsigned char c = s[i];
        const size_t more = c < 0x80                ? 0
                            : c >= 0xc2 && c < 0xe0 ? 1
                            : c >= 0xe0 && c < 0xf0 ? 2
                            : c >= 0xf0 && c < 0xf5 ? 3
                                                    : kMaxName;
        if (more >= n - i)
            return false;
        for (size_t k = 1; k <= more; k++)
            if ((s[i + k] & 0xc0) != 0x80)
                return false;
        // Overlong forms, surrogates and what is past U+10FFFF.
        if ((c == 0xe0 && s[i + 1] < 0xa0) || (c == 0xed && s[i + 1] > 0x9f) ||
            (c == 0xf0 && s[i + 1] < 0x90) || (c == 0xf4 && s[i + 1] > 0x8f))
            return false;
        i += more + 1;
    }
    return true;
}

uint64_t hash_bytes(const void* data, size_t bytes)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ static_cast<const unsigned char*>(data)[i]) * 0x100000001b3u;
    return hash;
}

Result<void> check_shape(const VariableSpec& spec)
{
    const dds_var_options_t& o = spec.options;
    if (o.ndim < 0 || o.ndim > kMaxDims || (o.ndim > 0 && !o.shape))
        return fail(DDS_ERR_ARG,
                    "variable \"%s\": a row has 0 to %d dimensions and a shape, not %d", spec.name,
                    kMaxDims, o.ndim);
    int64_t product = 1;
    for (int32_t i = 0; i < o.ndim; i++) {
        const auto next = o.shape[i] < 0 ? std::nullopt : checked_mul(product, o.shape[i]);
        if (!next)
            return fail(DDS_ERR_ARG, "variable \"%s\": extent %d of a row is %lld", spec.name, i,
                        static_cast<long long>(o.shape[i]));
        product = *next;
    }
    if (o.ndim > 0 && product != spec.disp)
        return fail(DDS_ERR_ARG,
                    "variable \"%s\": the shape of a row has %lld elements, disp is %lld",
                    spec.name, static_cast<long long>(product), static_cast<long long>(spec.disp));
    return {};
}

Result<void> check_sizes(const VariableSpec& spec, size_t itemsize)
{
    const auto row = checked_mul(spec.disp, static_cast<int64_t>(itemsize));
    if (!row || !checked_mul(*row, spec.nrows))
        return fail(DDS_ERR_OVERFLOW,
                    "variable \"%s\": %lld rows of %lld elements of %zu bytes pass "
                    "2^63 bytes",
                    spec.name, static_cast<long long>(spec.nrows),
                    static_cast<long long>(spec.disp), itemsize);
    return {};
}

std::string type_text(int type)
{
    static constexpr const char* kNames[] = {
        "0",      "bool",   "int8",    "int16",    "int32",   "int64",   "uint8",     "uint16",
        "uint32", "uint64", "float16", "bfloat16", "float32", "float64", "complex64", "complex128"};
    if (type > 0 && type < static_cast<int>(std::size(kNames)))
        return kNames[type];
    return "DDS_BYTES(" + std::to_string(type_size(type)) + ")";
}

Error differs(const VariableCard& first, int first_rank, int other_rank, const char* what,
              const std::string& a, const std::string& b)
{
    return fail_rank(DDS_ERR_MISMATCH, other_rank,
                     "variable \"%s\": rank %d gives %s %s, rank %d gives "
                     "%s",
                     first.name, first_rank, what, a.c_str(), other_rank, b.c_str());
}

}  // namespace

size_t type_size(int type)
{
    static constexpr size_t kSizes[] = {0, 1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8, 8, 16};
    if (type > 0 && type < static_cast<int>(std::size(kSizes)))
        return kSizes[type];
    if (type > 0x40000000 && type < 0x7fffffff && (type & 0x40000000))
        return static_cast<size_t>(type & 0x3fffffff);
    return type == 0x7fffffff ? 0x3fffffff : 0;
}

Result<void> check_name(const char* name)
{
    if (!name)
        return fail(DDS_ERR_ARG, "name is NULL");
    const size_t n = strnlen(name, kMaxName + 1);
    if (n == 0 || n > kMaxName)
        return fail(DDS_ERR_ARG, "a name of %s bytes: it has 1 to %zu", n ? "more than 255" : "0",
                    kMaxName);
    if (!is_utf8(reinterpret_cast<const unsigned char*>(name), n))
        return fail(DDS_ERR_ARG, "a name is not valid UTF-8");
    return {};
}

Result<VariableCard> make_card(const VariableSpec& spec)
{
    const dds_var_options_t& o = spec.options;
    DDS_TRY(check_name(spec.name));
    if (spec.nrows < 0 || spec.disp < 0)
        return fail(DDS_ERR_ARG, "variable \"%s\": %lld rows of %lld elements", spec.name,
                    static_cast<long long>(spec.nrows), static_cast<long long>(spec.disp));
    const size_t itemsize = type_size(spec.type);
    if (itemsize == 0)
        return fail(DDS_ERR_TYPE, "variable \"%s\": %d is no element type", spec.name, spec.type);
    if (o.flags & ~kFlags)
        return fail(DDS_ERR_ARG, "variable \"%s\": flags 0x%x have unknown bits", spec.name,
                    o.flags);
    if (o.memory != DDS_MEM_HOST || o.device != 0)
        return fail(DDS_ERR_UNSUPPORTED,
                    "variable \"%s\": memory kind %d of device %d: this release "
                    "has host memory only",
                    spec.name, o.memory, o.device);
    if (o.reserved != 0)
        return fail(DDS_ERR_ARG, "variable \"%s\": a reserved field is not 0", spec.name);
    if (o.meta_bytes > kMaxMeta || (o.meta_bytes && !o.meta))
        return fail(DDS_ERR_ARG,
                    "variable \"%s\": meta has at most %zu bytes and an address, not %zu",
                    spec.name, kMaxMeta, o.meta_bytes);
    DDS_TRY(check_shape(spec));
    DDS_TRY(check_sizes(spec, itemsize));

    VariableCard card{};
    card.nrows = spec.nrows;
    card.disp = spec.disp;
    for (int32_t i = 0; i < o.ndim; i++)
        card.shape[i] = o.shape[i];
    card.meta_hash = hash_bytes(o.meta, o.meta_bytes);
    card.meta_bytes = static_cast<uint32_t>(o.meta_bytes);
    card.flags = o.flags;
    card.type = spec.type;
    card.memory = o.memory;
    card.ndim = o.ndim;
    card.name_bytes = static_cast<uint16_t>(strlen(spec.name));
    memcpy(card.name, spec.name, card.name_bytes);
    return card;
}

Result<void> compare_cards(const VariableCard& a, int a_rank, const VariableCard& b, int b_rank)
{
    const auto text = [](auto value) { return std::to_string(value); };
    if (a.name_bytes != b.name_bytes || memcmp(a.name, b.name, sizeof a.name) != 0)
        return fail_rank(DDS_ERR_MISMATCH, b_rank,
                         "rank %d names variable \"%s\", rank %d names \"%s\"", a_rank, a.name,
                         b_rank, b.name);
    if (a.type != b.type)
        return differs(a, a_rank, b_rank, "type", type_text(a.type), type_text(b.type));
    if (a.disp != b.disp)
        return differs(a, a_rank, b_rank, "disp", text(a.disp), text(b.disp));
    if (a.flags != b.flags)
        return differs(a, a_rank, b_rank, "flags", text(a.flags), text(b.flags));
    if (a.memory != b.memory)
        return differs(a, a_rank, b_rank, "memory", text(a.memory), text(b.memory));
    if (a.ndim != b.ndim)
        return differs(a, a_rank, b_rank, "ndim", text(a.ndim), text(b.ndim));
    for (int i = 0; i < a.ndim; i++)
        if (a.shape[i] != b.shape[i])
            return differs(a, a_rank, b_rank, "shape extent", text(a.shape[i]), text(b.shape[i]));
    if (a.meta_bytes != b.meta_bytes || a.meta_hash != b.meta_hash)
        return differs(a, a_rank, b_rank, "meta of", text(a.meta_bytes) + " bytes",
                       text(b.meta_bytes) + " other bytes");
    return {};
}

}  // namespace dds
