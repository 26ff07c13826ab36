// The thread's last error, and what the codes are called.
#include <atomic>
#include <iterator>

#include "api/door.hpp"

namespace dds {
namespace {

struct Code {
    const char* name;
    const char* text;
};
constexpr Code kCodes[] = {
    {"DDS_SUCCESS", "success"},
    {"DDS_ERR_ARG", "invalid argument"},
    {"DDS_ERR_RANGE", "row out of range"},
    {"DDS_ERR_TYPE", "no such element type"},
    {"DDS_ERR_NOTFOUND", "no such variable"},
    {"DDS_ERR_EXISTS", "variable exists already"},
    {"DDS_ERR_MISMATCH", "ranks do not agree"},
    {"DDS_ERR_OVERFLOW", "size overflow"},
    {"DDS_ERR_TIMEOUT", "deadline passed"},
    {"DDS_ERR_PEER", "another rank is gone"},
    {"DDS_ERR_POISONED", "an earlier collective call was not completed"},
    {"DDS_ERR_STALE", "data of an earlier run"},
    {"DDS_ERR_CORRUPT", "damaged file or message"},
    {"DDS_ERR_VERSION", "another version of the library"},
    {"DDS_ERR_PERM", "permission denied"},
    {"DDS_ERR_NOSPC", "file system full"},
    {"DDS_ERR_IO", "input or output error"},
    {"DDS_ERR_NOMEM", "out of memory"},
    {"DDS_ERR_LIMIT", "limit of the system reached"},
    {"DDS_ERR_STATE", "handle not open, or call out of place"},
    {"DDS_ERR_FORKED", "handle of the parent process"},
    {"DDS_ERR_INTERRUPTED", "interrupted"},
    {"DDS_ERR_DEVICE", "GPU error"},
    {"DDS_ERR_UNSUPPORTED", "not supported"},
    {"DDS_ERR_BUSY", "in use"},
    {"DDS_ERR_TRUNCATED", "buffer too small"},
    {"DDS_ERR_INTERNAL", "internal error"},
};

constexpr size_t kMaxText = 1024;

struct Last {
    char text[kMaxText] = "";
    int rank = -1;
};
// A plain buffer: remembering that there was no memory must not need any.
thread_local Last last;

}  // namespace

int refuse(const Error& error) noexcept
{
    const size_t n = error.text.size() < kMaxText ? error.text.size() : kMaxText - 1;
    memcpy(last.text, error.text.data(), n);
    last.text[n] = '\0';
    last.rank = error.rank;
    return error.code;
}

int refuse_exception() noexcept
{
    const char* text;
    int code;
    try {
        throw;
    } catch (const std::bad_alloc&) {
        code = DDS_ERR_NOMEM;
        text = "no memory";
    } catch (const std::exception& error) {
        code = DDS_ERR_INTERNAL;
        text = error.what();
    } catch (...) {
        code = DDS_ERR_INTERNAL;
        text = "an unknown exception";
    }
    strncpy(last.text, text, kMaxText - 1);
    last.rank = -1;
    return code;
}

Error null_argument(const char* what) { return fail(DDS_ERR_ARG, "%s is NULL", what); }

}  // namespace dds

extern "C" {

const char* dds_strerror(int code)
{
    using dds::kCodes;
    return code >= 0 && code < static_cast<int>(std::size(kCodes)) ? kCodes[code].text
                                                                   : "unknown error code";
}

const char* dds_error_name(int code)
{
    using dds::kCodes;
    return code >= 0 && code < static_cast<int>(std::size(kCodes)) ? kCodes[code].name
                                                                   : "DDS_ERR_UNKNOWN";
}

const char* dds_last_error(void) { return dds::last.text; }

int dds_last_error_rank(void) { return dds::last.rank; }
}
