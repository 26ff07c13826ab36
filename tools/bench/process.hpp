// Programs: where they are, and how one is started that ends when we do.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

namespace bench {

using Words = std::vector<std::string>;

std::string this_program();
std::filesystem::path in_path(const std::string& program);  // empty: it is not there

// The pid, or -1; it is sent `at_death` when we end.
pid_t start(Words words, int at_death);

}  // namespace bench
