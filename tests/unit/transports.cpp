// Conformance: what every row of the table of transports must do, so that a new row is tested by
// being there.  Two ranks are two threads of this process, each with a node of its own.
#include <functional>
#include <numeric>

#include "transport/registry.hpp"
#include "unit.hpp"

namespace {

using namespace dds;

constexpr size_t kBytes = 100'000;
constexpr int64_t kPatience = 10'000;

struct Pair {
    std::unique_ptr<Node> nodes[2];

    Pair()
    {
        std::vector<Node::Prepared> prepared;
        std::vector<NodeCard> cards;
        for (int rank = 0; rank < 2; rank++) {
            prepared.push_back(std::move(*Node::prepare()));
            cards.push_back(prepared.back().card);
        }
        both([&](int rank) {
            nodes[rank] = Node::start(cards, rank);
            assert_true(bool(nodes[rank]->meet(std::move(prepared[static_cast<size_t>(rank)]),
                                               cards, kPatience)));
        });
    }
    static void both(const std::function<void(int)>& work)
    {
        std::thread other(work, 1);
        work(0);
        other.join();
    }
};

// Rank 1 exposes, rank 0 reads: a segment of the library where the transport takes one, else memory
// of the caller.
struct Exposed {
    Pair pair;
    std::unique_ptr<Transport> transports[2];
    std::shared_ptr<Arena> arena;
    std::vector<std::byte> own = std::vector<std::byte>(kBytes);
    const std::byte* data = nullptr;
    uint64_t offset = 0, bytes = kBytes;

    explicit Exposed(const TransportRow& row, const char* argument = "0")
    {
        std::vector<std::string> addresses;
        for (int rank = 0; rank < 2; rank++) {
            transports[rank] = std::move(*row.open({pair.nodes[rank].get(), rank, argument}));
            addresses.push_back(transports[rank]->address());
        }
        for (const auto& transport : transports)
            assert_true(bool(transport->meet(addresses)));
        const unsigned char store[16] = {};
        Arenas arenas(store, 1);
        const Block block = *arenas.take(kBytes, false, arena);
        Key key;
        if (transports[1]->expose(7, block, key)) {
            data = block.data();
            offset = block.offset;
            bytes = block.arena->segment.bytes();
        } else {
            assert_true(bool(transports[1]->expose(7, std::span<const std::byte>(own), key)));
            data = own.data();
        }
        for (size_t i = 0; i < kBytes; i++)
            const_cast<std::byte*>(data)[i] = static_cast<std::byte>(i * 2654435761u >> 13);
        Pair::both([&](int rank) {
            const std::vector<Transport::Attach> segments{{1, 7, bytes, key}};
            const std::span<const Transport::Attach> all(segments);
            assert_true(bool(transports[rank]->attach(all.first(rank == 0), kPatience)));
        });
        assert_true(transports[0]->attached(1, 7));
        assert_false(transports[0]->attached(1, 8));
    }

