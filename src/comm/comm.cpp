// The blocking forms of the collectives: deadline, interrupt check, and words for what went wrong.
#include "comm/comm.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/checked.hpp"
#include "base/clock.hpp"
#include "comm/watched.hpp"
#include "comm/words.hpp"

namespace dds {
namespace {

Error overdue(const Comm& comm, int timeout_ms)
{
    const std::vector<int> missing = comm.missing();
    if (const auto doubt = comm.doubt())
        return fail_rank(doubt->code, missing.empty() ? -1 : missing.front(),
                         "rank %d waited %g s in a collective call; missing: %s; %s", comm.rank(),
                         timeout_ms / 1000.0, ranks_in_words(missing).c_str(), doubt->text.c_str());
    return fail_rank(DDS_ERR_TIMEOUT, missing.empty() ? -1 : missing.front(),
                     "rank %d waited %g s in a collective call; missing: %s", comm.rank(),
                     timeout_ms / 1000.0, ranks_in_words(missing).c_str());
}

}  // namespace

Result<std::unique_ptr<Operation>> Comm::start_alltoallv(const Parts&, const Parts&,
                                                         std::shared_ptr<void>)
{
    return fail(DDS_ERR_UNSUPPORTED, "a %s communicator moves no rows", kind());
}

Result<void> allgather(Comm& comm, std::span<const std::byte> in, std::span<std::byte> out,
                       int timeout_ms)
{
    const auto total = checked_mul(in.size(), static_cast<size_t>(comm.size()));
    if (!total || *total > out.size())
        return fail(DDS_ERR_INTERNAL, "allgather of %zu bytes from %d ranks into %zu", in.size(),
                    comm.size(), out.size());
    DDS_LET(operation, comm.start_allgather(in, out.first(*total), timeout_ms));
    const auto missing = [&] { return ranks_in_words(comm.missing()); };
    const std::string what = "rank " + std::to_string(comm.rank()) + ", in a collective call,";
    Watched watched(*operation, what.c_str(), missing);
    const Patience patience{
        .timeout_ms = timeout_ms, .yields = 0, .park_max_ns = 50 * clock::kMillisecond};
    auto waited = wait(watched, patience);
    if (waited && *waited == Waited::ended)
        return {};
    Error why;
    if (!waited) {
        why = std::move(waited).error();
    } else if (*waited == Waited::interrupted) {
        why = fail_rank(DDS_ERR_INTERRUPTED, comm.rank(),
                        "rank %d was interrupted in a collective call", comm.rank());
    } else {
        why = overdue(comm, timeout_ms);
        // All others are at their deadline, too: one that was there first has said what is missing,
        // and while we looked for that ourselves, our operation may have ended by its word.
        auto last = operation->step();
        if (!last)
            why = std::move(last).error();
        else if (*last == Step::ended)
            return {};
    }
    comm.give_up(why);
    return why;
}

Result<void> barrier(Comm& comm, int timeout_ms) { return allgather(comm, {}, {}, timeout_ms); }

Result<void> allgatherv(Comm& comm, std::span<const std::byte> in, std::span<std::byte> out,
                        std::span<size_t> sizes, int timeout_ms)
{
    const auto deadline = clock::Deadline::after_ms(timeout_ms);
    const auto ranks = static_cast<size_t>(comm.size());
    const std::array<uint64_t, 2> mine{in.size(), out.size()};
    std::vector<std::array<uint64_t, 2>> all(ranks);
    DDS_TRY(allgather(comm, std::as_bytes(std::span(mine)), std::as_writable_bytes(std::span(all)),
                      timeout_ms));

    // From here on every rank computes the same from the same numbers, so all end alike.
    uint64_t total = 0, longest = 0, least = UINT64_MAX;
    int narrow = 0;
    for (size_t r = 0; r < ranks; r++) {
        const auto [bytes, capacity] = all[r];
        const auto sum = checked_add(total, bytes);
        if (!sum || *sum > INT64_MAX)
            return fail(DDS_ERR_OVERFLOW, "allgatherv of more than 2^63 bytes");
        total = *sum;
        longest = std::max(longest, bytes);
        if (capacity < least) {
            least = capacity;
            narrow = static_cast<int>(r);
        }
        sizes[r] = bytes;
    }
    if (total > least)
        return fail_rank(DDS_ERR_TRUNCATED, narrow,
                         "allgatherv: rank %d has room for %llu bytes, "
                         "%llu are needed",
                         narrow, static_cast<unsigned long long>(least),
                         static_cast<unsigned long long>(total));

    // In slices, so that one long contribution among many short ones costs little memory.
    const uint64_t slice = std::min<uint64_t>(
        longest, std::max<uint64_t>(uint64_t{64} << 10, (uint64_t{16} << 20) / ranks));
    std::vector<std::byte> from(slice), to(slice * ranks);
    for (uint64_t done = 0; done < longest; done += slice) {
        if (done < in.size())
            std::memcpy(from.data(), in.data() + done, std::min<uint64_t>(slice, in.size() - done));
        DDS_TRY(allgather(comm, from, to, deadline.left_ms()));
        std::byte* at = out.data();
        for (size_t r = 0; r < ranks; at += sizes[r++])
            if (done < sizes[r])
                std::memcpy(at + done, to.data() + slice * r,
                            std::min<uint64_t>(slice, sizes[r] - done));
    }
    return {};
}

}  // namespace dds
