// How readers of other jobs get the memory of this node's owners, which are processes of their own.
#include "lobby.hpp"

#include <atomic>
#include <cerrno>

#include "transport/registry.hpp"

namespace {

using namespace dds;
using namespace unit;

void a_reader_sees_the_rows_where_they_lie(void**)
{
    Place place;
    Owner owner(place.scratch.path());
    struct stat st;
    assert_int_equal(stat(place.scratch.at(owner.name()).c_str(), &st), 0);
    assert_true(S_ISSOCK(st.st_mode) && (st.st_mode & 07777) == 0600);
    {
        const auto visitor = place.visit(owner.card());
        assert_int_equal(visitor->pid(), owner.pid());
        const auto segment = visitor->ask(kSegment, owner.bytes(), kPatience);
        assert_true(bool(segment));
        owner.check(*segment);
        const auto other = visitor->ask(kSegment + 1, owner.bytes(), kPatience);
        assert_int_equal(other.error().code, DDS_ERR_NOTFOUND);
        assert_int_equal(other.error().rank, 3);
        unit::assert_says(other.error().text, "rank 3");
        const auto larger = visitor->ask(kSegment, owner.bytes() + 4096, kPatience);
        assert_int_equal(larger.error().code, DDS_ERR_CORRUPT);
        owner.tell('w');
        assert_int_equal(visitor->ask(kSegment, owner.bytes(), kPatience).error().code,
                         DDS_ERR_NOTFOUND);
        owner.tell('o');
        assert_true(bool(visitor->ask(kSegment, owner.bytes(), kPatience)));
        assert_false(visitor->gone());
        owner.check(*segment);
    }
    assert_true(within(5, [&] { return owner.visits() == 0; }));
    assert_int_equal(owner.end(), 0);
    assert_true(place.scratch.names().empty());
    place.refused(owner.card(), DDS_ERR_STALE, "no such socket");
}

void the_directory_may_be_deeper_than_an_address_is_long(void**)
{
    const Scratch scratch;
    const std::string path = scratch.path() + "/" + std::string(200, 'd');
    assert_int_equal(mkdir(path.c_str(), 0700), 0);
    Owner owner(path);
    Place place;
    place.directory = open_directory(path);
    place.serves(owner);
    // And by a descriptor of many digits, where the limits allow it.
    rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    place.directory = Fd(fcntl(place.directory.get(), F_DUPFD_CLOEXEC,
                               static_cast<int>(std::min<rlim_t>(limit.rlim_cur, 1048576)) - 1));
    assert_true(bool(place.directory));
    place.serves(owner);
}

void the_transport_of_a_job_serves_a_reader_of_another(void**)
{
    Place place;
    constexpr int kOwners = 3, kReaders = 6;
    std::vector<std::unique_ptr<Owner>> owners;
    for (int rank = 0; rank < kOwners; rank++)
        owners.push_back(std::make_unique<Owner>(place.scratch.path(), 1000 * rank));
    const auto outcomes = unit::in_processes(kReaders, [&](int) -> Error {
        Visitors visitors;
        std::vector<Transport::Attach> segments;
        for (int rank = 0; rank < kOwners; rank++) {
            const Owner& owner = *owners[static_cast<size_t>(rank)];
            auto visitor = Visitor::call(place.directory.get(), owner.card(rank), kPatience);
            if (!visitor)
                return visitor.error();
            visitors.add(rank, std::move(*visitor));
            segments.push_back({static_cast<uint32_t>(rank), kSegment, owner.bytes(), {}});
        }
        auto shm = open_transport("shm", {nullptr, 0, "", nullptr, nullptr, &visitors});
        if (!shm)
            return shm.error();
        DDS_TRY((*shm)->attach(segments, kPatience));
        Key key;
        if ((*shm)->expose(1, Block{}, key))
            return fail(DDS_ERR_INTERNAL, "a reader showed memory");
        std::vector<std::byte> out(kOwners * 1000);
        Batch batch;
        for (uint32_t rank = 0; rank < kOwners; rank++)
            batch.runs.push_back({{rank, kSegment, sizeof(Arenas::Header) + 77},
                                  out.data() + rank * 1000,
                                  1000,
                                  rank});
        DDS_TRY((*shm)->post(batch));
        if (!(*shm)->progress(batch))
            return fail(DDS_ERR_INTERNAL, "not done");
        for (size_t rank = 0; rank < kOwners; rank++)
            for (size_t i = 0; i < 1000; i++)
                if (out[rank * 1000 + i] != byte_of(1000 * static_cast<int>(rank), 77 + i) ||
                    (*shm)->mapped(static_cast<uint32_t>(rank),
                                   kSegment)[sizeof(Arenas::Header) + 77 + i] !=
                        out[rank * 1000 + i])
                    return fail(DDS_ERR_INTERNAL, "byte %zu of rank %zu is wrong", i, rank);
        (*shm)->detach(1, kSegment);
        if ((*shm)->attached(1, kSegment) || !(*shm)->attached(2, kSegment))
            return fail(DDS_ERR_INTERNAL, "not the segment that was detached");
        const std::vector<Transport::Attach> stranger{{9, kSegment, 4096, {}}};
        if ((*shm)->attach(stranger, kPatience))
            return fail(DDS_ERR_INTERNAL, "a rank that is not visited was attached");
        return unit::kFine;
    });
    unit::assert_all(outcomes, DDS_SUCCESS);
}

void what_a_reader_gets_cannot_be_written(void**)
{
    Place place;
    const Owner owner(place.scratch.path());
    const auto visitor = place.visit(owner.card());
    const auto segment = visitor->ask(kSegment, owner.bytes(), kPatience);
    assert_true(bool(segment));
    assert_int_equal(mprotect(segment->data(), 4096, PROT_READ | PROT_WRITE), -1);
    assert_int_equal(errno, EACCES);

    // With the descriptor itself, which the library closes once it is mapped.
    const Fd raw = place.knock(owner);
    say(raw, hello().view());
    assert_int_equal(next(raw)->code, DDS_SUCCESS);
    LobbyMessage question = LobbyMessage::make(LobbyMessage::kAsk);
    question.id = kSegment;
    say(raw, question.view());
    Fd descriptor;
    assert_int_equal(next(raw, &descriptor)->code, DDS_SUCCESS);
    assert_true(bool(descriptor));
    const Fd again(
        open(("/proc/self/fd/" + std::to_string(descriptor.get())).c_str(), O_RDWR | O_CLOEXEC));
    for (const int fd : {descriptor.get(), again.get()}) {
        if (fd < 0)
            continue;
        assert_int_equal(pwrite(fd, "x", 1, 0), -1);
        assert_int_equal(errno, EPERM);
        assert_ptr_equal(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0),
                         MAP_FAILED);
        assert_int_equal(errno, EPERM);
        assert_int_equal(ftruncate(fd, 0), -1);
        assert_int_equal(errno, EPERM);
    }
    owner.check(*segment);
}

