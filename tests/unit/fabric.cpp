// Reads over libfabric between processes, with each provider that is here.
#include <arpa/inet.h>

#include "base/log.hpp"
#include "fabric_world.hpp"

namespace {

using namespace unit;

Error runs_of_many_lengths(const Reader& reader)
{
    std::vector<std::byte> out(kRows, std::byte{0xee});
    Batch batch;
    uint64_t from = 3, to = 0;
    const uint64_t mib = uint64_t{1} << 20;
    for (const uint64_t bytes : {uint64_t{0}, uint64_t{1}, uint64_t{64}, uint64_t{4096}, mib + 3,
                                 uint64_t{0}, 9 * mib + 5, uint64_t{3}, 8 * mib, uint64_t{0}}) {
        batch.runs.push_back(reader.run(0, from, out.data() + to, bytes));
        from += bytes + 4099;
        to += bytes;
    }
    const Error error = reader.read(batch);
    if (error.code)
        return error;
    for (const Run& run : batch.runs) {
        EXPECT(run.code == DDS_SUCCESS);
        EXPECT(
            Reader::right(0, run.from.offset - reader.board.owners[0].offset, run.to, run.bytes));
    }
    for (uint64_t i = to; i < out.size(); i++)
        EXPECT(out[i] == std::byte{0xee});
    return kFine;
}

void runs_of_any_length_arrive_whole(void**)
{
    for_each_provider([](const std::string& provider) {
        assert_all(
            with_owners(provider, 1,
                        [](Reader& reader, Shared&) { return runs_of_many_lengths(reader); }),
            DDS_SUCCESS);
    });
}

void rows_may_land_in_library_memory_first(void**)
{
    for_each_provider([](const std::string& provider) {
        assert_all(with_owners(
                       provider, 1,
                       [](Reader& reader, Shared&) -> Error {
                           const Error error = runs_of_many_lengths(reader);
                           dds_stats_t stats{};
                           reader.wire->tell(stats);
                           EXPECT(error.code || stats.staged_bytes > uint64_t{17} << 20);
                           return error;
                       },
                       FabricLands::staged),
                   DDS_SUCCESS);
    });
}

Error many_rows(const Reader& reader, int owners, int n, unsigned seed)
{
    std::vector<std::byte> out(static_cast<size_t>(n) * 512);
    Batch batch;
    for (int owner = 0; owner < owners; owner++)
        for (int i = owner; i < n; i += owners) {
            seed = seed * 1664525 + 1013904223;
            batch.runs.push_back(reader.run(owner, seed % (kRows - 512),
                                            out.data() + static_cast<size_t>(i) * 512,
                                            1 + (seed >> 9) % 512));
        }
    const Error error = reader.read(batch);
    if (error.code)
        return error;
    for (const Run& run : batch.runs) {
        const int owner = static_cast<int>(run.from.peer) - 1;
        EXPECT(Reader::right(owner, run.from.offset - reader.board.owners[owner].offset, run.to,
                             run.bytes));
    }
    return kFine;
}

// Reads `bytes` into `to`; how much of it came by way of the library's memory, or -1.
int64_t staged_of(Reader& reader, std::byte* to, uint64_t bytes)
{
    dds_stats_t before{}, after{};
    reader.wire->tell(before);
    Batch batch;
    batch.runs.push_back(reader.run(0, 77, to, bytes));
    const Error error = reader.read(batch);
    reader.wire->tell(after);
    const uint64_t staged = after.staged_bytes - before.staged_bytes;
    const bool right = error.code == DDS_SUCCESS && Reader::right(0, 77, to, bytes) &&
                       batch.unregistered == (staged ? 1 : 0);
    return right ? static_cast<int64_t>(staged) : -1;
}

void registered_memory_and_its_slices_are_read_into_directly(void**)
{
    for_each_provider([](const std::string& provider) {
        const auto outcomes = with_owners(
            provider, 1,
            [](Reader& reader, Shared&) -> Error {
                std::vector<std::byte> out(100'000), other(5'000);
                FabricWire& wire = *reader.wire;
                std::byte* to = out.data();
                EXPECT(staged_of(reader, to, 64) == 64);
                EXPECT(wire.register_local(out));
                EXPECT(wire.register_local(out));
                EXPECT(wire.register_local(std::span(out).subspan(3'000, 100)));
                EXPECT(staged_of(reader, to, out.size()) == 0);
                EXPECT(staged_of(reader, to + 3'000, 100) == 0);
                EXPECT(staged_of(reader, to + 3'010, 4'000) == 0);  // past the slice's end
                EXPECT(staged_of(reader, to + 99'999, 1) == 0);
                EXPECT(staged_of(reader, other.data(), other.size()) == 5'000);
                wire.unregister_local(to);
                EXPECT(staged_of(reader, to + 3'010, 50) == 0);
                EXPECT(staged_of(reader, to, 64) == 64);
                wire.unregister_local(to + 3'000);
                EXPECT(staged_of(reader, to + 3'010, 50) == 50);
                return kFine;
            },
            FabricLands::registered);
        assert_all(outcomes, DDS_SUCCESS);
    });
}

// It may be registered for as long as reads take, and go while they are under way.
void what_is_under_way_keeps_its_registration(void**)
{
    for_each_provider([](const std::string& provider) {
        const auto outcomes = with_owners(
            provider, 1,
            [](Reader& reader, Shared&) -> Error {
                std::vector<std::byte> out(kRows);
                EXPECT(reader.wire->register_local(out));
                Batch batch;
                batch.runs.push_back(reader.run(0, 0, out.data(), out.size()));
                EXPECT(reader.wire->post(batch));
                reader.wire->unregister_local(out.data());
                while (!reader.wire->progress(batch))
                    ;
                EXPECT(batch.error.code == DDS_SUCCESS && batch.unregistered == 0);
                EXPECT(Reader::right(0, 0, out.data(), out.size()));
                return kFine;
            },
            FabricLands::registered);
        assert_all(outcomes, DDS_SUCCESS);
    });
}

void more_rows_than_the_window_come_from_two_owners(void**)
{
    for_each_provider([](const std::string& provider) {
        assert_all(
            with_owners(provider, 2,
                        [](Reader& reader, Shared&) { return many_rows(reader, 2, 3000, 7); }),
            DDS_SUCCESS);
    });
}

void several_threads_read_at_once(void**)
{
    for_each_provider([](const std::string& provider) {
        const auto outcomes = with_owners(provider, 2, [](Reader& reader, Shared&) -> Error {
            // More threads than contexts: some share one.
            for (const Outcome& outcome : in_threads(6, [&](int rank) -> Error {
                     for (int i = 0; i < 20; i++)
                         if (Error error =
                                 many_rows(reader, 2, 200, static_cast<unsigned>(rank + i));
                             error.code)
                             return error;
                     return kFine;
                 }))
                if (outcome.code)
                    return {outcome.code, -1, outcome.text};
            return kFine;
        });
        assert_all(outcomes, DDS_SUCCESS);
    });
}

// Nine batches on four contexts, three of them given up: the others are asked for again.
void a_batch_that_is_given_up_takes_no_other_with_it(void**)
{
    for_each_provider([](const std::string& provider) {
        const auto outcomes = with_owners(provider, 1, [](Reader& reader, Shared&) -> Error {
            constexpr size_t kEach = size_t{2} << 20;
            std::vector<std::vector<std::byte>> out(9, std::vector<std::byte>(kEach));
            std::vector<Batch> batches(9);
            for (size_t i = 0; i < 9; i++) {
                for (size_t at = 0; at < kEach; at += 4096)
                    batches[i].runs.push_back(reader.run(0, i * kEach + at, &out[i][at], 4096));
                EXPECT(reader.wire->post(batches[i]));
            }
            for (size_t i = 0; i < 9; i += 3) {
                reader.wire->abandon(batches[i]);
                out[i].assign(kEach, std::byte{0xdd});
            }
            for (bool all = false; !all;) {
                all = true;
                for (size_t i = 0; i < 9; i++)
                    all = (i % 3 == 0 || reader.wire->progress(batches[i])) && all;
            }
            for (size_t i = 0; i < 9; i++) {
                EXPECT(i % 3 == 0 || batches[i].error.code == DDS_SUCCESS);
                EXPECT(i % 3 == 0 || Reader::right(0, i * kEach, out[i].data(), kEach));
                EXPECT(i % 3 != 0 || out[i] == std::vector<std::byte>(kEach, std::byte{0xdd}));
            }
            return kFine;
        });
        assert_all(outcomes, DDS_SUCCESS);
    });
}

// What its threads, but for the test's own, had of a processor, and how often.  Ticks are counted by
// sampling, and a thread that wakes for a microsecond is charged a whole one by chance.
struct Worked {
    int64_t ns = 0, times = 0;
};

Worked worked(pid_t pid)
{
    const std::string tasks = "/proc/" + std::to_string(pid) + "/task";
    DIR* dir = opendir(tasks.c_str());
    Worked sum;
    while (const dirent* entry = readdir(dir)) {
        if (entry->d_name[0] == '.' || std::to_string(pid) == entry->d_name)
            continue;
        FILE* file = fopen((tasks + "/" + entry->d_name + "/schedstat").c_str(), "r");
        int64_t ns = 0, waited = 0, times = 0;
        if (file && fscanf(file, "%ld %ld %ld", &ns, &waited, &times) == 3) {
            sum.ns += ns;
            sum.times += times;
        }
        if (file)
            fclose(file);
    }
    closedir(dir);
    return sum;
}

void an_idle_owner_takes_no_processor(void**)
{
    for_each_provider([](const std::string& provider) {
        const auto outcomes = with_owners(provider, 1, [](Reader& reader, Shared& board) -> Error {
            std::byte row[64];
            EXPECT(reader.read(0, 0, row, sizeof row).code == DDS_SUCCESS);
            clock::sleep(100 * clock::kMillisecond);
            const Worked before = worked(board.owners[0].pid);
            EXPECT(before.ns > 0);
            clock::sleep(2 * clock::kSecond);
            const Worked after = worked(board.owners[0].pid);
            const int64_t took = after.ns - before.ns, times = after.times - before.times;
            // It wakes twice a second.  What that costs is the machine's and a sanitizer's, in a bad
            // minute a millisecond each; one that polls wakes thousands of times, or takes seconds.
            if (took > 20 * clock::kMillisecond || times > 50)
                return wrong(std::to_string(took) + " ns in 2 s, " + std::to_string(times) +
                             " times");
            return kFine;
        });
        assert_all(outcomes, DDS_SUCCESS);
    });
}

// The child reads nothing over what it inherited, and opens its own; neither disturbs the parent.
void a_child_gets_its_own(void**)
{
    for_each_provider([](const std::string& provider) {
        const auto outcomes = with_owners(provider, 1, [&](Reader& reader, Shared& board) -> Error {
            std::vector<std::byte> out(5000);
            EXPECT(reader.read(0, 1, out.data(), out.size()).code == DDS_SUCCESS);
            Batch under_way;
            under_way.runs.push_back(reader.run(0, 9, out.data(), out.size()));
            EXPECT(reader.wire->post(under_way));
            const auto child = in_processes(1, [&](int) -> Error {
                std::vector<std::byte> mine(5000);
                EXPECT(reader.read(0, 1, mine.data(), mine.size()).code == DDS_ERR_FORKED);
                EXPECT(reader.wire->progress(under_way) || under_way.error.code);
                EXPECT(under_way.done());
                {
                    // Not a Reader's end: that would send the owner away.
                    auto* fresh = new Reader(board, choice_of(provider));
                    EXPECT(many_rows(*fresh, 1, 300, 5).code == DDS_SUCCESS);
                    fresh->wire.reset();
                    leave_to_parent(fresh);
                }
                reader.wire.reset();
                return kFine;
            });
            if (child[0].code)
                return {child[0].code, -1, child[0].text};
            while (!reader.wire->progress(under_way)) {}
            EXPECT(under_way.error.code == DDS_SUCCESS);
            EXPECT(Reader::right(0, 9, out.data(), out.size()));
            return many_rows(reader, 1, 300, 6);
        });
        assert_all(outcomes, DDS_SUCCESS);
    });
}

// Ranks of one node listen on the loopback interface alone.
void ranks_of_one_node_are_seen_by_nobody_else(void**)
{
    for_each_provider([](const std::string& provider) {
        const auto outcomes = in_processes(1, [&](int) -> Error {
            const auto wire = open_wire(choice_of(provider), 0);
            const std::string address = wire->address();
            sockaddr_in own{};
            EXPECT(address.size() == sizeof own);
            memcpy(&own, address.data(), sizeof own);
            EXPECT(own.sin_addr.s_addr == htonl(INADDR_LOOPBACK) && own.sin_port != 0);
            // All that this process's network has listening at that port.
            FILE* table = fopen("/proc/self/net/tcp", "r");
            char line[512];
            int seen = 0;
            while (table && fgets(line, sizeof line, table)) {
                unsigned ip = 0, port = 0, state = 0;
                if (sscanf(line, " %*d: %x:%x %*x:%*x %x", &ip, &port, &state) != 3 ||
                    state != 0x0a || port != ntohs(own.sin_port))
                    continue;
                seen++;
                EXPECT(ip == htonl(INADDR_LOOPBACK));
            }
            fclose(table);
            EXPECT(seen == 1);
            return kFine;
        });
        assert_all(outcomes, DDS_SUCCESS);
    });
}

void a_wish_that_cannot_be_met_is_said_once(void**)
{
    const auto outcomes = in_processes(1, [](int) -> Error {
        static std::vector<std::string> said;
        set_log([](void*, int, const char* text) { said.emplace_back(text); }, nullptr);
        const FabricWish wish{"nosuch", "nosuch0", true};
        for (int i = 0; i < 3; i++) {
            const auto offers = fabric_offers(wish);
            EXPECT(offers);
            const auto choice = fabric_choose(offers->each[0], wish);
            EXPECT(choice && choice->offer.provider == providers().front());
            EXPECT(FabricPort::get(*choice));
        }
        EXPECT(said.size() == 2);
        EXPECT(said[0].find("DDSTORE_FABRIC is 'nosuch'") == 0);
        EXPECT(said[1].find("FABRIC_IFACE is 'nosuch0'") == 0);
        return kFine;
    });
    assert_all(outcomes, DDS_SUCCESS);
}

void an_interface_that_is_here_is_taken(void**)
{
    const auto outcomes = in_processes(1, [](int) -> Error {
        const FabricWish wish{"hsn", "lo", false};
        const auto offers = fabric_offers(wish);
        EXPECT(offers && strcmp(offers->each[0].provider, "tcp;ofi_rxm") == 0);
        const auto choice = fabric_choose(offers->each[0], wish);
        EXPECT(choice && choice->interface == "lo" && choice->address == "127.0.0.1");
        // Without it: where ranks of other nodes can reach it, or nowhere.
        const FabricWish far{"hsn", "", false};
        const auto others = fabric_offers(far);
        if (!others)
            return others.error().code == DDS_ERR_UNSUPPORTED ? kFine : others.error();
        const auto reachable = fabric_choose(others->each[0], far);
        EXPECT(reachable && reachable->interface != "lo");
        EXPECT(reachable->address != "0.0.0.0" && reachable->address.find("127.") != 0);
        return kFine;
    });
    assert_all(outcomes, DDS_SUCCESS);
}

void every_exposed_segment_has_a_key_of_its_own(void**)
{
    for_each_provider([](const std::string& provider) {
        const auto outcomes = in_processes(1, [&](int) -> Error {
            const auto wire = open_wire(choice_of(provider), 0);
            std::vector<std::byte> memory(4096);
            std::vector<uint64_t> keys;
            for (uint32_t i = 0; i < 100; i++) {
                Key key;
                EXPECT(wire->expose(i, std::span<const std::byte>(memory), key));
                FabricKey inside;
                memcpy(&inside, key.bytes.data(), sizeof inside);
                EXPECT(inside.key != 0 && inside.base == 0);
                for (const uint64_t other : keys)
                    EXPECT(other != inside.key);
                keys.push_back(inside.key);
            }
            dds_stats_t stats{};
            wire->tell(stats);
            EXPECT(stats.keys == 100);
            for (uint32_t i = 0; i < 100; i++)
                wire->unexpose(i);
            dds_stats_t after{};
            wire->tell(after);
            EXPECT(after.keys == 0);
            return kFine;
        });
        assert_all(outcomes, DDS_SUCCESS);
    });
}

}  // namespace

int main()
{
    if (providers().empty())
        return 77;
    const CMUnitTest tests[] = {
        cmocka_unit_test(runs_of_any_length_arrive_whole),
        cmocka_unit_test(rows_may_land_in_library_memory_first),
        cmocka_unit_test(registered_memory_and_its_slices_are_read_into_directly),
        cmocka_unit_test(what_is_under_way_keeps_its_registration),
        cmocka_unit_test(more_rows_than_the_window_come_from_two_owners),
        cmocka_unit_test(several_threads_read_at_once),
        cmocka_unit_test(a_batch_that_is_given_up_takes_no_other_with_it),
        cmocka_unit_test(an_idle_owner_takes_no_processor),
        cmocka_unit_test(a_child_gets_its_own),
        cmocka_unit_test(ranks_of_one_node_are_seen_by_nobody_else),
        cmocka_unit_test(a_wish_that_cannot_be_met_is_said_once),
        cmocka_unit_test(an_interface_that_is_here_is_taken),
        cmocka_unit_test(every_exposed_segment_has_a_key_of_its_own),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
