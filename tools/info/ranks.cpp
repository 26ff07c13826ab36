#include "ranks.hpp"

#include <unistd.h>

#include <cstdlib>
#include <map>

#include "comm/words.hpp"
#include "ddstore.h"
#include "facts.hpp"

namespace info {
namespace {

constexpr const char* kDeadline = "60";  // seconds: nobody waits half an hour for a diagnosis

struct Handles {
    Handles() = default;
    Handles(const Handles&) = delete;
    Handles& operator=(const Handles&) = delete;
    ~Handles()
    {
        dds_free(&store);
        dds_comm_free(&comm);
    }
    dds_comm_t comm = nullptr;
    dds_store_t store = nullptr;
};

// "shm" and those that are reached so, in the order of their first rank.
std::vector<std::pair<std::string, std::vector<int>>> paths_of(dds_store_t store, int size)
{
    std::vector<std::pair<std::string, std::vector<int>>> paths;
    std::map<std::string, size_t> where;
    for (int rank = 0; rank < size; rank++) {
        char text[512] = "";
        if (dds_path(store, rank, text, sizeof text) != DDS_SUCCESS)
            continue;
        const auto [at, fresh] = where.try_emplace(text, paths.size());
        if (fresh)
            paths.push_back({text, {}});
        paths[at->second].second.push_back(rank);
    }
    return paths;
}

// A rank's line, in both forms, and its problems: parts that a NUL ends.
std::string card(const Sheet& sheet, const Handles& handles, int rank, int size)
{
    std::vector<Value> paths;
    std::string words;
    if (handles.store)
        for (const auto& [path, ranks] : paths_of(handles.store, size)) {
            paths.push_back(
                object({{"path", path}, {"ranks", list({ranks.begin(), ranks.end()})}}));
            words += (words.empty() ? "" : "; ") + path + " to " + dds::ranks_in_words(ranks);
        }
    const std::string name = host(), id = node();
    const Value line = object(
        {{"rank", rank}, {"host", name}, {"node", id}, {"pid", getpid()}, {"paths", list(paths)}});
    std::string parts = line.json + '\0' + name + ", node " + id.substr(0, 8) + ", pid " +
                        std::to_string(getpid()) + (words.empty() ? "" : ": " + words) + '\0';
    for (const std::string& problem : sheet.problems())
        parts += problem + '\0';
    return parts;
}

std::vector<std::string> split(std::string_view parts)
{
    std::vector<std::string> all;
    for (size_t end; (end = parts.find('\0')) != std::string_view::npos;) {
        all.emplace_back(parts.substr(0, end));
        parts.remove_prefix(end + 1);
    }
    return all;
}

// The cards of all ranks in their order; this one's alone where they cannot be had.
std::vector<std::string> gather(Sheet& sheet, const Handles& handles, const std::string& mine,
                                int size)
{
    std::vector<size_t> sizes(static_cast<size_t>(size));
    std::string all;
    int code =
        dds_comm_allgatherv(handles.comm, mine.data(), mine.size(), nullptr, 0, sizes.data());
    if (code == DDS_ERR_TRUNCATED) {
        for (const size_t bytes : sizes)
            all.resize(all.size() + bytes);
        code = dds_comm_allgatherv(handles.comm, mine.data(), mine.size(), all.data(), all.size(),
                                   sizes.data());
    }
    if (code != DDS_SUCCESS) {
        sheet.problem(dds_last_error());
        return {mine};
    }
    std::vector<std::string> cards;
    size_t at = 0;
    for (const size_t bytes : sizes) {
        cards.push_back(all.substr(at, bytes));
        at += bytes;
    }
    return cards;
}

}  // namespace

Ranks::Ranks(Sheet& sheet, const Mpi& mpi)
{
    setenv("DDSTORE_COLLECTIVE_TIMEOUT_S", kDeadline, 0);
    Handles handles;
    const uint64_t world = mpi ? mpi.world() : 0;  // little-endian, as its first bytes are taken
    const int code = mpi ? dds_comm_mpi(&world, static_cast<size_t>(mpi.table().handle_size),
                                        mpi.path(), &handles.comm)
                         : dds_comm_self(&handles.comm);
    if (code != DDS_SUCCESS) {
        sheet.problem(dds_last_error());
        return;
    }
    dds_comm_rank(handles.comm, &rank_);
    dds_comm_size(handles.comm, &size_);
    if (dds_init(handles.comm, nullptr, &handles.store) != DDS_SUCCESS)
        sheet.problem(dds_last_error());

    const auto cards = gather(sheet, handles, card(sheet, handles, rank_, size_), size_);
    sheet.section("ranks");
    for (size_t rank = 0; rank < cards.size(); rank++) {
        const auto parts = split(cards[rank]);
        const std::string number = std::to_string(rank);
        sheet.fact(number, Value::raw(parts[0], parts[1]));
        for (size_t i = 2; i < parts.size() && static_cast<int>(rank) != rank_; i++)
            sheet.problem("rank " + number + ": " + parts[i]);
    }
}

}  // namespace info
