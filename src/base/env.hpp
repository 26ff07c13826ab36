// Environment variables: each is known, read through secure_getenv and checked; junk is an error
// that names the variable, its value and what it takes, never a silent default.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/result.hpp"

namespace dds::env {

enum class Kind { text, path, integer, flag };

struct Variable {
    const char* name;
    Kind kind;
    int64_t least, most;  // integer: its value; text and path: its length
    const char* takes;    // "seconds, 1 to 604800"
    const char* preset;   // what holds where it is unset: "30"; empty: nothing
    const char* meaning;  // one line, for ddstore-info and ddstore(7)
};
std::span<const Variable> variables();  // every one that the library reads

// All of them at once, so that junk is found when the library is first used and not by the first
// call that happens to need the variable.
Result<void> check();
Result<void> check(const Variable& variable);

// Unset or empty: nullopt.  `name` must be one of variables().  text() gives what is there: its
// length and its bytes are what check() looks at.
std::optional<std::string> text(const char* name);
Result<std::optional<int64_t>> integer(const char* name);
Result<std::optional<bool>> flag(const char* name);  // 0 or 1

// A variable of another library, which is not ours to check; and one that it is to find where nobody
// has set it.
std::optional<std::string> foreign(const char* name);
void preset(const char* name, const char* value);

}  // namespace dds::env
