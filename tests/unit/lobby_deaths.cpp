// What is left of a lobby when an owner or a reader dies or forks: of the one its memory, of the other
// nothing.
#include "lobby.hpp"

#include <cerrno>

#include "node/lobby_name.hpp"

namespace {

using namespace dds;
using namespace unit;

void a_dead_owner_is_noticed_and_its_memory_stays(void**)
{
    Place place;
    Owner owner(place.scratch.path());
    const auto visitor = place.visit(owner.card());
    const auto segment = visitor->ask(kSegment, owner.bytes(), kPatience);
    assert_true(bool(segment));
    assert_false(visitor->gone());
    owner.kill();
    assert_true(within(1, [&] { return visitor->gone(); }));
    owner.check(*segment);
    owner.end();
    owner.check(*segment);
    const auto more = visitor->ask(kSegment, owner.bytes(), kPatience);
    assert_int_equal(more.error().code, DDS_ERR_PEER);
    unit::assert_says(more.error().text, "rank 3");
    place.refused(owner.card(), DDS_ERR_PEER, owner.name().c_str());
    assert_int_equal(*Lobby::sweep(place.directory.get()), 1);
    place.refused(owner.card(), DDS_ERR_STALE, "no such socket");
}

void a_reader_that_is_killed_costs_the_owner_nothing(void**)
{
    Place place;
    Owner owner(place.scratch.path());
    constexpr int kRounds = DDS_SANITIZED ? 300 : 2'000;
    long before = 0;
    for (int i = 0; i < kRounds + 100; i++) {
        if (i == 100) {
            assert_true(within(5, [&] { return owner.visits() == 0; }));
            before = owner.resident_kib();
        }
        const pid_t child = fork();
        if (child == 0) {
            if (i % 4 == 0)
                raise(SIGKILL);
            auto visitor = Visitor::call(place.directory.get(), owner.card(), kPatience);
            const auto segment = visitor && i % 4 > 1
                                     ? (*visitor)->ask(kSegment, owner.bytes(), kPatience)
                                     : fail(DDS_ERR_STATE, "not asked");
            if (!visitor || (i % 4 > 1 && !segment))
                _exit(1);
            raise(SIGKILL);
        }
        if (i % 4 == 3)
            ::kill(child, SIGKILL);  // wherever it is
        int status = 0;
        waitpid(child, &status, 0);
        if (!WIFSIGNALED(status))
            fail_msg("round %d: a reader was not served", i);
    }
    assert_true(within(5, [&] { return owner.visits() == 0; }));
    const long growth = owner.resident_kib() - before;
    print_message("%d readers killed: %ld KiB more, %d descriptors more\n", kRounds, growth,
                  owner.visits());
    if (!DDS_SANITIZED)
        assert_true(growth < 256);
    place.serves(owner);
}

void what_dead_owners_left_is_swept_and_nothing_else(void**)
{
    Place place;
    Owner alive(place.scratch.path());
    Owner dead(place.scratch.path());
    dead.kill();
    dead.end();

    const filecomm::Process self = filecomm::this_process();
    const auto plant = [&](const std::string& name) {
        return bool(socket::listen_at(place.directory.get(), name));
    };
    const std::string fresh = *make_lobby_name();
    assert_true(owner_of_lobby(fresh, self)->pid == getpid());
    // This process's PID, given to it after a process that is dead.
    std::string earlier = fresh;
    earlier.back() = earlier.back() == '0' ? '1' : '0';
    assert_true(life_of(*owner_of_lobby(earlier, self)) == filecomm::Life::dead);
    // Of another boot or another PID namespace: its process is dead here, and may live there.
    std::string foreign = dead.name();
    foreign[6 + 32 + 1] = foreign[6 + 32 + 1] == '0' ? '1' : '0';
    assert_false(owner_of_lobby(foreign, self).has_value());
    std::string longer = dead.name() + "0";
    std::string spaced = dead.name();
    spaced[6] = ' ';
    for (const std::string& name : {fresh, earlier, foreign, longer, spaced})
        assert_true(plant(name));
    // Named like one that a dead owner left, and no socket.
    std::string file = dead.name();
    file[6] = file[6] == 'a' ? 'b' : 'a';
    assert_true(bool(Fd(open(place.scratch.at(file).c_str(), O_CREAT | O_WRONLY, 0600))));

    assert_int_equal(*Lobby::sweep(place.directory.get()), 2);
    assert_int_equal(*Lobby::sweep(place.directory.get()), 0);
    const auto there = [&](const std::string& name) {
        return access(place.scratch.at(name).c_str(), F_OK) == 0;
    };
    assert_false(there(dead.name()) || there(earlier));
    for (const std::string& name : {alive.name(), fresh, foreign, longer, spaced, file})
        if (!there(name))
            fail_msg("%s was swept", name.c_str());
    place.serves(alive);
}

void a_fork_of_either_side_is_not_the_end(void**)
{
    Place place;
    Owner owner(place.scratch.path());
    auto visitor = place.visit(owner.card());
    const auto segment = visitor->ask(kSegment, owner.bytes(), kPatience);
    assert_true(bool(segment));

    const pid_t child = fork();
    if (child == 0) {
        const auto more = visitor->ask(kSegment, owner.bytes(), kPatience);
        if (more || more.error().code != DDS_ERR_FORKED)
            _exit(1);
        for (size_t i = 0; i < kBytes; i++)
            if (segment->data()[sizeof(Arenas::Header) + i] != byte_of(0, i))
                _exit(2);
        visitor.reset();
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
    assert_true(bool(visitor->ask(kSegment, owner.bytes(), kPatience)));

    const pid_t orphan = owner.fork_child();
    assert_true(bool(visitor->ask(kSegment, owner.bytes(), kPatience)));
    place.serves(owner);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    owner.kill();
    // The child of the owner holds no end of ours, nor the door.
    assert_true(within(1, [&] { return visitor->gone(); }));
    owner.end();
    assert_int_equal(::kill(orphan, 0), 0);
    place.refused(owner.card(), DDS_ERR_PEER, "refused");
    ::kill(orphan, SIGKILL);
    waitpid(orphan, nullptr, 0);
    owner.check(*segment);
}

#if DDS_TESTING
void an_owner_killed_before_it_listens_leaves_what_a_sweep_removes(void**)
{
    const Place place;
    const auto outcomes = unit::in_processes(2, [&](int rank) -> Error {
        setenv("DDSTORE_FAILPOINT", rank ? "node.socket.bind:kill" : "node.socket.bind:error=18",
               1);
        const auto lobby = Lobby::open(place.directory.get(), kStore, kRun);
        return lobby ? unit::kFine : lobby.error();
    });
    assert_int_equal(outcomes[0].code, DDS_ERR_LIMIT);
    assert_int_equal(outcomes[1].code, -SIGKILL);
    assert_int_equal(place.scratch.names().size(), 1);
    assert_int_equal(*Lobby::sweep(place.directory.get()), 1);
    assert_true(place.scratch.names().empty());
}
#endif

}  // namespace

int main()
{
    signal(SIGPIPE, SIG_IGN);
    const CMUnitTest tests[] = {
#if DDS_TESTING
        // First: a process reads its failpoints once, when it passes one.
        cmocka_unit_test(an_owner_killed_before_it_listens_leaves_what_a_sweep_removes),
#endif
        cmocka_unit_test(a_dead_owner_is_noticed_and_its_memory_stays),
        cmocka_unit_test(a_reader_that_is_killed_costs_the_owner_nothing),
        cmocka_unit_test(what_dead_owners_left_is_swept_and_nothing_else),
        cmocka_unit_test(a_fork_of_either_side_is_not_the_end),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