void an_owner_that_closes_its_lobby_is_gone_too(void**)
{
    Place place;
    Owner owner(place.scratch.path());
    const auto visitor = place.visit(owner.card());
    assert_int_equal(owner.end(), 0);
    assert_true(within(1, [&] { return visitor->gone(); }));
    assert_true(place.scratch.names().empty());
}

void an_answer_that_comes_too_late_is_not_taken_for_the_next(void**)
{
    Place place;
    const Owner owner(place.scratch.path());
    const auto visitor = place.visit(owner.card());
    owner.stop();
    const double begun = unit::now();
    for (const int64_t patience : {100, 200}) {
        const auto late = visitor->ask(kSegment, owner.bytes(), patience);
        assert_int_equal(late.error().code, DDS_ERR_TIMEOUT);
        unit::assert_says(late.error().text, "segment 7 within");
    }
    place.refused(owner.card(), DDS_ERR_TIMEOUT, "within 100 ms", 100);
    assert_true(unit::now() - begun > 0.35 && unit::now() - begun < 3);
    owner.kill(SIGCONT);
    assert_int_equal(visitor->ask(99, owner.bytes(), kPatience).error().code, DDS_ERR_NOTFOUND);
    const auto segment = visitor->ask(kSegment, owner.bytes(), kPatience);
    assert_true(bool(segment));
    owner.check(*segment);
}

// In one process, so that a checker of threads sees both sides.
void segments_come_and_go_while_threads_ask(void**)
{
    const Place place;
    auto lobby = std::move(*Lobby::open(place.directory.get(), kStore, kRun));
    const Visitor::Owner card{0, lobby->name(), kStore, kRun};
    const auto make = [] {
        return std::make_shared<Segment>(
            std::move(*Segment::create("unit-lobby", 4096, Sharing::read, false)));
    };
    const auto always = make();
    lobby->offer(0, *always, always);
    std::atomic<bool> over{false};
    std::thread owner([&] {
        while (!over) {
            auto passing = make();
            std::weak_ptr<Segment> held = passing;
            lobby->offer(1, *passing, passing);
            passing.reset();
            usleep(100);
            lobby->withdraw(1);
            if (!held.expired())
                abort();
            usleep(100);
        }
    });
    auto visitor = place.visit(card);
    std::atomic<int> there{0}, missing{0};
    const auto outcomes = unit::in_threads(4, [&](int rank) -> Error {
        const double until = unit::now() + 20;
        for (int i = 0; i < 300 || ((!there || !missing) && unit::now() < until); i++) {
            DDS_LET(kept, visitor->ask(0, 4096, kPatience));
            const auto passing = visitor->ask(1, 4096, kPatience);
            if (!passing && passing.error().code != DDS_ERR_NOTFOUND)
                return passing.error();
            (passing ? there : missing)++;
            if (i % 50 == rank) {
                DDS_LET(another, Visitor::call(place.directory.get(), card, kPatience));
                DDS_LET(same, another->ask(0, 4096, kPatience));
            }
        }
        return unit::kFine;
    });
    over = true;
    owner.join();
    unit::assert_all(outcomes, DDS_SUCCESS);
    print_message("%d there, %d not\n", there.load(), missing.load());
    assert_true(there > 0 && missing > 0);
    lobby.reset();
    assert_true(within(1, [&] { return visitor->gone(); }));
    visitor.reset();
    assert_true(place.scratch.names().empty());
}

}  // namespace

int main()
{
    signal(SIGPIPE, SIG_IGN);
    const CMUnitTest tests[] = {
        cmocka_unit_test(a_reader_sees_the_rows_where_they_lie),
        cmocka_unit_test(the_directory_may_be_deeper_than_an_address_is_long),
        cmocka_unit_test(the_transport_of_a_job_serves_a_reader_of_another),
        cmocka_unit_test(what_a_reader_gets_cannot_be_written),
        cmocka_unit_test(an_owner_that_closes_its_lobby_is_gone_too),
        cmocka_unit_test(an_answer_that_comes_too_late_is_not_taken_for_the_next),
        cmocka_unit_test(segments_come_and_go_while_threads_ask),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
