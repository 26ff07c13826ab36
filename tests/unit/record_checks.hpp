// A record as bytes and what the readers say of bytes, in CMocka's words.
#pragma once

#include "records.hpp"
#include "unit.hpp"

namespace unit {

template <class Record>
Bytes written(const Record& record)
{
    auto bytes = dds::write_record(record);
    if (!bytes)
        fail_msg("%s", bytes.error().text.c_str());
    return *std::move(bytes);
}

// 0 or the class of the refusal, by either reader.
inline Error reading(const Bytes& bytes)
{
    const auto core = dds::read_core_record(bytes);
    const auto variable = dds::read_variable_record(bytes);
    if (core || variable)
        return kFine;
    const bool is_variable = bytes.size() > 12 && bytes[12] == std::byte{2};
    return is_variable ? variable.error() : core.error();
}

inline void assert_refused(const Bytes& bytes, int code, const char* words)
{
    const Error error = reading(bytes);
    if (error.code != code || error.text.find(words) == std::string::npos)
        fail_msg("'%s' expected, not: %d %s", words, error.code, error.text.c_str());
}

}  // namespace unit
