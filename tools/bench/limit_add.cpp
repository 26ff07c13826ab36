#include "limit_add.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <thread>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

namespace bench {
namespace {

constexpr size_t kPiece = size_t{2} << 20;  // brought up and copied while it is in the cache

void copy(char* to, const char* from, size_t bytes, bool populate)
{
    for (size_t at = 0; at < bytes; at += kPiece) {
        const size_t some = std::min(kPiece, bytes - at);
        if (populate)
            madvise(to + at, some, MADV_POPULATE_WRITE);  // fails: the copy faults them in
        memcpy(to + at, from + at, some);
    }
}

}  // namespace

std::vector<AddVariant> add_variants(int cores)
{
    std::vector<AddVariant> list;
    for (int threads = 1; threads <= std::max(1, std::min(cores, 16)); threads *= 2)
        for (const bool populate : {false, true})
            list.push_back({"memcpy into fresh shared memory, " + std::to_string(threads) +
                                (threads > 1 ? " threads" : " thread") +
                                (populate ? ", populated" : ""),
                            threads, populate});
    return list;
}

double add_limit(const AddVariant& variant, const char* data, size_t bytes, bool huge)
{
    const double start = now();
    const int fd = memfd_create("bench-limit", 0);
    if (fd < 0 || ftruncate(fd, static_cast<off_t>(bytes)))
        return 1e9;
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED)
        return 1e9;
    if (huge)
        madvise(memory, bytes, MADV_HUGEPAGE);
    char* to = static_cast<char*>(memory);
    const size_t share = (bytes / static_cast<size_t>(variant.threads) + kPiece) / kPiece * kPiece;
    std::vector<std::thread> helpers;
    for (size_t at = share; at < bytes; at += share)
        helpers.emplace_back(copy, to + at, data + at, std::min(share, bytes - at),
                             variant.populate);
    copy(to, data, std::min(share, bytes), variant.populate);
    for (std::thread& helper : helpers)
        helper.join();
    const double taken = now() - start;
    munmap(memory, bytes);
    close(fd);
    return taken;
}

}  // namespace bench
