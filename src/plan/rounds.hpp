// How rows go round between all ranks at once, in rounds of bounded size.  What one rank sends another
// is a stream of whole rows, cut into pieces; a row that is longer than a piece goes in several.  Pure.
#pragma once

#include <algorithm>
#include <cstdint>

namespace dds {

struct Rounds {
    uint64_t row;  // bytes, at least 1
    int64_t rows;  // of one stream in one round; 0: a part of a row
    int64_t cuts;  // rounds that one row takes then
    uint64_t part;

    // At most about `most` bytes a rank and round, in rows or in row numbers, from all of `ranks`.
    Rounds(uint64_t row_bytes, uint64_t most, int ranks) : row(row_bytes)
    {
        constexpr uint64_t kLeast = 256;
        const uint64_t share = std::max(most / static_cast<uint64_t>(ranks), kLeast);
        rows = static_cast<int64_t>(share / std::max(row, uint64_t{sizeof(int64_t)}));
        cuts = static_cast<int64_t>((row + share - 1) / share);
        part = (row + static_cast<uint64_t>(cuts) - 1) / static_cast<uint64_t>(cuts);
    }

    // Rounds that a stream of n rows takes.
    int64_t count(int64_t n) const { return rows ? (n + rows - 1) / rows : n * cuts; }

    struct Piece {
        int64_t first, last;  // rows of the stream [first, last)
        uint64_t skip, step;  // of each of them: bytes before, bytes
        uint64_t bytes() const { return static_cast<uint64_t>(last - first) * step; }
    };
    Piece of(int64_t n, int64_t round) const
    {
        if (rows) {
            const int64_t first = std::min(round * rows, n);
            return {first, std::min(first + rows, n), 0, row};
        }
        const int64_t first = std::min(round / cuts, n);
        const uint64_t skip = static_cast<uint64_t>(round % cuts) * part;
        return {first, std::min(first + 1, n), skip, std::min(part, row - skip)};
    }
};

}  // namespace dds
