// What the files of a FileComm hold, and how they are called.  A file is a header, checked by a
// CRC of its own, and a body, checked by another; both are read into private memory first.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "comm/process.hpp"

namespace dds::filecomm {

using Nonce = std::array<uint8_t, 16>;  // random; all zero: none

enum class Kind : uint32_t { hello = 1, call, part, all };

struct Header {
    std::array<char, 8> magic;
    uint16_t major, minor;
    Kind kind;
    Nonce run;          // of the call: the run id.  Of a hello: the run that it has acknowledged
    uint64_t seq;       // of the collective; of a call: 0 while it collects, 1 when it is final
    uint64_t op_bytes;  // what each rank gives
    int32_t rank, size;
    int32_t status, status_rank;  // a DDS_ERR_*, whose text is in the body
    uint32_t count;               // ranks whose bytes are in the body
    uint32_t body_crc;
    uint64_t body_bytes;
    uint32_t reserved;
    uint32_t header_crc;  // of all before it
};
static_assert(sizeof(Header) == 88);

// The body of a hello, of one size always: it can be written over in place.
struct Hello {
    Nonce nonce;
    Process process;
    std::array<char, 64> job;  // the scheduler's, or empty
    std::array<char, 256> text;
};
static_assert(sizeof(Hello) == 376);

constexpr uint64_t kMaxBody = uint64_t{1} << 46;  // no collective is that long; a damaged size is
constexpr size_t kMaxText = 1024;                 // of an error

Header make_header(Kind kind, int rank, int size);
void seal(Header& header, std::span<const std::byte> body);

enum class Verdict { good, damaged, other_version };
Verdict examine(const Header& header);  // the header alone
bool whole(const Header& header, std::span<const std::byte> body);

// An error in a header and a body, and back.
void set_error(Header& header, std::vector<std::byte>& body, const Error& error);
Error error_of(const Header& header, std::span<const std::byte> text);

// Names.  `space` is the percent-encoding of the user's: letters, digits, `_` and `-` stand for
// themselves, so that a `.` always is ours and different names never give one file.
std::string encode(const std::string& ns);
std::string hello_name(const std::string& space, int rank);
std::string call_name(const std::string& space);
std::string clash_prefix(const std::string& space);
std::string clash_name(const std::string& space, int rank);
std::string fail_name(const std::string& space);
std::string run_prefix(const std::string& space, const Nonce& run);
std::string part_name(const std::string& space, const Nonce& run, uint64_t seq, int rank);
std::string all_name(const std::string& space, const Nonce& run, uint64_t seq);

}  // namespace dds::filecomm
