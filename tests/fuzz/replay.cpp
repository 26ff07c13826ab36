// A fuzzer for compilers that have none: reads the corpus, then changes its files for some seconds,
// from a seed that it prints.
//     PROGRAM CORPUS SECONDS [SEED]
#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "fuzz.hpp"

namespace {

using Bytes = std::vector<unsigned char>;
using Random = std::mt19937_64;

constexpr size_t kLongest = 64 << 10;

size_t below(Random& random, size_t n) { return static_cast<size_t>(random() % n); }

std::vector<Bytes> corpus_of(const std::string& path)
{
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path))
        if (entry.is_regular_file())
            names.push_back(entry.path().string());
    std::sort(names.begin(), names.end());  // the same run for the same seed
    std::vector<Bytes> files;
    for (const std::string& name : names) {
        std::ifstream file(name, std::ios::binary);
        files.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    }
    return files;
}

// Numbers at which parsers go wrong, in 1 to 8 bytes.
void overwrite_number(Bytes& bytes, Random& random)
{
    static constexpr uint64_t kEdges[] = {0,  1,  2,  3,  4,  7,   8,   31,
                                          32, 39, 40, 63, 64, 255, 256, 257};
    const size_t width = size_t{1} << below(random, 4);
    if (bytes.size() < width)
        return;
    const size_t at = below(random, bytes.size() - width + 1);
    uint64_t value = 0;
    memcpy(&value, bytes.data() + at, width);
    switch (below(random, 6)) {
    case 0: value = kEdges[below(random, std::size(kEdges))]; break;
    case 1: value = ~kEdges[below(random, std::size(kEdges))]; break;
    case 2: value = uint64_t{1} << below(random, 64); break;
    case 3: value = (uint64_t{1} << below(random, 64)) - 1; break;
    case 4: value += below(random, 33) - 16; break;
    case 5: value = random(); break;
    }
    memcpy(bytes.data() + at, &value, width);
}

void change(Bytes& bytes, const std::vector<Bytes>& corpus, Random& random)
{
    const auto at = [&] {
        return bytes.begin() + static_cast<ptrdiff_t>(below(random, bytes.size() + 1));
    };
    switch (below(random, 6)) {
    case 0:
        if (!bytes.empty())
            bytes[below(random, bytes.size())] ^= static_cast<unsigned char>(1 << below(random, 8));
        break;
    case 1:
    case 2: overwrite_number(bytes, random); break;
    case 3: {
        auto from = at(), to = at();
        if (to < from)
            std::swap(from, to);
        bytes.erase(from, std::min(to, from + static_cast<ptrdiff_t>(1 + below(random, 64))));
        break;
    }
    case 4: bytes.insert(at(), 1 + below(random, 40), static_cast<unsigned char>(random())); break;
    case 5: {  // a part of another
        const Bytes& other = corpus[below(random, corpus.size())];
        const size_t begin = below(random, other.size() + 1);
        const size_t most = std::min(other.size() - begin, size_t{300});
        const auto from = other.begin() + static_cast<ptrdiff_t>(begin);
        bytes.insert(at(), from, from + static_cast<ptrdiff_t>(below(random, most + 1)));
        break;
    }
    }
    if (bytes.size() > kLongest)
        bytes.resize(kLongest);
}

}  // namespace

int main(int count, char** arguments)
{
    const auto corpus = count > 2 ? corpus_of(arguments[1]) : std::vector<Bytes>();
    if (corpus.empty()) {
        fprintf(stderr, "usage: %s CORPUS SECONDS [SEED]: a corpus has a file\n", arguments[0]);
        return 2;
    }
    const auto seed =
        count > 3 ? strtoull(arguments[3], nullptr, 10) : uint64_t{std::random_device()()};
    printf("seed %" PRIu64 "\n", uint64_t{seed});
    fflush(stdout);
    Random random(seed);
    uint64_t runs = 0, taken = 0;
    const auto run = [&](const Bytes& bytes) {
        taken += static_cast<uint64_t>(inputs_taken(bytes.data(), bytes.size()));
        runs++;
    };
    for (const Bytes& file : corpus)
        run(file);
    using Clock = std::chrono::steady_clock;
    const auto end = Clock::now() + std::chrono::duration<double>(atof(arguments[2]));
    while (runs % 64 != 0 || Clock::now() < end) {
        Bytes bytes = corpus[below(random, corpus.size())];
        for (size_t changes = 1 + below(random, 4); changes > 0; changes--)
            change(bytes, corpus, random);
        run(bytes);
    }
    printf("%zu files, %" PRIu64 " runs, %" PRIu64 " taken as valid\n", corpus.size(), runs, taken);
    return taken > 0 && taken < 2 * runs ? 0 : 1;
}
