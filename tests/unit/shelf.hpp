// A shelf of the tests, and what is looked for in it.
#pragma once

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "records.hpp"
#include "store/record_name.hpp"
#include "store/shelf.hpp"
#include "unit.hpp"

namespace unit {

using dds::Shelf;

inline Shelf shelf_in(const std::string& path)
{
    auto shelf = Shelf::open(path);
    if (!shelf)
        fail_msg("%s", shelf.error().text.c_str());
    return *std::move(shelf);
}

inline void put_file(const std::string& path, const void* bytes, size_t size)
{
    const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, size), size);
    close(fd);
}

inline Bytes golden_bytes() { return *dds::write_record(golden_variable()); }
inline std::string golden_file() { return dds::variable_file(golden_variable().name); }

enum class Seen { record, not_yet, refused };

// One look at the golden variable; `code` is the reason where there is one.
inline Seen look(const Shelf& shelf, int* code = nullptr, std::string* text = nullptr)
{
    Error why = kFine;
    const auto record = shelf.look(golden_variable().name, &why);
    if (code)
        *code = record ? why.code : record.error().code;
    if (text)
        *text = record ? why.text : record.error().text;
    if (record && *record)
        assert_true(**record == golden_variable());
    return !record ? Seen::refused : *record ? Seen::record : Seen::not_yet;
}

inline void bind_socket(const std::string& path)
{
    const int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path.c_str());
    assert_int_equal(bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    close(fd);
}

}  // namespace unit
