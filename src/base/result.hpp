// What a function that can fail returns: a value or an Error.  Shaped like std::expected, so that
// C++23 can replace it.  The function that finds an error words it (rank, variable, value, remedy);
// those above pass it on.
#pragma once

#include <string>
#include <utility>
#include <variant>

#include "ddstore.h"

namespace dds {

struct Error {
    int code = DDS_ERR_INTERNAL;
    int rank = -1;  // the rank it is about
    std::string text;
};

// printf-like makers: fail(DDS_ERR_RANGE, "row %lld is past the end, %lld", ...).
[[gnu::format(printf, 2, 3)]] Error fail(int code, const char* format, ...);
[[gnu::format(printf, 3, 4)]] Error fail_rank(int code, int rank, const char* format, ...);
// An errno in words: the class that fits it, and "what: strerror".
[[gnu::format(printf, 2, 3)]] Error fail_errno(int error, const char* format, ...);

template <class T>
class [[nodiscard]] Result {
public:
    Result(T value) : held_(std::in_place_index<0>, std::move(value)) {}
    Result(Error error) : held_(std::in_place_index<1>, std::move(error)) {}

    explicit operator bool() const { return held_.index() == 0; }
    T& operator*() & { return *std::get_if<0>(&held_); }
    const T& operator*() const& { return *std::get_if<0>(&held_); }
    T&& operator*() && { return std::move(*std::get_if<0>(&held_)); }
    T* operator->() { return std::get_if<0>(&held_); }
    const T* operator->() const { return std::get_if<0>(&held_); }
    const Error& error() const& { return *std::get_if<1>(&held_); }
    Error&& error() && { return std::move(*std::get_if<1>(&held_)); }

private:
    std::variant<T, Error> held_;
};

template <>
class [[nodiscard]] Result<void> {
public:
    Result() = default;
    Result(Error error) : error_(std::move(error)), ok_(false) {}

    explicit operator bool() const { return ok_; }
    const Error& error() const& { return error_; }
    Error&& error() && { return std::move(error_); }

private:
    Error error_{DDS_SUCCESS, -1, {}};
    bool ok_ = true;
};

}  // namespace dds

// Pass an error on: DDS_TRY(call()); and DDS_LET(value, call()); which names the value.
#define DDS_TRY(...)                                                       \
    do {                                                                   \
        if (auto&& dds_result_ = (__VA_ARGS__); !dds_result_) [[unlikely]] \
            return std::move(dds_result_).error();                         \
    } while (0)
#define DDS_LET(name, ...)                        \
    auto name##_result_ = (__VA_ARGS__);          \
    if (!name##_result_) [[unlikely]]             \
        return std::move(name##_result_).error(); \
    [[maybe_unused]] auto& name = *name##_result_
