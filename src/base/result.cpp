#include "base/result.hpp"

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace dds {
namespace {

std::string format_text(const char* format, va_list args)
{
    va_list again;
    va_copy(again, args);
    const int length = vsnprintf(nullptr, 0, format, again);
    va_end(again);
    std::string text(length > 0 ? static_cast<size_t>(length) : 0, '\0');
    if (length > 0)
        vsnprintf(text.data(), text.size() + 1, format, args);
    return text;
}

int class_of(int error)
{
    switch (error) {
    case EACCES:
    case EPERM: return DDS_ERR_PERM;
    case ENOSPC:
    case EDQUOT: return DDS_ERR_NOSPC;
    case ENOMEM: return DDS_ERR_NOMEM;
    case EMFILE:
    case ENFILE: return DDS_ERR_LIMIT;
    case ENAMETOOLONG: return DDS_ERR_ARG;
    case ESRCH:
    case ECONNREFUSED:
    case ECONNRESET:
    case EPIPE: return DDS_ERR_PEER;
    default: return DDS_ERR_IO;
    }
}

}  // namespace

Error fail(int code, const char* format, ...)
{
    va_list args;
    va_start(args, format);
    Error error{code, -1, format_text(format, args)};
    va_end(args);
    return error;
}

Error fail_rank(int code, int rank, const char* format, ...)
{
    va_list args;
    va_start(args, format);
    Error error{code, rank, format_text(format, args)};
    va_end(args);
    return error;
}

Error fail_errno(int number, const char* format, ...)
{
    va_list args;
    va_start(args, format);
    Error error{class_of(number), -1, format_text(format, args)};
    va_end(args);
    char buffer[128];
    error.text += ": ";
    error.text += strerror_r(number, buffer, sizeof buffer);
    if (number == EMFILE)
        error.text += " (raise `ulimit -n`)";
    return error;
}

}  // namespace dds
