// Who knocks at a lobby and has no business there: of another store, version or user, with rubbish,
// with nothing to say, or too many.  The owner goes on serving the others.
#include "lobby.hpp"

#include <cerrno>

#include "node/lobby_name.hpp"

namespace {

using namespace dds;
using namespace unit;

void another_store_run_or_version_is_refused(void**)
{
    Place place;
    Owner owner(place.scratch.path());
    Visitor::Owner other = owner.card();
    other.store[3] ^= 1;
    place.refused(other, DDS_ERR_STALE, "another store or run");
    other = owner.card();
    other.incarnation++;
    place.refused(other, DDS_ERR_STALE, "another store or run");
    other.socket = "../" + owner.name();
    place.refused(other, DDS_ERR_ARG, "cannot be the name of a socket");
    place.serves(owner);

    LobbyMessage later = hello();
    later.version = LobbyMessage::kVersion + 1;
    const Fd raw = place.knock(owner);
    say(raw, later.view());
    const auto answer = next(raw);
    assert_int_equal(answer->code, DDS_ERR_VERSION);
    assert_int_equal(answer->version, LobbyMessage::kVersion);
    assert_false(next(raw).has_value());

    // And the other way round: the owner is of a later version.
    const std::string name = *make_lobby_name();
    const Fd door = std::move(*socket::listen_at(place.directory.get(), name));
    std::thread host([&] {
        std::optional<Fd> guest;
        while (!guest)
            guest = std::move(*socket::accept(door.get()));
        LobbyMessage welcome = LobbyMessage::make(LobbyMessage::kWelcome);
        welcome.version = LobbyMessage::kVersion + 1;
        say(*guest, welcome.view());
    });
    place.refused({5, name, kStore, kRun}, DDS_ERR_VERSION, "version 2");
    host.join();
    place.serves(owner);
}

void a_process_of_another_user_is_refused(void**)
{
    if (geteuid() != 0) {
        print_message("skipped: only root can be two users\n");
        return;
    }
    Place place;
    Owner owner(place.scratch.path());
    // Let it come as far as the door.
    chmod(place.scratch.path().c_str(), 0777);
    chmod(place.scratch.at(owner.name()).c_str(), 0666);
    const auto outcomes = unit::in_processes(1, [&](int) -> Error {
        constexpr uid_t kNobody = 65534;
        if (setresuid(kNobody, kNobody, kNobody) != 0 || prctl(PR_SET_DUMPABLE, 1) != 0)
            return fail_errno(errno, "setresuid");
        const auto visitor = Visitor::call(place.directory.get(), owner.card(), kPatience);
        if (visitor || visitor.error().code != DDS_ERR_PERM)
            return fail(DDS_ERR_INTERNAL, "not PERM");
        const Fd raw = place.knock(owner);
        say(raw, hello().view());
        if (next(raw))
            return fail(DDS_ERR_INTERNAL, "the owner let another user in");
        // Nor is its own socket trusted, or swept, by others.
        const std::string name = *make_lobby_name();
        const auto door = socket::listen_at(place.directory.get(), name);
        return door ? unit::kFine : door.error();
    });
    unit::assert_all(outcomes, DDS_SUCCESS);
    assert_int_equal(*Lobby::sweep(place.directory.get()), 0);
    assert_int_equal(place.scratch.names().size(), 2);
    place.serves(owner);
}

void rubbish_ends_the_visit_and_nothing_else(void**)
{
    Place place;
    Owner owner(place.scratch.path());
    const auto keeps = place.visit(owner.card());
    uint32_t chance = 1;
    const auto random = [&] { return chance = chance * 1664525 + 1013904223; };
    for (int i = 0; i < 300; i++) {
        Fd raw = place.knock(owner);
        const bool known = i % 2;
        if (known) {
            say(raw, hello().view());
            assert_true(next(raw).has_value());
        }
        LobbyMessage message = known ? LobbyMessage::make(LobbyMessage::kAsk) : hello();
        std::byte bytes[700] = {};
        memcpy(bytes, &message, sizeof message);
        size_t length = sizeof message;
        switch (i / 2 % 6) {
        case 0:
            bytes[random() >> 8 & 3] ^= static_cast<std::byte>(1 + (random() >> 9) % 255);
            break;
        case 1: length = (random() >> 8) % sizeof message; break;
        case 2: length = sizeof message + 1 + (random() >> 8) % 600; break;
        case 3:
            bytes[6] = static_cast<std::byte>(known ? LobbyMessage::kHello : LobbyMessage::kAsk);
            break;
        case 4: bytes[6] = static_cast<std::byte>(LobbyMessage::kAnswer); break;
        default:
            for (std::byte& byte : bytes)
                byte = static_cast<std::byte>(random() >> 24);
        }
        if (length == 0)
            length = 1;
        // Descriptors that nobody asked for are not kept.
        alignas(cmsghdr) char control[CMSG_SPACE(3 * sizeof(int))] = {};
        iovec part{bytes, length};
        msghdr header{};
        header.msg_iov = &part;
        header.msg_iovlen = 1;
        if (i % 3) {
            header.msg_control = control;
            header.msg_controllen = CMSG_SPACE(static_cast<size_t>(i % 3) * sizeof(int));
            cmsghdr* item = CMSG_FIRSTHDR(&header);
            item->cmsg_level = SOL_SOCKET;
            item->cmsg_type = SCM_RIGHTS;
            item->cmsg_len = CMSG_LEN(static_cast<size_t>(i % 3) * sizeof(int));
            const int descriptors[2] = {raw.get(), raw.get()};
            memcpy(CMSG_DATA(item), descriptors, static_cast<size_t>(i % 3) * sizeof(int));
        }
        assert_true(sendmsg(raw.get(), &header, MSG_NOSIGNAL) > 0);
        pollfd end{raw.get(), POLLRDHUP, 0};
        if (poll(&end, 1, 10'000) != 1)
            fail_msg("rubbish of kind %d is taken", i / 2 % 6);
    }
    assert_true(within(5, [&] { return owner.visits() == 1; }));
    assert_true(bool(keeps->ask(kSegment, owner.bytes(), kPatience)));
    place.serves(owner);
}

void one_that_does_not_take_its_answers_gets_no_more(void**)
{
    Place place;
    Owner owner(place.scratch.path());
    const Fd raw = place.knock(owner);
    say(raw, hello().view());
    assert_true(next(raw).has_value());
    LobbyMessage question = LobbyMessage::make(LobbyMessage::kAsk);
    question.id = kSegment;
    for (int i = 0; i < 50; i++)
        say(raw, question.view());
    assert_true(within(5, [&] { return owner.visits() == 0; }));
    // A reset, as questions were not read; then what was answered before it.
    int answers = 0;
    for (int i = 0; i < 60; i++)
        answers += next(raw).has_value();
    assert_int_equal(answers, 1);
    place.serves(owner);
}

void strangers_keep_nobody_out_and_are_dropped(void**)
{
    Place place;
    constexpr rlim_t kDescriptors = 128;
    Owner owner(place.scratch.path(), 0, kDescriptors);
    std::vector<Fd> strangers;
    // The newest stay in hand: half-open ones, more than the owner has descriptors.
    for (int i = 0; i < 10'000; i++) {
        Fd fd = place.knock(owner);
        if (strangers.size() < 300)
            strangers.push_back(std::move(fd));
        else
            strangers[static_cast<size_t>(i) % strangers.size()] = std::move(fd);
        if (i % 1000 == 999) {
            // Half, one that is being let in, and what comes and goes while they are counted.
            assert_in_range(owner.visits(), 0, kDescriptors * 3 / 4);
            place.serves(owner);
        }
    }
    assert_true(owner.visits() > 0);
    const double begun = unit::now();
    assert_true(within(10, [&] { return owner.visits() == 0; }));
    assert_true(unit::now() - begun > 2);
    place.serves(owner);
}

void there_are_only_so_many_visitors(void**)
{
    Place place;
    Owner owner(place.scratch.path(), 0, 40);
    std::vector<std::unique_ptr<Visitor>> visitors;
    for (int i = 0; i < 20; i++)
        visitors.push_back(place.visit(owner.card()));
    place.refused(owner.card(), DDS_ERR_LIMIT, "20 readers visit it");
    assert_true(within(5, [&] { return owner.visits() == 20; }));
    visitors.pop_back();
    assert_true(within(5, [&] { return owner.visits() == 19; }));
    place.serves(owner);
    for (const auto& visitor : visitors)
        assert_true(bool(visitor->ask(kSegment, owner.bytes(), kPatience)));
}

double processor_seconds(pid_t pid)
{
    FILE* file = fopen(("/proc/" + std::to_string(pid) + "/stat").c_str(), "re");
    long user = 0, system = 0;
    const bool read =
        file && fscanf(file, "%*d %*s %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %ld %ld", &user,
                       &system) == 2;
    if (file)
        fclose(file);
    return read ? static_cast<double>(user + system) / static_cast<double>(sysconf(_SC_CLK_TCK))
                : -1;
}

void an_owner_without_descriptors_lets_readers_wait(void**)
{
    Place place;
    Owner owner(place.scratch.path(), 0, 64);
    const auto before = place.visit(owner.card());
    owner.tell('a');
    const double used = processor_seconds(owner.pid());
    place.refused(owner.card(), DDS_ERR_TIMEOUT, "within 1000 ms", 1000);
    assert_true(bool(before->ask(kSegment, owner.bytes(), kPatience)));
    assert_true(processor_seconds(owner.pid()) - used < 0.5);
    owner.tell('r');
    place.serves(owner);
}

void messages_are_taken_whole_or_refused(void**)
{
    const LobbyMessage good = hello();
    assert_true(bool(LobbyMessage::parse(good.view())));
    uint32_t chance = 7;
    int taken = 0;
    for (int i = 0; i < 200'000; i++) {
        std::byte bytes[LobbyMessage::kMost] = {};
        memcpy(bytes, &good, sizeof good);
        chance = chance * 1664525 + 1013904223;
        const size_t length = i % 3 ? sizeof good : (chance >> 8) % sizeof bytes;
        for (int flips = i % 4; flips >= 0; flips--) {
            chance = chance * 1664525 + 1013904223;
            bytes[(chance >> 8) % sizeof good] = static_cast<std::byte>(chance >> 24);
        }
        const auto message = LobbyMessage::parse(std::span(bytes, length));
        if (!message) {
            assert_true(message.error().code == DDS_ERR_CORRUPT ||
                        message.error().code == DDS_ERR_VERSION);
            continue;
        }
        taken++;
        assert_true(message->magic == LobbyMessage::kMagic &&
                    message->version == LobbyMessage::kVersion && length == sizeof good &&
                    message->length == sizeof good && message->kind >= LobbyMessage::kHello &&
                    message->kind <= LobbyMessage::kAnswer && message->code <= DDS_ERR_INTERNAL);
    }
    assert_true(taken > 1000);
}

}  // namespace

int main()
{
    signal(SIGPIPE, SIG_IGN);
    const CMUnitTest tests[] = {
        cmocka_unit_test(another_store_run_or_version_is_refused),
        cmocka_unit_test(a_process_of_another_user_is_refused),
        cmocka_unit_test(rubbish_ends_the_visit_and_nothing_else),
        cmocka_unit_test(one_that_does_not_take_its_answers_gets_no_more),
        cmocka_unit_test(strangers_keep_nobody_out_and_are_dropped),
        cmocka_unit_test(there_are_only_so_many_visitors),
        cmocka_unit_test(an_owner_without_descriptors_lets_readers_wait),
        cmocka_unit_test(messages_are_taken_whole_or_refused),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
