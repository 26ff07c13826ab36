"""Reading over 1 to 4 ranks: each way gives the rows that were added, whoever holds them."""

import threading

import numpy as np
import pytest

import pyddstore
from rows import everything, shard_sizes, share

RANKS = pytest.mark.parametrize("size", [1, 2, 3, 4])


def every_way(comm):
    rank, size = comm.rank, comm.size
    with pyddstore.Store(comm) as store:
        assert (store.rank, store.size) == (rank, size)
        for shape, dtype in (((3,), "f4"), ((), "i8"), ((2, 2), "u1"), ((700,), "f8")):
            name = f"x{shape}"
            store.add(name, share(rank, size, shape, dtype))
            full = everything(size, shape, dtype)
            total = len(full)
            random = np.random.default_rng(rank)
            for n in (0, 1, 7, 128, 1500):
                rows = random.integers(0, total, n)
                out = np.empty((n, *shape), dtype)
                assert np.array_equal(store.get_batch(name, rows), full[rows])
                assert store.get_batch(name, rows, out) is out
                assert np.array_equal(out, full[rows])
                fewer = rows[: n // (rank + 1)]
                assert np.array_equal(store.get_batch_all(name, fewer), full[fewer])
                assert np.array_equal(store.iget_batch(name, rows).wait(), full[rows])
            assert np.array_equal(store.get(name, 0, total), full)
            assert np.array_equal(store.get(name, total - 5, 5), full[-5:])
            assert store.get(name, total, 0).shape == (0, *shape)
            for kind in (np.int32, np.uint64, np.int8):
                assert np.array_equal(store.get_batch(name, np.arange(9, dtype=kind)), full[:9])
            assert np.array_equal(store.get_batch(name, np.arange(40)[::-3]), full[:40][::-3])
        stats, row = store.stats(), 700 * 8
        others = sum(shard_sizes(size)) - shard_sizes(size)[rank]
        assert (stats.bytes["self"] > 100 * row) == (shard_sizes(size)[rank] > 0)
        assert (stats.bytes["shm"] > 100 * row) == (others > 0)
        assert sum(stats.rows.values()) == stats.rows["self"] + stats.rows["shm"]
        comm.barrier()


@RANKS
def test_every_way_gives_the_rows(launch, size):
    launch(every_way, size)


def who_holds_what(comm):
    with pyddstore.Store(comm) as store:
        store.add("x", share(comm.rank, comm.size), meta=b"a schema \0 of mine")
        sizes = shard_sizes(comm.size)
        assert store.partition("x").tolist() == np.cumsum([0, *sizes]).tolist()
        row = 0
        for rank, count in enumerate(sizes):
            for local in range(count):
                assert store.owner("x", row) == (rank, local)
                row += 1
        info = store.info("x")
        assert (info.first, info.nrows) == (sum(sizes[: comm.rank]), sizes[comm.rank])
        assert (info.rows, info.shape, info.disp, info.itemsize) == (sum(sizes), (3,), 3, 4)
        assert not info.nocopy
        assert not info.hugepages
        assert store.meta("x") == b"a schema \0 of mine"
        assert store.path(comm.rank) == "self"
        assert all(store.path(r) == "shm" for r in range(comm.size) if r != comm.rank)
        comm.barrier()


@RANKS
def test_who_holds_what(launch, size):
    launch(who_holds_what, size)


def a_row_past_the_end_on_one_rank(comm):
    with pyddstore.Store(comm) as store:
        store.add("x", share(comm.rank, comm.size))
        full = everything(comm.size)
        rows = [0, len(full)] if comm.rank == 0 else [0]
        with pytest.raises(IndexError):
            store.get_batch_all("x", rows)
        assert np.array_equal(store.get_batch_all("x", [1]), full[1:2])
        comm.barrier()


@RANKS
def test_a_row_past_the_end_on_one_rank_fails_on_all(launch, size):
    launch(a_row_past_the_end_on_one_rank, size)


GOOD_CALLS = {
    "get_batch_all": lambda s: s.get_batch_all("x", [0]),
    "add": lambda s: s.add("y", np.zeros(3)),
    "create": lambda s: s.create("y", 1),
    "drop": lambda s: s.drop("x"),
}
BAD_CALLS = [
    ("get_batch_all", lambda s: s.get_batch_all("x", [0, 1], np.empty((1, 3), "f4"))),
    ("get_batch_all", lambda s: s.get_batch_all("x", [0], np.empty((1, 3), "f8"))),
    ("get_batch_all", lambda s: s.get_batch_all("x", [0.5])),
    ("get_batch_all", lambda s: s.get_batch_all("nothing", [0])),
    ("get_batch_all", lambda s: s.get_batch_all(None, [0])),
    ("add", lambda s: s.add("y", np.array([None]))),
    ("add", lambda s: s.add("y", np.ones((3, 4)).T, nocopy=True)),
    ("create", lambda s: s.create("y", 1, (), "M8[s]")),
    ("drop", lambda s: s.drop(3)),
]


def bad_arguments_on_one_rank(comm):
    odd = comm.size - 1
    with pyddstore.Store(comm, collective_timeout=20) as store:
        store.add("x", share(comm.rank, comm.size))
        for name, bad in BAD_CALLS:
            with pytest.raises((ValueError, TypeError)) as caught:
                (bad if comm.rank == odd else GOOD_CALLS[name])(store)
            if comm.rank != odd:
                assert caught.value.rank == odd
            assert store.keys() == ["x"]
        full = everything(comm.size)
        assert np.array_equal(store.get_batch_all("x", [1]), full[1:2])


@RANKS
def test_bad_arguments_on_one_rank_are_an_error_on_all(launch, size):
    launch(bad_arguments_on_one_rank, size)


def differing_arguments(comm):
    odd = comm.rank == comm.size - 1
    with pyddstore.Store(comm) as store:
        store.add("x", np.zeros((2, 3), "f4"))
        for call in (
            lambda: store.add("y", np.zeros((2, 3), "f8" if odd else "f4")),
            lambda: store.add("y", np.zeros((2, 4 if odd else 3), "f4")),
            lambda: store.add("z" if odd else "y", np.zeros((2, 3), "f4")),
            lambda: store.create("y", 2, (3, 2) if odd else (2, 3), "f4"),
            lambda: store.drop("x") if odd else store.add("y", np.zeros((2, 3), "f4")),
        ):
            with pytest.raises(pyddstore.MismatchError):
                call()
            assert store.keys() == ["x"]
            assert store.get("x", 2 * comm.size - 1).tolist() == [[0, 0, 0]]
        store.add("y", np.ones((2, 3), "f4"))
        assert store["y"][-1].tolist() == [1, 1, 1]
        comm.barrier()


@pytest.mark.parametrize("size", [2, 3, 4])
def test_differing_arguments_are_an_error_on_every_rank(launch, size):
    launch(differing_arguments, size)


def updates(comm):
    with pyddstore.Store(comm) as store:
        mine = store.create("x", 4, 2, "i4")
        assert mine.tolist() == [[0, 0]] * 4
        for step in range(5):
            with store.epoch():
                next_rank = (comm.rank + 1) % comm.size
                expected = [[next_rank, step]] * 4 if step else [[0, 0]] * 4
                assert store.get("x", 4 * next_rank, 4).tolist() == expected
            mine[:2] = [comm.rank, step + 1]
            store.update("x", np.array([[comm.rank, step + 1]] * 2, "i4"), 2)
            store.epoch_begin()
            store.epoch_end()
        comm.barrier()


@RANKS
def test_updates_are_seen_after_an_epoch_begins(launch, size):
    launch(updates, size)


def an_error_in_an_epoch(comm):
    with pyddstore.Store(comm) as store:
        store.add("x", share(comm.rank, comm.size))
        with pytest.raises(IndexError), store.epoch():
            store.get("x", 10**9)
        with store.epoch():
            store.get("x", 0)


@pytest.mark.parametrize("size", [1, 2])
def test_an_error_in_an_epoch_ends_it(launch, size):
    launch(an_error_in_an_epoch, size)


def without_a_copy(comm):
    mine = share(comm.rank, comm.size).copy()
    with pyddstore.Store(comm) as store:
        store.add("x", mine, nocopy=True)
        full = everything(comm.size)
        rows = np.random.default_rng(comm.rank).integers(0, len(full), 200)
        assert np.array_equal(store.get_batch("x", rows), full[rows])
        assert np.shares_memory(store.local("x"), mine) or not len(mine)
        assert store.info("x").nocopy
        with pytest.raises(ValueError, match="C-contiguous"):
            store.add("y", np.zeros((4, 6))[:, ::2], nocopy=True)
        with pytest.raises(NotImplementedError):
            store.update("x", mine)
        del mine  # the store keeps it
        assert np.array_equal(store.get_batch("x", rows), full[rows])
        comm.barrier()


@pytest.mark.parametrize("size", [1, 2])
def test_an_array_may_be_used_in_place(launch, size):
    launch(without_a_copy, size)


def in_threads(comm):
    full = everything(comm.size, (5,))
    failures = []

    def read(seed):
        random = np.random.default_rng(seed)
        try:
            for _ in range(200):
                rows = random.integers(0, len(full), 64)
                assert np.array_equal(store.get_batch("x", rows), full[rows])
        except BaseException as error:
            failures.append(error)

    with pyddstore.Store(comm) as store:
        store.add("x", share(comm.rank, comm.size, (5,)))
        threads = [threading.Thread(target=read, args=(seed,)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for _ in range(20):
            with store.epoch():
                pass
        for thread in threads:
            thread.join()
        assert not failures
        comm.barrier()


@pytest.mark.parametrize("size", [1, 2])
def test_threads_read_while_epochs_begin_and_end(launch, size):
    launch(in_threads, size)


def test_a_profile_counts_reads(launch):
    launch(profile, 1, DDSTORE_PROFILE="1")


def profile(comm):
    with pyddstore.Store(comm) as store:
        store.add("x", np.zeros((9, 2)))
        assert store.profile("x").calls == 0
        store.get_batch("x", [1, 2, 3])
        store.get("x", 0, 2)
        told = store.profile("x")
        assert (told.calls, told.rows, told.mr_miss) == (2, 5, 0)
        assert told.lock_wait == told.read == told.cq == told.mr == 0.0


def test_receive_buffers_are_registered_and_given_back():
    with pyddstore.Store() as store:
        store.add("x", np.arange(8.0))
        out = np.zeros(4)
        store.register_recv(out)
        store.register_recv(out)
        assert store.get_batch("x", np.array([7, 0]), out[:2]).tolist() == [7, 0]
        store.unregister_recv(out)
        with pytest.raises(ValueError, match=r"[Rr]ead-only|writ"):
            store.register_recv(np.broadcast_to(np.zeros(1), (1,)))


def test_several_stores_live_in_one_process():
    with pyddstore.Store() as one, pyddstore.Store() as two:
        one.add("x", np.zeros(3))
        two.add("x", np.ones(3))
        assert (one.get("x", 0)[0], two.get("x", 0)[0]) == (0, 1)
        one.drop("x")
        assert "x" not in one
        assert "x" in two
