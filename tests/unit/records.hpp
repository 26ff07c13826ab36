// Records for the tests: three that never change, whose bytes are in golden/, and random ones; and
// what a liar does: change entries and make the checksums right again.
#pragma once

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "base/crc32c.hpp"
#include "store/record_format.hpp"

namespace unit {

using dds::CoreRecord;
using dds::VariableRecord;
using Bytes = std::vector<std::byte>;
using Random = std::mt19937_64;
namespace format = dds::record_format;

inline uint64_t below(Random& random, uint64_t n)
{
    return std::uniform_int_distribution<uint64_t>(0, n - 1)(random);
}

template <class Container>
Container counted(size_t bytes, unsigned from)
{
    Container made;
    for (size_t i = 0; i < bytes; i++)
        made.push_back(static_cast<typename Container::value_type>(from + 7 * i));
    return made;
}

inline dds::StoreId golden_store()
{
    dds::StoreId id;
    for (size_t i = 0; i < id.size(); i++)
        id[i] = static_cast<unsigned char>(0x10 + i);
    return id;
}

inline CoreRecord golden_core()
{
    CoreRecord core{golden_store(), 0x1122334455667788, 1, "tcp;ofi_rxm", 11, 2, {}};
    for (unsigned rank = 0; rank < 3; rank++) {
        CoreRecord::Rank one{{}, 0xabcdef00 + rank, 1000, {}, {}};
        one.node.fill(static_cast<unsigned char>(rank / 2 + 1));
        one.address = counted<std::string>(16, rank);
        if (rank != 1)
            one.socket = "+0123456789ab-1f2-3e4.socket" + std::to_string(rank);
        core.ranks.push_back(one);
    }
    return core;
}

inline VariableRecord golden_variable()
{
    VariableRecord variable{
        golden_store(), 0x1122334455667788,    5,         3, "x/y é", DDS_FLOAT32, 0, 4, 6,
        {2, 3},         counted<Bytes>(10, 1), {4, 0, 5}, {}};
    variable.segments.push_back({0, 7, 64, 1 << 20, counted<Bytes>(8, 3)});
    variable.segments.push_back({2, 8, 4096, 2 << 20, {}});
    return variable;
}

inline VariableRecord golden_large()
{
    VariableRecord variable{golden_store(),
                            1,
                            ~uint64_t{0},
                            INT64_MAX,
                            std::string(255, 'n'),
                            DDS_BYTES(3),
                            DDS_NOCOPY,
                            3,
                            5,
                            {1, 1, 1, 1, 1, 1, 5, 1},
                            counted<Bytes>(3000, 9),
                            {},
                            {}};
    for (uint32_t rank = 0; rank < 100; rank++) {
        variable.rows.push_back(rank % 3 ? rank * 1'000'003 : 0);
        const auto bytes = static_cast<uint64_t>(variable.rows.back()) * 15;
        if (bytes)
            variable.segments.push_back({rank, rank + 1, rank * 64, rank * 64 + bytes,
                                         counted<Bytes>(rank == 1 ? 256 : 24, rank)});
    }
    return variable;
}

// Names that are allowed and that no path may be made of as they are.
inline std::vector<std::string> nasty_names()
{
    return {"x",
            "x.bin",
            "..",
            "../x",
            "/",
            "/etc/passwd",
            ".",
            "a b",
            "%",
            "%2F",
            "%2f",
            "a%",
            "\n",
            "x\n",
            "\t",
            "\x01",
            "\xc3\xa9",
            "e\xcc\x81",
            "\xf0\x9f\x98\x80",
            "+0-0-0.new",
            "x~1",
            std::string(255, 'a'),
            std::string(254, 'a') + "b",
            std::string(255, '/'),
            std::string(100, 'a'),
            std::string(101, 'a'),
            std::string(97, 'a') + "%",
            std::string(98, 'a') + "%",
            std::string(66, 'a') + std::string(30, '/'),
            "core",
            "X"};
}

inline std::string random_name(Random& random)
{
    if (below(random, 4) == 0) {
        const auto names = nasty_names();
        return names[below(random, names.size())];
    }
    std::string name;
    for (uint64_t n = 1 + below(random, below(random, 2) ? 20 : 255); name.size() < n;)
        name += static_cast<char>(1 + below(random, 127));
    return name;
}

inline std::string random_word(Random& random, uint64_t most)
{
    std::string word;
    for (uint64_t n = below(random, most + 1); word.size() < n;)
        word += "abcXYZ019-_+"[below(random, 12)];
    return word;
}

inline Bytes random_bytes(Random& random, uint64_t most)
{
    Bytes bytes(below(random, most + 1));
    for (std::byte& b : bytes)
        b = static_cast<std::byte>(random());
    return bytes;
}

inline CoreRecord random_core(Random& random, size_t ranks)
{
    CoreRecord core;
    for (unsigned char& byte : core.store)
        byte = static_cast<unsigned char>(random());
    core.epoch = random() | 1;
    core.sequence = random();
    core.provider = random_word(random, CoreRecord::kMostProvider);
    core.protocol = static_cast<uint32_t>(random());
    core.address_format = static_cast<uint32_t>(random());
    const uint64_t most = below(random, 2) ? 16 : CoreRecord::kMostAddress;
    for (size_t at = 0; at < ranks; at++) {
        CoreRecord::Rank rank;
        for (unsigned char& byte : rank.node)
            byte = static_cast<unsigned char>(random());
        rank.incarnation = random();
        rank.uid = static_cast<uint32_t>(random());
        const Bytes address = random_bytes(random, most);
        rank.address.assign(reinterpret_cast<const char*>(address.data()), address.size());
        rank.socket = random_word(random, below(random, 2) ? 0 : CoreRecord::kMostSocket);
        core.ranks.push_back(rank);
    }
    return core;
}

inline size_t size_of_type(int32_t type)
{
    static constexpr size_t kSizes[] = {0, 1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8, 8, 16};
    return type < 16 ? kSizes[type] : static_cast<size_t>(type & 0x3fffffff);
}

inline VariableRecord random_variable(Random& random, size_t ranks)
{
    VariableRecord variable;
    for (unsigned char& byte : variable.store)
        byte = static_cast<unsigned char>(random());
    variable.epoch = random() | 1;
    variable.sequence = random();
    variable.published = static_cast<int64_t>(random() >> 1);
    variable.name = random_name(random);
    const auto type = static_cast<int32_t>(1 + below(random, 17));
    variable.type = type < 16 ? type : static_cast<int32_t>(DDS_BYTES(1 + below(random, 1000)));
    variable.itemsize = size_of_type(variable.type);
    variable.flags = static_cast<uint32_t>(below(random, 4));
    variable.disp = 1;
    for (uint64_t n = below(random, VariableRecord::kMostDims + 1); variable.shape.size() < n;)
        variable.shape.push_back(static_cast<int64_t>(below(random, 9) ? 1 + below(random, 5) : 0));
    for (const int64_t extent : variable.shape)
        variable.disp *= extent;
    if (variable.shape.empty())
        variable.disp = static_cast<int64_t>(below(random, 100));
    variable.meta = random_bytes(random, below(random, 8) ? 100 : VariableRecord::kMostMeta);
    const uint64_t cut = below(random, 4);  // even, uneven, sparse, empty
    const uint64_t key = below(random, 2) ? 24 : VariableRecord::kMostKey;
    for (size_t rank = 0; rank < ranks; rank++) {
        const uint64_t rows = cut == 0   ? 100
                              : cut == 1 ? below(random, 1000)
                              : cut == 2 ? (below(random, 10) ? 0 : below(random, 1 << 30))
                                         : 0;
        variable.rows.push_back(static_cast<int64_t>(rows));
        const uint64_t bytes = rows * static_cast<uint64_t>(variable.disp) * variable.itemsize;
        if (bytes == 0)
            continue;
        const uint64_t offset = below(random, 1 << 20);
        variable.segments.push_back({static_cast<uint32_t>(rank), static_cast<uint32_t>(random()),
                                     offset,
                                     offset + bytes + below(random, 2) * below(random, 1 << 20),
                                     random_bytes(random, key)});
    }
    return variable;
}

// The frame around what the body is now, right in every number.
inline void seal(Bytes& file)
{
    if (file.size() < sizeof(format::Header) + sizeof(format::Trailer))
        return;
    format::Header header;
    std::memcpy(&header, file.data(), sizeof header);
    header.magic = format::kMagic;
    header.body_bytes = file.size() - sizeof header - sizeof(format::Trailer);
    header.body_crc = dds::crc32c(0, file.data() + sizeof header, header.body_bytes);
    header.header_crc = format::header_crc(header);
    std::memcpy(file.data(), &header, sizeof header);
    const format::Trailer trailer{file.size(), format::kReversed};
    std::memcpy(file.data() + file.size() - sizeof trailer, &trailer, sizeof trailer);
}

// Where each entry begins, and the end of the last.
inline std::vector<size_t> entries(const Bytes& file)
{
    std::vector<size_t> at{sizeof(format::Header)};
    while (at.back() < file.size() - sizeof(format::Trailer)) {
        uint32_t bytes;
        std::memcpy(&bytes, file.data() + at.back(), sizeof bytes);
        at.push_back(at.back() + bytes);
    }
    return at;
}

template <class Head, class Change>
Bytes with_entry(Bytes file, size_t index, const Change& change)
{
    const size_t at = entries(file).at(index);
    Head head;
    std::memcpy(&head, file.data() + at, sizeof head);
    change(head);
    std::memcpy(file.data() + at, &head, sizeof head);
    seal(file);
    return file;
}

template <class Change>
Bytes with_header(Bytes file, const Change& change)
{
    format::Header header;
    std::memcpy(&header, file.data(), sizeof header);
    change(header);
    header.header_crc = format::header_crc(header);
    std::memcpy(file.data(), &header, sizeof header);
    return file;
}

}  // namespace unit
