// What goes wrong over libfabric: owners that die, stop, come back as others, keys that are wrong, a
// provider that does not say whose an error is.  A byte that is not the owner's is never a success.
#include <arpa/inet.h>

#include "fabric_stranger.hpp"

namespace {

using namespace unit;

constexpr std::byte kCanary{0xc5};

bool untouched(const std::vector<std::byte>& memory)
{
    return memory == std::vector<std::byte>(memory.size(), kCanary);
}

void set_key(Shown& shown, const FabricKey& key)
{
    memcpy(shown.key.bytes.data(), &key, sizeof key);
}

void a_wrong_key_gives_no_byte(void**)
{
    for_each_provider([](const std::string& provider) {
        const auto outcomes = with_owners(provider, 1, [](Reader& reader, Shared& board) -> Error {
            const FabricKey right = key_of(board.owners[0]);
            FabricKey other = right;
            for (const uint64_t key : {right.key + 1, uint64_t{0}, uint64_t{0x1234567890}}) {
                // With the proof that an arena begins with, and without.
                for (const uint32_t arena : {1u, 0u}) {
                    other.key = key;
                    other.arena = arena;
                    set_key(board.owners[0], other);
                    reader.attach();
                    std::vector<std::byte> out(10'000, kCanary);
                    const double begun = now();
                    const Error error = reader.read(0, 0, out.data(), out.size());
                    EXPECT(error.code == DDS_ERR_PEER || error.code == DDS_ERR_STALE);
                    EXPECT(error.rank == 1 && now() - begun < 5);
                    EXPECT(untouched(out));
                }
            }
            set_key(board.owners[0], right);
            reader.attach();
            std::vector<std::byte> out(10'000);
            const Error error = reader.read(0, 5, out.data(), out.size());
            EXPECT(error.code || Reader::right(0, 5, out.data(), out.size()));
            dds_stats_t stats{};
            reader.wire->tell(stats);
            EXPECT(stats.retries > 0);
            return error;
        });
        assert_all(outcomes, DDS_SUCCESS);
    });
}

// The key fits, but what it opens is another run's arena.
void memory_that_does_not_prove_itself_is_stale(void**)
{
    for_each_provider([](const std::string& provider) {
        const auto outcomes = with_owners(provider, 1, [](Reader& reader, Shared& board) -> Error {
            FabricKey key = key_of(board.owners[0]);
            key.incarnation++;
            set_key(board.owners[0], key);
            reader.attach();
            std::vector<std::byte> out(10'000, kCanary);
            const Error error = reader.read(0, 0, out.data(), out.size());
            EXPECT(error.code == DDS_ERR_STALE && error.rank == 1 && untouched(out));
            return kFine;
        });
        assert_all(outcomes, DDS_SUCCESS);
    });
}

void a_read_past_the_end_stays_at_home(void**)
{
    for_each_provider([](const std::string& provider) {
        const auto outcomes = with_owners(provider, 1, [](Reader& reader, Shared& board) -> Error {
            std::vector<std::byte> out(4096, kCanary);
            for (const uint64_t from : {board.owners[0].bytes - 4000, ~uint64_t{0} - 5}) {
                Batch batch;
                batch.runs.push_back({{1, 0, from}, out.data(), out.size(), 0});
                EXPECT(reader.read(batch).code == DDS_ERR_RANGE && untouched(out));
            }
            Batch batch;
            batch.runs.push_back({{1, 77, 0}, out.data(), out.size(), 0});
            EXPECT(reader.read(batch).code == DDS_ERR_STATE);
            EXPECT(reader.read(0, 0, out.data(), 4096).code == DDS_SUCCESS);
            dds_stats_t stats{};
            reader.wire->tell(stats);
            EXPECT(stats.retries == 0);
            return kFine;
        });
        assert_all(outcomes, DDS_SUCCESS);
    });
}

void a_killed_owner_is_a_dead_peer_within_a_second(void**)
{
    for_each_provider([](const std::string& provider) {
        const auto outcomes = with_owners(provider, 2, [](Reader& reader, Shared& board) -> Error {
            std::vector<std::byte> out(size_t{20} << 20);
            EXPECT(reader.read(0, 0, out.data(), 100).code == DDS_SUCCESS);
            Batch batch;
            for (size_t at = 0; at + 8192 <= out.size(); at += 8192)
                batch.runs.push_back(reader.run(0, at, out.data() + at, 8192));
            EXPECT(reader.wire->post(batch));
            EXPECT(!reader.wire->progress(batch));
            kill(board.owners[0].pid, SIGKILL);
            const double begun = now();
            while (!reader.wire->progress(batch))
                EXPECT(now() - begun < 5);
            const double took = now() - begun;
            EXPECT(batch.error.code == DDS_ERR_PEER && batch.error.rank == 1);
            for (const Run& run : batch.runs)
                EXPECT(run.code == DDS_ERR_PEER ||
                       Reader::right(0, run.from.offset - board.owners[0].offset, run.to, 8192));
            if (took > 1)
                return wrong("took " + std::to_string(took) + " s");
            EXPECT(reader.read(1, 3, out.data(), 5000).code == DDS_SUCCESS);
            EXPECT(Reader::right(1, 3, out.data(), 5000));
            // And again, in a batch with one that is there.
            Batch both;
            both.runs.push_back(reader.run(0, 0, out.data(), 64));
            both.runs.push_back(reader.run(1, 0, out.data() + 64, 64));
            const double again = now();
            EXPECT(reader.read(both).code == DDS_ERR_PEER && now() - again < 1);
            EXPECT(both.runs[1].code == DDS_SUCCESS && Reader::right(1, 0, out.data() + 64, 64));
            return kFine;
        });
        assert_int_equal(outcomes[1].code, -SIGKILL);
        if (outcomes[0].code || outcomes[2].code)
            fail_msg("%s; %s", outcomes[0].text, outcomes[2].text);
    });
}

// Between two reads: no read of it is under way whose error would tell.
void an_owner_that_died_meanwhile_is_a_dead_peer_too(void**)
{
    for_each_provider([](const std::string& provider) {
        const auto outcomes = with_owners(provider, 1, [](Reader& reader, Shared& board) -> Error {
            std::vector<std::byte> out(5000);
            EXPECT(reader.read(0, 0, out.data(), out.size()).code == DDS_SUCCESS);
            kill(board.owners[0].pid, SIGKILL);
            clock::sleep(100 * clock::kMillisecond);
            const double begun = now();
            const Error error = reader.read(0, 0, out.data(), out.size());
            EXPECT(error.code == DDS_ERR_PEER && error.rank == 1 && now() - begun < 2);
            return kFine;
        });
        assert_int_equal(outcomes[1].code, -SIGKILL);
        if (outcomes[0].code)
            fail_msg("%s", outcomes[0].text);
    });
}

// Stopped past the deadline: nothing lands afterwards, and it is not taken for dead.
void a_stopped_owner_is_slow_and_not_dead(void**)
{
    for_each_provider([](const std::string& provider) {
        const auto outcomes = with_owners(provider, 1, [](Reader& reader, Shared& board) -> Error {
            constexpr size_t kBytes = size_t{6} << 20;
            auto* out = static_cast<std::byte*>(
                mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
            EXPECT(reader.read(0, 0, out, 64).code == DDS_SUCCESS);
            for (int round = 0; round < 2; round++) {  // connected, and with a new connection
                kill(board.owners[0].pid, SIGSTOP);
                clock::sleep(20 * clock::kMillisecond);
                const Error error = reader.read(0, 0, out, kBytes, 700);
                mprotect(out, kBytes, PROT_NONE);
                kill(board.owners[0].pid, SIGCONT);
                if (error.code != DDS_ERR_TIMEOUT)
                    return wrong("stopped, but: " + std::to_string(error.code) + " " + error.text);
                clock::sleep(300 * clock::kMillisecond);  // a byte that lands now is a fault
                mprotect(out, kBytes, PROT_READ | PROT_WRITE);
            }
            const Error error = reader.read(0, 11, out, kBytes);
            EXPECT(error.code || Reader::right(0, 11, out, kBytes));
            munmap(out, kBytes);
            return error;
        });
        assert_all(outcomes, DDS_SUCCESS);
    });
}

// The owner stops while an answer is under way, of which a part has come, and goes on once the reader
// has given up.
Error stop_in_an_answer(const Reader& reader, Transport& wire, pid_t owner,
                        std::vector<std::byte>& out)
{
    Batch batch;
    batch.runs.push_back(reader.run(0, 0, out.data(), out.size()));
    out[0] = kCanary;
    EXPECT(wire.post(batch));
    while (out[0] == kCanary)
        EXPECT(!wire.progress(batch));
    kill(owner, SIGSTOP);
    const auto deadline = clock::Deadline::after_ms(200);
    while (!deadline.passed() && !wire.progress(batch)) {}
    wire.abandon(batch);
    const std::vector<std::byte> then = out;
    kill(owner, SIGCONT);
    clock::sleep(100 * clock::kMillisecond);
    EXPECT(out == then);
    return kFine;
}

void an_owner_that_stops_in_the_middle_of_an_answer_is_given_up(void**)
{
    for_each_provider([](const std::string& provider) {
        const auto outcomes = with_owners(provider, 1, [](Reader& reader, Shared& board) -> Error {
            std::vector<std::byte> out(size_t{20} << 20);
            for (int round = 0; round < 5; round++) {
                EXPECT(reader.read(0, 0, out.data(), 64).code == DDS_SUCCESS);
                const Error error =
                    stop_in_an_answer(reader, *reader.wire, board.owners[0].pid, out);
                if (error.code)
                    return error;
            }
            const Error error = reader.read(0, 7, out.data(), out.size());
            EXPECT(error.code || Reader::right(0, 7, out.data(), out.size()));
            return error;
        });
        assert_all(outcomes, DDS_SUCCESS);
    });
}

void what_a_child_gives_up_is_not_its_parents(void**)
{
    if (DDS_SANITIZED)  // its allocator may be locked by the thread that serves, and is in the child
        skip();
    for_each_provider([](const std::string& provider) {
        const auto outcomes = with_owners(provider, 1, [](Reader& reader, Shared& board) -> Error {
            std::vector<std::byte> out(size_t{20} << 20);
            EXPECT(reader.read(0, 0, out.data(), 64).code == DDS_SUCCESS);
            const pid_t child = fork();
            if (child == 0) {
                auto wire = reader.wire->in_child();
                _exit(wire ? stop_in_an_answer(reader, **wire, board.owners[0].pid, out).code : 1);
            }
            int status = 1;
            while (waitpid(child, &status, WNOHANG) == 0) {  // it reads all the time
                EXPECT(reader.read(0, 7, out.data(), 100'000).code == DDS_SUCCESS);
                EXPECT(Reader::right(0, 7, out.data(), 100'000));
            }
            EXPECT(status == 0);
            dds_stats_t stats{};
            reader.wire->tell(stats);
            EXPECT(stats.retries == 0);
            return kFine;
        });
        assert_all(outcomes, DDS_SUCCESS);
    });
}

int free_port()
{
    const int probe = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in any{};
    any.sin_family = AF_INET;
    any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t bytes = sizeof any;
    ::bind(probe, reinterpret_cast<sockaddr*>(&any), sizeof any);
    getsockname(probe, reinterpret_cast<sockaddr*>(&any), &bytes);
    close(probe);
    return ntohs(any.sin_port);
}

// Another process with the address of one that died, and keys and data of its own.
void an_owner_that_came_back_is_not_the_one_before(void**)
{
    for_each_provider([](const std::string& provider) {
        const std::string port = std::to_string(free_port());
        std::vector<Outcome> outcomes;
        with_shared([&](Shared& board) {
            outcomes = in_processes(3, [&](int rank) -> Error {
                if (rank > 0) {
                    // Both at one port.
                    for (const char* name : {"FI_TCP_PORT_LOW_RANGE", "FI_TCP_PORT_HIGH_RANGE",
                                             "FI_NET_PORT_LOW_RANGE", "FI_NET_PORT_HIGH_RANGE"})
                        setenv(name, port.c_str(), 1);
                    if (rank == 2)
                        until(board.flags[0], 1);
                    prctl(PR_SET_PDEATHSIG, SIGKILL);
                    const Owner owner(board, provider, rank - 1, static_cast<uint64_t>(rank));
                    owner.stay(board, rank - 1);
                    return kFine;
                }
                Reader reader(board, choice_of(provider));
                std::vector<std::byte> out(100'000);
                EXPECT(reader.read(0, 0, out.data(), out.size()).code == DDS_SUCCESS);
                kill(board.owners[0].pid, SIGKILL);
                clock::sleep(50 * clock::kMillisecond);
                board.flags[0] = 1;
                until(board.owners[1].there, 1);
                const Shown &old = board.owners[0], &back = board.owners[1];
                const bool same = old.address_bytes == back.address_bytes &&
                                  memcmp(old.address, back.address, old.address_bytes) == 0;
                reader.owners = 2;  // which its end sends away
                EXPECT(same);
                for (int i = 0; i < 3; i++) {
                    out.assign(out.size(), kCanary);
                    const Error error = reader.read(0, 0, out.data(), out.size());
                    EXPECT(error.code == DDS_ERR_STALE || error.code == DDS_ERR_PEER);
                    EXPECT(untouched(out));
                }
                return kFine;
            });
        });
        assert_int_equal(outcomes[1].code, -SIGKILL);
        if (outcomes[0].code || outcomes[2].code)
            fail_msg("%s; %s", outcomes[0].text, outcomes[2].text);
    });
}

// fi_write to what is exposed, with the right key.
Error write_to(const Shown& shown, const FabricChoice& choice)
{
    Stranger stranger;
    const Error opened = stranger.open(choice, shown);
    if (opened.code)
        return opened;
    const std::vector<std::byte> junk(8192, kCanary);
    const FabricKey key = key_of(shown);
    const double begun = now();
    ssize_t posted = -FI_EAGAIN;
    while (posted == -FI_EAGAIN && now() - begun < 5) {
        posted = stranger.write(junk.data(), junk.size(), key.base + shown.offset, key.key);
        stranger.ended();
    }
    EXPECT(posted == 0);
    // It may say that it was done.  The owner knows better.
    while (now() - begun < 6 && stranger.ended() == -FI_EAGAIN) {}
    clock::sleep(300 * clock::kMillisecond);
    return kFine;
}

void nobody_writes_to_what_is_exposed(void**)
{
    for_each_provider([](const std::string& provider) {
        const auto outcomes = with_owners(provider, 1, [&](Reader& reader, Shared& board) -> Error {
            const Error error = write_to(board.owners[0], choice_of(provider));
            if (error.code)
                return error;
            std::vector<std::byte> out(8192);
            EXPECT(reader.read(0, 0, out.data(), out.size()).code == DDS_SUCCESS);
            EXPECT(Reader::right(0, 0, out.data(), out.size()));
            return kFine;
        });
        assert_all(outcomes, DDS_SUCCESS);  // the owner's says whether its memory is as it was
    });
}

// Some providers give errors without the context of the read that failed.
ssize_t (*real_readerr)(fid_cq*, fi_cq_err_entry*, uint64_t);
ssize_t anonymous_readerr(fid_cq* queue, fi_cq_err_entry* entry, uint64_t flags)
{
    const ssize_t got = real_readerr(queue, entry, flags);
    entry->op_context = nullptr;
    entry->err = -entry->err;
    return got;
}

void an_error_of_nobody_ends_all_that_is_under_way(void**)
{
    for_each_provider([](const std::string& provider) {
        const auto outcomes = with_owners(provider, 2, [](Reader& reader, Shared& board) -> Error {
            std::vector<std::byte> out(size_t{20} << 20);
            EXPECT(reader.read(0, 0, out.data(), 100).code == DDS_SUCCESS);
            EXPECT(reader.read(1, 0, out.data(), 100).code == DDS_SUCCESS);
            Batch batch;
            for (size_t at = 0; at + 8192 <= out.size(); at += 8192)
                batch.runs.push_back(reader.run(at >= out.size() / 2, at, out.data() + at, 8192));
            EXPECT(reader.wire->post(batch));
            auto* flight = static_cast<FabricFlight*>(batch.state.get());
            fid_cq* queue = flight->context->queue();
            fi_ops_cq ops = *queue->ops;
            real_readerr = ops.readerr;
            ops.readerr = anonymous_readerr;
            queue->ops = &ops;
            kill(board.owners[0].pid, SIGKILL);
            const double begun = now();
            while (!reader.wire->progress(batch))
                EXPECT(now() - begun < 5);
            EXPECT(batch.error.code == DDS_ERR_PEER && batch.error.rank == 1);
            for (const Run& run : batch.runs)
                if (run.from.peer == 2) {
                    EXPECT(run.code == DDS_SUCCESS);
                    EXPECT(Reader::right(1, run.from.offset - board.owners[1].offset, run.to,
                                         run.bytes));
                }
            return kFine;
        });
        assert_int_equal(outcomes[1].code, -SIGKILL);
        if (outcomes[0].code || outcomes[2].code)
            fail_msg("%s; %s", outcomes[0].text, outcomes[2].text);
    });
}

}  // namespace

int main()
{
    if (providers().empty())
        return 77;
    const CMUnitTest tests[] = {
        cmocka_unit_test(a_wrong_key_gives_no_byte),
        cmocka_unit_test(memory_that_does_not_prove_itself_is_stale),
        cmocka_unit_test(a_read_past_the_end_stays_at_home),
        cmocka_unit_test(a_killed_owner_is_a_dead_peer_within_a_second),
        cmocka_unit_test(an_owner_that_died_meanwhile_is_a_dead_peer_too),
        cmocka_unit_test(a_stopped_owner_is_slow_and_not_dead),
        cmocka_unit_test(an_owner_that_stops_in_the_middle_of_an_answer_is_given_up),
        cmocka_unit_test(what_a_child_gives_up_is_not_its_parents),
        cmocka_unit_test(an_owner_that_came_back_is_not_the_one_before),
        cmocka_unit_test(nobody_writes_to_what_is_exposed),
        cmocka_unit_test(an_error_of_nobody_ends_all_that_is_under_way),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
