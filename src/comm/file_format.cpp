#include "comm/file_format.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "base/crc32c.hpp"

namespace dds::filecomm {
namespace {

constexpr std::array<char, 8> kMagic{'D', 'D', 'S', 'C', 'O', 'M', 'M', '\n'};
constexpr uint16_t kMajor = 1, kMinor = 0;  // a reader takes any minor of its major

uint32_t crc_of(const Header& header) { return crc32c(0, &header, offsetof(Header, header_crc)); }

}  // namespace

Header make_header(Kind kind, int rank, int size)
{
    Header header{};
    header.magic = kMagic;
    header.major = kMajor;
    header.minor = kMinor;
    header.kind = kind;
    header.rank = rank;
    header.size = size;
    header.status_rank = -1;
    return header;
}

void seal(Header& header, std::span<const std::byte> body)
{
    header.body_bytes = body.size();
    header.body_crc = crc32c(0, body.data(), body.size());
    header.header_crc = crc_of(header);
}

Verdict examine(const Header& header)
{
    if (header.magic != kMagic || header.major == 0)  // no such version: bytes yet to come
        return Verdict::damaged;
    if (header.major != kMajor)
        return Verdict::other_version;
    if (header.header_crc != crc_of(header) || header.body_bytes > kMaxBody || header.size < 1 ||
        header.rank < 0 || header.rank >= header.size)
        return Verdict::damaged;
    return Verdict::good;
}

bool whole(const Header& header, std::span<const std::byte> body)
{
    return header.body_bytes == body.size() &&
           header.body_crc == crc32c(0, body.data(), body.size());
}

void set_error(Header& header, std::vector<std::byte>& body, const Error& error)
{
    header.status = error.code;
    header.status_rank = error.rank;
    const auto text =
        std::as_bytes(std::span(error.text)).first(std::min(error.text.size(), kMaxText));
    body.assign(text.begin(), text.end());
}

Error error_of(const Header& header, std::span<const std::byte> text)
{
    Error error;
    if (header.status > DDS_SUCCESS && header.status <= DDS_ERR_INTERNAL)
        error.code = header.status;
    error.rank = header.status_rank;
    error.text.assign(reinterpret_cast<const char*>(text.data()), text.size());
    error.text.resize(std::min(error.text.size(), error.text.find('\0')));
    return error;
}

std::string encode(const std::string& ns)
{
    std::string out;
    for (const char c : ns) {
        if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
            c == '_' || c == '-') {
            out += c;
            continue;
        }
        char hex[4];
        snprintf(hex, sizeof hex, "%%%02X", static_cast<unsigned>(static_cast<unsigned char>(c)));
        out += hex;
    }
    return out;
}

std::string hello_name(const std::string& space, int rank)
{
    return space + ".hello." + std::to_string(rank);
}
std::string call_name(const std::string& space) { return space + ".call"; }
std::string clash_prefix(const std::string& space) { return space + ".clash."; }
std::string clash_name(const std::string& space, int rank)
{
    return clash_prefix(space) + std::to_string(rank);
}
std::string fail_name(const std::string& space) { return space + ".fail"; }

std::string run_prefix(const std::string& space, const Nonce& run)
{
    char hex[16];
    snprintf(hex, sizeof hex, ".%02x%02x%02x%02x.", run[0], run[1], run[2], run[3]);
    return space + hex;
}
std::string part_name(const std::string& space, const Nonce& run, uint64_t seq, int rank)
{
    return run_prefix(space, run) + std::to_string(seq) + "." + std::to_string(rank);
}
std::string all_name(const std::string& space, const Nonce& run, uint64_t seq)
{
    return run_prefix(space, run) + std::to_string(seq) + ".all";
}

}  // namespace dds::filecomm
