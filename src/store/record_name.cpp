#include "store/record_name.hpp"

#include <charconv>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "comm/file_format.hpp"

namespace dds {
namespace {

constexpr size_t kMostEncoded = 100, kEscape = 3;  // %XX
constexpr size_t kHashDigits = 32, kTagDigits = 12;
constexpr char kStem = '+';

// FNV-1a in 128 bits: names that clash harm their own author, who is told by the record.
unsigned __int128 hash_of(const void* data, size_t bytes)
{
    unsigned __int128 hash =
        (static_cast<unsigned __int128>(0x6c62272e07bb0142u) << 64) | 0x62b821756295c58du;
    const unsigned __int128 prime = (static_cast<unsigned __int128>(0x1000000u) << 64) | 0x13b;
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ static_cast<const unsigned char*>(data)[i]) * prime;
    return hash;
}

std::string hexadecimal(unsigned __int128 value, size_t digits)
{
    std::string text(digits, '0');
    for (size_t at = digits; at-- > 0; value >>= 4)
        text[at] = "0123456789abcdef"[static_cast<size_t>(value & 15)];
    return text;
}

// At most `most` bytes, no escape cut in two.
std::string_view head_of(std::string_view encoded, size_t most)
{
    size_t end = most;
    for (size_t back = 1; back < kEscape; back++)
        if (encoded[most - back] == '%')
            end = most - back;
    return encoded.substr(0, end);
}

// Which boot and PID namespace: with its PID and its start one process of all machines.
std::string tag_of(const filecomm::Process& process)
{
    unsigned char both[sizeof process.boot + sizeof process.namespace_inode];
    std::memcpy(both, process.boot.data(), sizeof process.boot);
    std::memcpy(both + sizeof process.boot, &process.namespace_inode,
                sizeof process.namespace_inode);
    return hexadecimal(hash_of(both, sizeof both) >> 64, kTagDigits);
}

// A number of lower-case hexadecimal digits that goes on to `end`.
template <class T>
std::optional<T> number(std::string_view& text, char end)
{
    T value{};
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
    if (error != std::errc() || stop == text.data() + text.size() || *stop != end || value < T{})
        return std::nullopt;
    text.remove_prefix(static_cast<size_t>(stop - text.data()) + 1);
    return value;
}

}  // namespace

std::string variable_file(const std::string& name)
{
    std::string encoded = filecomm::encode(name);
    if (encoded.size() > kMostEncoded) {
        const auto head = head_of(encoded, kMostEncoded - kHashDigits - 1);
        encoded =
            std::string(head) + "~" + hexadecimal(hash_of(name.data(), name.size()), kHashDigits);
    }
    return encoded + ".bin";
}

std::string core_file(const StoreId& store)
{
    std::string text;
    for (const unsigned char byte : store)
        text += hexadecimal(byte, 2);
    return text + ".core";
}

std::string process_stem(const filecomm::Process& process)
{
    char text[48];
    snprintf(text, sizeof text, "-%llx-%llx", static_cast<unsigned long long>(process.pid),
             static_cast<unsigned long long>(process.started));
    return kStem + tag_of(process) + text;
}

std::optional<filecomm::Process> process_of(const std::string& file)
{
    filecomm::Process process = filecomm::this_process();
    const std::string ours = kStem + tag_of(process) + "-";
    if (!file.starts_with(ours))
        return std::nullopt;
    std::string_view rest = std::string_view(file).substr(ours.size());
    const auto pid = number<int64_t>(rest, '-');
    const auto started = pid ? number<uint64_t>(rest, '.') : std::nullopt;
    if (!started)
        return std::nullopt;
    process.pid = *pid;
    process.started = *started;
    return process;
}

}  // namespace dds