    Batch batch(std::vector<std::byte>& out) const
    {
        Batch batch;
        const uint64_t lengths[] = {1, 7, 64, 4096, 30'000, 1};
        uint64_t from = 11, to = 0;
        for (const uint64_t length : lengths) {
            batch.runs.push_back({{1, 7, offset + from},
                                  out.data() + to,
                                  length,
                                  static_cast<uint32_t>(batch.runs.size())});
            from += length + 1000;
            to += length;
        }
        return batch;
    }
    void check(const Batch& read) const
    {
        for (const Run& run : read.runs) {
            assert_int_equal(run.code, DDS_SUCCESS);
            assert_memory_equal(run.to, data + (run.from.offset - offset), run.bytes);
        }
    }
};

// A library that is found at run time may not be there.
bool works_here(const TransportRow& row)
{
    const auto opened = row.open({nullptr, 0, "0"});
    if (opened || opened.error().code != DDS_ERR_UNSUPPORTED)
        return true;
    print_message("  skipped: %s\n", opened.error().text.c_str());
    return false;
}

void for_each_row(const std::function<void(const TransportRow&)>& test)
{
    int rows = 0;
    for (const TransportRow& row : transports()) {
        print_message("%s%s\n", row.name, row.mpi ? ": by the suite mpi, in its ranks" : "");
        if (row.mpi || !works_here(row))
            continue;
        test(row);
        rows++;
    }
    assert_true(rows >= 2);
}

void runs_of_any_length_arrive_whole(void**)
{
    for_each_row([](const TransportRow& row) {
        const Exposed exposed(row);
        std::vector<std::byte> out(40'000, std::byte{0xee});
        Batch batch = exposed.batch(out);
        assert_true(bool(exposed.transports[0]->post(batch)));
        while (!exposed.transports[0]->progress(batch)) {}
        assert_true(batch.done());
        assert_int_equal(batch.error.code, DDS_SUCCESS);
        exposed.check(batch);
        const Run& last = batch.runs.back();
        for (const std::byte* at = last.to + last.bytes; at < out.data() + out.size(); at++)
            assert_int_equal(static_cast<int>(*at), 0xee);
    });
}

void an_empty_batch_is_done_at_once(void**)
{
    for_each_row([](const TransportRow& row) {
        const Exposed exposed(row);
        Batch batch;
        assert_true(bool(exposed.transports[0]->post(batch)));
        assert_true(exposed.transports[0]->progress(batch));
    });
}

void nothing_lands_after_an_abandon(void**)
{
    for_each_row([](const TransportRow& row) {
        const Exposed exposed(row, strcmp(row.name, "slow") == 0 ? "50" : "0");
        std::vector<std::byte> out(40'000);
        Batch batch = exposed.batch(out);
        assert_true(bool(exposed.transports[0]->post(batch)));
        exposed.transports[0]->progress(batch);
        exposed.transports[0]->abandon(batch);
        const std::vector<std::byte> before = out;
        clock::sleep(120 * clock::kMillisecond);
        assert_memory_equal(out.data(), before.data(), out.size());
    });
}

void a_detached_segment_is_gone(void**)
{
    for_each_row([](const TransportRow& row) {
        const Exposed exposed(row);
        exposed.transports[0]->detach(1, 7);
        assert_false(exposed.transports[0]->attached(1, 7));
        assert_null(exposed.transports[0]->mapped(1, 7));
    });
}

void two_batches_may_be_under_way(void**)
{
    for_each_row([](const TransportRow& row) {
        const Exposed exposed(row, strcmp(row.name, "slow") == 0 ? "1" : "0");
        std::vector<std::byte> first(40'000), second(40'000);
        Batch a = exposed.batch(first), b = exposed.batch(second);
        assert_true(bool(exposed.transports[0]->post(a)) && bool(exposed.transports[0]->post(b)));
        for (bool done = false; !done;) {
            done = exposed.transports[0]->progress(b);
            done = exposed.transports[0]->progress(a) && done;
        }
        exposed.check(a);
        exposed.check(b);
    });
}

#if DDS_TESTING
void the_fault_wire_fails_the_run_that_it_was_told(void**)
{
    for (const TransportRow& row : transports()) {
        if (strcmp(row.name, "fault") != 0)
            continue;
        const Exposed exposed(row, "3");
        std::vector<std::byte> out(40'000);
        Batch batch = exposed.batch(out);
        assert_true(bool(exposed.transports[0]->post(batch)));
        while (!exposed.transports[0]->progress(batch)) {}
        assert_int_equal(batch.error.code, DDS_ERR_IO);
        for (size_t i = 0; i < batch.runs.size(); i++)
            assert_int_equal(batch.runs[i].code, i == 2 ? DDS_ERR_IO : DDS_SUCCESS);
    }
}
#endif

}  // namespace

int main()
{
    const CMUnitTest tests[] = {
        cmocka_unit_test(runs_of_any_length_arrive_whole),
        cmocka_unit_test(an_empty_batch_is_done_at_once),
        cmocka_unit_test(nothing_lands_after_an_abandon),
        cmocka_unit_test(a_detached_segment_is_gone),
        cmocka_unit_test(two_batches_may_be_under_way),
#if DDS_TESTING
        cmocka_unit_test(the_fault_wire_fails_the_run_that_it_was_told),
#endif
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
