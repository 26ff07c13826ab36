// Owners and a reader over libfabric, each a process of its own, for each provider that is here.  The
// test's own process never loads libfabric, so that what it forks has nothing of it.
#pragma once

#include <signal.h>
#include <sys/prctl.h>

#include <atomic>
#include <functional>

#include "transport/fabric_context.hpp"
#include "transport/fabric_wire.hpp"
#include "unit.hpp"

namespace unit {

using namespace dds;

constexpr size_t kRows = (size_t{24} << 20) + 77;  // bytes of an owner's data

struct Shown {
    std::atomic<int> there;  // times that it came
    std::atomic<int> over;   // it may leave
    pid_t pid;
    uint32_t address_bytes;
    char address[512];
    Key key;
    uint64_t offset, bytes;
    std::atomic<int> intact;  // its memory, when it left
};
struct Shared {
    Shown owners[2];
    std::atomic<int> flags[4];
    FabricOffers offers;
};

inline std::byte value_of(int owner, uint64_t at)
{
    return static_cast<std::byte>((at * 2654435761u >> 11) + static_cast<uint64_t>(owner) * 101);
}

inline FabricChoice choice_of(const std::string& provider,
                              FabricLands lands = FabricLands::as_asked)
{
    const FabricWish wish{provider, "", true};
    const auto offers = fabric_offers(wish);
    auto choice = fabric_choose(offers->each[0], wish);
    choice->lands = lands;
    return *choice;
}

inline std::unique_ptr<FabricWire> open_wire(const FabricChoice& choice, int rank)
{
    auto port = FabricPort::get(choice);
    if (!port) {
        fprintf(stderr, "%s\n", port.error().text.c_str());
        _exit(3);
    }
    return std::make_unique<FabricWire>(TransportConfig{nullptr, rank, ""}, choice, *port);
}

inline void until(const std::atomic<int>& flag, int value)
{
    while (flag < value)
        clock::sleep(20 * clock::kMillisecond);
}

// Exposes its data, and stays until it is told.
struct Owner {
    std::unique_ptr<FabricWire> wire;
    Arenas arenas;
    Block block;

    static const unsigned char (&store())[16]
    {
        static const unsigned char id[16] = {1, 2, 3};
        return id;
    }

    Owner(Shared& board, const std::string& provider, int number, uint64_t incarnation = 1)
        : wire(open_wire(choice_of(provider), number + 1)), arenas(store(), incarnation)
    {
        std::shared_ptr<Arena> fresh;
        block = *arenas.take(kRows, false, fresh);
        for (size_t i = 0; i < kRows; i++)
            block.data()[i] = value_of(number, i);
        Shown& shown = board.owners[number];
        if (!wire->expose(block.arena->id, block, shown.key))
            _exit(4);
        const std::string address = wire->address();
        shown.address_bytes = static_cast<uint32_t>(address.size());
        memcpy(shown.address, address.data(), address.size());
        shown.offset = block.offset;
        shown.bytes = block.arena->segment.bytes();
        shown.pid = getpid();
        shown.there++;
    }
    void stay(Shared& board, int number) const
    {
        until(board.owners[number].over, 1);
        int intact = 1;
        for (size_t i = 0; i < kRows; i++)
            intact = intact && block.data()[i] == value_of(number, i);
        board.owners[number].intact = intact;
    }
};

struct Reader {
    Shared& board;
    std::unique_ptr<FabricWire> wire;
    int owners;

    Reader(Shared& of, const FabricChoice& choice, int count = 1)
        : board(of), wire(open_wire(choice, 0)), owners(count)
    {
        for (int i = 0; i < owners; i++)
            until(board.owners[i].there, 1);
        attach();
    }
    ~Reader()
    {
        for (int i = 0; i < owners; i++)
            board.owners[i].over = 1;
    }
    void attach()
    {
        std::vector<std::string> addresses{""};
        std::vector<Transport::Attach> segments;
        for (int i = 0; i < owners; i++) {
            const Shown& shown = board.owners[i];
            addresses.emplace_back(shown.address, shown.address_bytes);
            segments.push_back({static_cast<uint32_t>(i + 1), 0, shown.bytes, shown.key});
        }
        if (!wire->meet(addresses) || !wire->attach(segments, 1000))
            _exit(5);
    }
    Run run(int owner, uint64_t from, std::byte* to, uint64_t bytes) const
    {
        return {
            {static_cast<uint32_t>(owner + 1), 0, board.owners[owner].offset + from}, to, bytes, 0};
    }
    // Posts, and takes what comes until all ended or the time is up; then gives up.
    Error read(Batch& batch, int64_t ms = 10'000) const
    {
        if (const auto posted = wire->post(batch); !posted)
            return posted.error();
        const auto deadline = clock::Deadline::after_ms(ms);
        while (!wire->progress(batch)) {
            if (deadline.passed()) {
                wire->abandon(batch);
                return {DDS_ERR_TIMEOUT, -1, "no progress"};
            }
            clock::sleep(20'000);  // a yield may cost seconds where others want the processor
        }
        return batch.error;
    }
    Error read(int owner, uint64_t from, std::byte* to, uint64_t bytes, int64_t ms = 10'000) const
    {
        Batch batch;
        batch.runs.push_back(run(owner, from, to, bytes));
        return read(batch, ms);
    }
    static bool right(int owner, uint64_t from, const std::byte* at, uint64_t bytes)
    {
        for (uint64_t i = 0; i < bytes; i++)
            if (at[i] != value_of(owner, from + i))
                return false;
        return true;
    }
};

inline Error wrong(const std::string& what) { return {DDS_ERR_INTERNAL, -1, what}; }
#define EXPECT(what)                                                                 \
    do {                                                                             \
        if (!(what))                                                                 \
            return wrong(std::string(#what) + ", line " + std::to_string(__LINE__)); \
    } while (0)

template <class Work>
void with_shared(const Work& work)
{
    auto* board = static_cast<Shared*>(
        mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    work(*board);
    munmap(board, sizeof(Shared));
}

// The providers that read from this node, as a process that is gone by now found them.
inline const std::vector<std::string>& providers()
{
    static const std::vector<std::string> names = [] {
        std::vector<std::string> found;
        with_shared([&](Shared& board) {
            const auto looked = in_processes(1, [&](int) -> Error {
                const auto offers = fabric_offers({"", "", true});
                if (!offers)
                    return offers.error();
                board.offers = *offers;
                return kFine;
            });
            for (const FabricOffer& offer : board.offers.all())
                if (found.empty() || found.back() != offer.provider)
                    found.emplace_back(offer.provider);
            if (found.empty())
                print_message("no provider: %s\n", looked[0].text);
        });
        return found;
    }();
    return names;
}

inline void for_each_provider(const std::function<void(const std::string&)>& test)
{
    for (const std::string& provider : providers()) {
        print_message("%s\n", provider.c_str());
        test(provider);
    }
}

// `count` owners, as they are made by default, and a reader that does `work`.
template <class Work>
std::vector<Outcome> with_owners(const std::string& provider, int count, const Work& work,
                                 FabricLands lands = FabricLands::as_asked)
{
    std::vector<Outcome> outcomes;
    with_shared([&](Shared& board) {
        outcomes = in_processes(count + 1, [&](int rank) -> Error {
            if (rank == 0) {
                Reader reader(board, choice_of(provider, lands), count);
                return work(reader, board);
            }
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            const Owner owner(board, provider, rank - 1);
            owner.stay(board, rank - 1);
            return board.owners[rank - 1].intact ? kFine : wrong("its memory was written to");
        });
    });
    return outcomes;
}

}  // namespace unit
