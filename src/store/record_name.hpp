// How the files of records are called.  User text never forms a path: letters, digits, `_` and `-`
// stand for themselves, all else is escaped; what is ours has a `.`, a `~` or a `+`.
#pragma once

#include <optional>
#include <string>

#include "comm/process.hpp"
#include "store/record.hpp"

namespace dds {

// `x.bin` of variable "x".  Different names give different files; of a name whose encoding passes
// 100 bytes the first part and 128 bits of hash stay, and the record has the whole.
std::string variable_file(const std::string& name);
std::string core_file(const StoreId& store);  // `<32 hexadecimal digits>.core`

// The first part, up to a `.`, of a file or socket that only one process needs: what is left of a
// dead one is told by its name, whatever it holds.  At most 34 bytes for the next 21 years of uptime.
std::string process_stem(const filecomm::Process& process);
// Which process of this boot and PID namespace a name says; nullopt: of another, or of none.
std::optional<filecomm::Process> process_of(const std::string& file);

}  // namespace dds
