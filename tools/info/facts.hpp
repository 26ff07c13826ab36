// The sections, each filled by its file.
#pragma once

#include "sheet.hpp"

namespace info {

// Every variable of the environment that the library reads, and those that look like one.  What has a
// value that is not taken is a problem, and is unset from here on, so that the rest can be told.
void tell_environment(Sheet& sheet);

void tell_library(Sheet& sheet);
void tell_node(Sheet& sheet);
void tell_processor(Sheet& sheet);
void tell_memory(Sheet& sheet);
void tell_limits(Sheet& sheet);
void tell_network(Sheet& sheet);

std::string host();
std::string node();                     // its identity in digits
std::string line_of(const char* path);  // the first one of a file; empty where there is none

}  // namespace info
