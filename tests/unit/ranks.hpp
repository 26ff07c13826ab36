// A FileComm of the tests: how a rank opens one, and an exchange whose content says whose it is.
#pragma once

#include "comm/comm.hpp"
#include "unit.hpp"

namespace unit {

inline dds::Result<void> exchange(dds::Comm& comm, size_t bytes, int salt, int timeout_ms = 30'000)
{
    const auto size = static_cast<size_t>(comm.size());
    const auto byte_of = [&](size_t rank, size_t i) {
        return static_cast<std::byte>(rank * 31 + i * 7 + static_cast<size_t>(salt));
    };
    std::vector<std::byte> in(bytes), out(bytes * size);
    for (size_t i = 0; i < bytes; i++)
        in[i] = byte_of(static_cast<size_t>(comm.rank()), i);
    DDS_TRY(allgather(comm, in, out, timeout_ms));
    for (size_t rank = 0; rank < size; rank++)
        for (size_t i = 0; i < bytes; i++)
            if (out[rank * bytes + i] != byte_of(rank, i))
                return dds::fail(DDS_ERR_INTERNAL, "byte %zu of rank %zu is wrong", i, rank);
    return {};
}

// Opens, works, closes; the error of whichever failed.
template <class Work>
Error with_comm(const std::string& dir, const std::string& ns, int rank, int size, int timeout_ms,
                const Work& work)
{
    auto comm = dds::open_file(dir, ns, rank, size, timeout_ms);
    if (!comm)
        return comm.error();
    const dds::Result<void> done = work(**comm);
    return done ? kFine : done.error();
}

inline void assert_empty(const Scratch& scratch, const std::string& sub = "")
{
    const auto names = scratch.names(sub);
    if (!names.empty())
        fail_msg("%zu files are left, such as %s", names.size(), names[0].c_str());
}

}  // namespace unit
