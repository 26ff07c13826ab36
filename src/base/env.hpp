// Environment variables: each is known, read through secure_getenv and checked; junk is an error
// that names the variable, its value and what it takes, never a silent default.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace dds::env {

struct Variable {
    const char* name;
    const char* takes;    // "seconds, 1 to 86400"
    const char* meaning;  // one line, for ddstore-info and ddstore(7)
};
std::span<const Variable> variables();  // every one that the library reads

// Unset or empty: nullopt.  `name` must be one of variables().
std::optional<std::string> text(const char* name);
Result<std::optional<int64_t>> integer(const char* name, int64_t least, int64_t most);
Result<std::optional<bool>> flag(const char* name);  // 0 or 1

}  // namespace dds::env
