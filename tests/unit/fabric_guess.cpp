// Keys that are guessed: who knows where an owner is, and has no key, gets no byte of it, however often
// it asks.  DDS_TEST_GUESS_S=60 lets it ask for a minute.
#include "fabric_stranger.hpp"

namespace {

using namespace unit;

constexpr std::byte kCanary{0xc5};
constexpr size_t kBytes = 4096;
constexpr size_t kStrangers = 16;  // at a time: each wrong key costs a connection

double seconds_to_guess()
{
    const char* text = getenv("DDS_TEST_GUESS_S");
    return text ? atof(text) : 2;
}

enum Way { counted, random_number, near_the_key, one_bit_off, kWays };

uint64_t guess(Way way, uint64_t n, uint64_t right)
{
    uint64_t key = n;
    if (way == random_number)
        clock::random(&key, sizeof key);
    else if (way == near_the_key)
        key = n % 2 ? right - (n / 2 + 1) : right + (n / 2 + 1);
    else if (way == one_bit_off)
        key = right ^ uint64_t { 1 } << n % 64;
    return key == right ? ~key : key;
}

struct Guesses {
    uint64_t tried[kWays];
    uint64_t refused, given, unanswered;
};

// One guess of one stranger at a time.
class Guesser {
public:
    explicit Guesser(const Shown& owner) : owner_(owner), landing_(kBytes, kCanary) {}

    Error open(const FabricChoice& choice) { return stranger_.open(choice, owner_); }
    bool busy() const { return asked_; }

    Error step(Guesses& all, bool more)
    {
        const ssize_t got = stranger_.ended();
        if (asked_ && (got != -FI_EAGAIN || now() - since_ > 2)) {
            all.refused += got == -FI_EAVAIL;
            all.given += got > 0;
            all.unanswered += got == -FI_EAGAIN;
            asked_ = false;
            const Error error = stranger_.connect(owner_);
            if (error.code)
                return error;
        }
        if (asked_ || !more)
            return kFine;
        const FabricKey right = key_of(owner_);
        const auto way = static_cast<Way>(turn_ % kWays);
        const ssize_t posted =
            stranger_.read(landing_.data(), landing_.size(), right.base + owner_.offset,
                           guess(way, all.tried[way], right.key));
        if (posted == -FI_EAGAIN)
            return kFine;
        EXPECT(posted == 0);
        all.tried[way]++;
        turn_++;
        asked_ = true;
        since_ = now();
        return kFine;
    }
    bool untouched() const { return landing_ == std::vector<std::byte>(landing_.size(), kCanary); }

    // What all of it would have given with the key.
    Error read_with_the_key()
    {
        const FabricKey right = key_of(owner_);
        const double begun = now();
        ssize_t posted = -FI_EAGAIN, got = -FI_EAGAIN;
        while (posted == -FI_EAGAIN && now() - begun < 10) {
            posted = stranger_.read(landing_.data(), landing_.size(), right.base + owner_.offset,
                                    right.key);
            got = stranger_.ended();
        }
        while (got == -FI_EAGAIN && now() - begun < 10)
            got = stranger_.ended();
        EXPECT(posted == 0 && got == 1 && Reader::right(0, 0, landing_.data(), landing_.size()));
        return kFine;
    }

private:
    const Shown& owner_;
    Stranger stranger_;
    std::vector<std::byte> landing_;
    uint64_t turn_ = 0;
    bool asked_ = false;
    double since_ = 0;
};

Error ask_for_what_is_not_given(const std::string& provider, Shared& board)
{
    until(board.owners[0].there, 1);
    const FabricChoice choice = choice_of(provider);
    std::vector<std::unique_ptr<Guesser>> guessers;
    for (size_t i = 0; i < kStrangers; i++) {
        guessers.push_back(std::make_unique<Guesser>(board.owners[0]));
        const Error error = guessers.back()->open(choice);
        if (error.code)
            return error;
    }
    Guesses all{};
    const double begun = now(), end = begun + seconds_to_guess();
    for (bool more = true, busy = true; more || busy;) {
        more = now() < end;
        busy = false;
        for (const auto& guesser : guessers) {
            const Error error = guesser->step(all, more);
            if (error.code)
                return error;
            busy = busy || guesser->busy();
        }
    }
    print_message("%s: %lu counted, %lu random, %lu near and %lu keys of one bit off in %.1f s: "
                  "%lu refused, %lu without an answer, %lu bytes read\n",
                  provider.c_str(), all.tried[counted], all.tried[random_number],
                  all.tried[near_the_key], all.tried[one_bit_off], now() - begun, all.refused,
                  all.unanswered, all.given * kBytes);
    EXPECT(all.given == 0 && all.refused > 0);
    for (const auto& guesser : guessers)
        EXPECT(guesser->untouched());
    return guessers[0]->read_with_the_key();
}

void guessed_keys_give_no_byte(void**)
{
    for_each_provider([](const std::string& provider) {
        std::vector<Outcome> outcomes;
        with_shared([&](Shared& board) {
            outcomes = in_processes(3, [&](int rank) -> Error {
                prctl(PR_SET_PDEATHSIG, SIGKILL);
                if (rank == 2) {
                    const Error error = ask_for_what_is_not_given(provider, board);
                    board.flags[0] = 1;
                    return error;
                }
                if (rank == 1) {
                    const Owner owner(board, provider, 0);
                    owner.stay(board, 0);
                    return board.owners[0].intact ? kFine : wrong("its memory was written to");
                }
                // The invited are served meanwhile, and afterwards.
                const Reader reader(board, choice_of(provider));
                std::vector<std::byte> out(10'000);
                for (uint64_t i = 0, over = 0; over < 2; i++) {
                    over = board.flags[0] ? over + 1 : 0;
                    const Error error = reader.read(0, i * 7, out.data(), out.size());
                    if (error.code)
                        return error;
                    EXPECT(Reader::right(0, i * 7, out.data(), out.size()));
                    clock::sleep(20 * clock::kMillisecond);
                }
                return kFine;
            });
        });
        assert_all(outcomes, DDS_SUCCESS);
    });
}

// Both ends must agree on the size of ofi_rxm's buffers, which take most of the time of a connection.
void make_connections_cheap()
{
    for (const char* name : {"RX_SIZE", "TX_SIZE", "MSG_RX_SIZE", "MSG_TX_SIZE"})
        setenv((std::string("FI_OFI_RXM_") + name).c_str(), "16", 1);
    setenv("FI_OFI_RXM_BUFFER_SIZE", "512", 1);
    setenv("FI_OFI_RXM_CM_PROGRESS_INTERVAL", "1", 1);
}

}  // namespace

int main()
{
    make_connections_cheap();
    if (providers().empty())
        return 77;
    const CMUnitTest tests[] = {
        cmocka_unit_test(guessed_keys_give_no_byte),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
