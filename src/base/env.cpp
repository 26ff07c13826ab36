// The table of environment variables and the one place where they are read and parsed.
#include "base/env.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <climits>
#include <cstdlib>
#include <string_view>

namespace dds::env {
namespace {

constexpr int64_t kWeek = 604'800;  // in ms it still fits in an int
constexpr int64_t kGibi = int64_t{1} << 30, kTebi = int64_t{1} << 40;

// clang-format off
constexpr auto table = std::to_array<Variable>({
    {"DDSTORE_TIMEOUT_S", Kind::integer, 1, kWeek, "seconds, 1 to 604800", "30",
     "deadline of reads: so long without progress"},
    {"DDSTORE_COLLECTIVE_TIMEOUT_S", Kind::integer, 1, kWeek, "seconds, 1 to 604800", "1800",
     "deadline of collective calls"},
    {"DDSTORE_HANDSHAKE_TIMEOUT_S", Kind::integer, 1, kWeek, "seconds, 1 to 604800", "300",
     "how long ranks wait to meet in a directory"},
    {"DDSTORE_HANDSHAKE_DIR", Kind::path, 1, PATH_MAX - 1, "a directory, at most 4095 bytes", "",
     "where ranks meet through files when no directory is given"},
    {"DDSTORE_NODE", Kind::text, 1, 255, "a name, 1 to 255 printable bytes", "boot id and network namespace",
     "name of this node: ranks with the same one share memory"},
    {"DDSTORE_SHM", Kind::flag, 0, 1, "0 or 1", "1",
     "0: never read through shared memory, also on one node"},
    {"DDSTORE_KERNEL", Kind::text, 1, 64, "the name of a row copy, 1 to 64 printable bytes", "auto",
     "row copy to use whatever the row size; auto: by row size and processor"},
    {"DDSTORE_MPI", Kind::flag, 0, 1, "0 or 1", "1",
     "0: refuse communicators of MPI and never look for an MPI"},
    {"DDSTORE_FABRIC", Kind::text, 1, 47, "hsn, cxi or a provider of libfabric, 1 to 47 printable bytes", "the best that works",
     "what libfabric reads with; hsn: tcp;ofi_rxm"},
    {"DDSTORE_FORK_WORKERS", Kind::flag, 0, 1, "0 or 1", "0",
     "1: forked children read through libfabric too, also over Slingshot"},
    {"DDSTORE_PROFILE", Kind::flag, 0, 1, "0 or 1", "0", "1: count reads for dds_profile"},
    {"DDSTORE_MAX_READ_BYTES", Kind::integer, 4096, kTebi, "bytes, 4096 to 1099511627776", "1073741824",
     "longest single read over a wire; longer ones are split"},
    {"DDSTORE_ALLTOALL_MAX_BYTES", Kind::integer, 4096, kGibi, "bytes, 4096 to 1073741824", "2097152",
     "most that a rank gets in a round of dds_get_batch_all between nodes; the same on all ranks"},
    {"DDSTORE_NIC_MAP", Kind::text, 1, 65'535, "a map such as hsn0=0-15;hsn1=16-31, at most 65535 bytes", "",
     "which network interface is near which CPUs, instead of what /sys says"},
    {"FABRIC_IFACE", Kind::text, 1, 63, "a network interface, 1 to 63 printable bytes", "",
     "network interface to use, instead of the nearest; before DDSTORE_NIC_MAP"},
#if DDS_TESTING
    {"DDSTORE_FAILPOINT", Kind::text, 1, 4095, "name:action[:nth],...: see base/failpoint.hpp", "",
     "what goes wrong, and where"},
    {"DDSTORE_FAILPOINT_TRACE", Kind::path, 1, PATH_MAX - 1, "a file, at most 4095 bytes", "",
     "where each failpoint that is passed leaves its name"},
    {"DDSTORE_TEST_WIRE", Kind::text, 1, 255, "the plan of a test wire, 1 to 255 printable bytes", "",
     "a wire that fails or dawdles as told"},
#endif
});
// clang-format on

// A name that is not in the table above is a slip of our own; it reads as unset.
constexpr Variable kUnknown{"", Kind::flag, 0, 1, "nothing", "", ""};

const Variable& find(std::string_view name)
{
    const auto* at = std::ranges::find(table, name, &Variable::name);
    return at == table.end() ? kUnknown : *at;
}

// secure_getenv: a set-user-id program takes nothing from whoever started it.
std::string_view raw(const Variable& variable)
{
    const char* value = secure_getenv(variable.name);
    return value ? value : std::string_view();
}

Error junk(const Variable& variable, std::string_view value)
{
    constexpr size_t kShown = 40;
    std::string shown(value.substr(0, kShown));
    for (char& c : shown)
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
            c = '?';
    return fail(DDS_ERR_ARG, "environment variable %s is '%s%s'; it takes %s", variable.name,
                shown.c_str(), value.size() > kShown ? "..." : "", variable.takes);
}

// Digits and nothing else: no sign, space, fraction or exponent.
std::optional<int64_t> parse(std::string_view value)
{
    int64_t number = 0;
    const char* end = value.data() + value.size();
    if (!std::ranges::all_of(value, [](char c) { return c >= '0' && c <= '9'; }))
        return std::nullopt;
    const auto [stopped, error] = std::from_chars(value.data(), end, number);
    if (error != std::errc() || stopped != end)
        return std::nullopt;
    return number;
}

Result<std::optional<int64_t>> number_of(const Variable& variable)
{
    const std::string_view value = raw(variable);
    if (value.empty())
        return std::optional<int64_t>();
    const auto number = parse(value);
    if (!number || *number < variable.least || *number > variable.most ||
        (variable.kind == Kind::flag && value.size() != 1))
        return junk(variable, value);
    return number;
}

Result<void> check_text(const Variable& variable)
{
    const std::string_view value = raw(variable);
    const auto control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
    if (static_cast<int64_t>(value.size()) > variable.most ||
        (variable.kind == Kind::text && std::ranges::any_of(value, control)))
        return junk(variable, value);
    return {};
}

}  // namespace

std::span<const Variable> variables() { return table; }

Result<void> check()
{
    for (const Variable& variable : table)
        DDS_TRY(check(variable));
    return {};
}

Result<void> check(const Variable& variable)
{
    if (variable.kind == Kind::text || variable.kind == Kind::path)
        return check_text(variable);
    DDS_TRY(number_of(variable));
    return {};
}

std::optional<std::string> text(const char* name)
{
    const std::string_view value = raw(find(name));
    if (value.empty())
        return std::nullopt;
    return std::string(value);
}

Result<std::optional<int64_t>> integer(const char* name) { return number_of(find(name)); }

Result<std::optional<bool>> flag(const char* name)
{
    DDS_LET(number, number_of(find(name)));
    if (!number)
        return std::optional<bool>();
    return std::optional<bool>(*number == 1);
}

std::optional<std::string> foreign(const char* name)
{
    const char* value = secure_getenv(name);
    return value ? std::optional<std::string>(value) : std::nullopt;
}

void preset(const char* name, const char* value) { setenv(name, value, 0); }

}  // namespace dds::env
