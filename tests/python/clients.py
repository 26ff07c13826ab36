"""What real programs do with a `PyDDStore`, each a function of a communicator.

Any communicator with rank, size, allgather and barrier serves: `test_clients` runs them over
processes that meet in a directory, `test_mpi` under mpirun.
"""

import gc
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import pyddstore
from rows import everything, shard_sizes, share


def packed_records(comm):
    """Samples of differing length as bytes in a variable of one-byte rows, found by an index."""
    random = np.random.default_rng(3)
    samples = [random.bytes(int(n)) for n in random.integers(0, 900, 40)]
    mine = samples[comm.rank :: comm.size]
    store = pyddstore.PyDDStore(comm)
    data = np.frombuffer(b"".join(mine), np.uint8)
    store.init("data", len(data), 1, 1)
    half = len(data) // 2
    store.update("data", data[:half], 0)
    store.update("data", arr=data[half:], offset=half)
    counts = np.array([len(sample) for sample in mine], np.int64)
    store.add("count", counts)
    frozen = counts[:, None].copy()
    frozen.flags.writeable = False
    store.add("count/2d", frozen)
    total, disp, itemsize = store.info("data")
    assert (total, disp, itemsize) == (sum(map(len, samples)), 1, 1)
    in_order = [sample for rank in range(comm.size) for sample in samples[rank :: comm.size]]
    start = 0
    for i, sample in enumerate(in_order):
        store.epoch_begin()
        count = np.zeros(1, np.int64)
        store.get("count", count, i)
        assert count[0] == len(sample)
        fresh = np.zeros(int(count[0]), np.uint8)
        store.get("data", fresh, start if i % 2 else np.int64(start))
        store.epoch_end()
        assert fresh.tobytes() == sample
        start += len(sample)
    nothing = np.zeros(0, np.uint8)
    store.get("data", nothing, total)  # the sample after the last one
    store.get("count/2d", np.zeros((0, 2), np.int64), len(samples))
    store.free()


def uneven_shards(comm):
    """No rows here and there, ranges over borders, four axes, one-row updates."""
    sizes = shard_sizes(comm.size)
    with pyddstore.PyDDStore(comm) as store:
        for shape, dtype in (((), "i8"), ((3,), "f4"), ((2, 3, 4), "f8"), ((5,), "?")):
            name = f"v{shape}"
            mine = share(comm.rank, comm.size, shape, dtype)
            full = everything(comm.size, shape, dtype)
            store.add(name, mine)
            assert store.info(name)[0] == len(full)
            out = np.zeros_like(full)
            store.get(name, out)
            assert np.array_equal(out, full)
            border = sizes[0]
            two = np.zeros_like(full[border - 1 : border + 1])
            store.get(name, two, border - 1)
            assert np.array_equal(two, full[border - 1 : border - 1 + len(two)])
        store.init("filled", len(mine), 2, 8)
        for row in range(len(mine)):
            store.update("filled", np.array([[comm.rank, row]], np.int64), row)
        store.epoch_begin()
        out = np.zeros((sum(sizes), 2), np.int64)
        store.get("filled", out)
        expected = [[rank, row] for rank, rows in enumerate(sizes) for row in range(rows)]
        assert out.tolist() == expected
        store.epoch_end()


def updates_between_epochs(comm):
    """Each epoch sees what every rank wrote before it began."""
    with pyddstore.PyDDStore(comm) as store:
        store.init("x", 2, 3, 4)
        out = np.zeros((2 * comm.size, 3), np.int32)
        for epoch in range(20):
            store.update("x", np.full((1, 3), 100 * epoch + comm.rank, np.int32), epoch % 2)
            store.epoch_begin()
            store.get("x", out)
            here = [100 * epoch + rank for rank in range(comm.size)]
            assert out[epoch % 2 :: 2, 1].tolist() == here
            store.epoch_end()


def batches_together(comm):
    """get_batch of method 0: each rank with rows of its own, as many as it likes."""
    full = everything(comm.size)
    random = np.random.default_rng(comm.rank)
    with pyddstore.PyDDStore(comm) as store:
        store.add("x", share(comm.rank, comm.size))
        for step in range(30):
            count = (step + comm.rank) % 5 * 20
            indices = random.integers(0, len(full), count)
            out = np.empty((count, 3), np.float32)
            store.get_batch("x", out, indices)
            assert np.array_equal(out, full[indices])
            if comm.rank == 0:  # one-sided: the others do nothing for it
                store.get_batch("x", out, indices[::-1], collective=False)
                assert np.array_equal(out, full[indices[::-1]])


def errors_on_every_rank(comm):
    """The same mistakes on all ranks, inside an epoch; the store is as good as before."""
    full = everything(comm.size)
    with pyddstore.PyDDStore(comm) as store:
        store.add("x", share(comm.rank, comm.size))
        out = np.zeros((2, 3), np.float32)
        store.epoch_begin()
        for start in (-1, len(full) - 1, len(full)):
            with pytest.raises((IndexError, ValueError)):
                store.get("x", out, start)
        with pytest.raises(ValueError, match="elements of"):
            store.get("x", np.zeros((2, 3)), 0)
        for indices in ([0, len(full)], [-1, 0]):
            with pytest.raises(IndexError):
                store.get_batch("x", out, indices)
        with pytest.raises(ValueError, match="3 indices"):
            store.get_batch("x", out, [0, 1, 2])
        with pytest.raises(NotImplementedError, match="unsupported dtype"):
            store.add("y", np.zeros(3, "U2"))
        with pytest.raises(AssertionError):
            store.add("y", np.zeros((4, 4), np.float32)[:, ::2])
        with pytest.raises(KeyError):
            store.add("x", full)
        store.epoch_end()
        store.get_batch("x", out, [len(full) - 1, 0])
        assert np.array_equal(out, full[[-1, 0]])


GOOD = {
    "get_batch": lambda s: s.get_batch("x", np.empty((1, 3), np.float32), [0]),
    "add": lambda s: s.add("y", np.zeros(3)),
    "init": lambda s: s.init("y", 1, 2, 4),
}
BAD = [
    ("get_batch", IndexError, lambda s: s.get_batch("x", np.empty((1, 3), "f4"), [10**9])),
    ("get_batch", ValueError, lambda s: s.get_batch("x", np.empty((1, 3), "f4"), [0, 1])),
    ("get_batch", ValueError, lambda s: s.get_batch("x", np.empty((1, 3), "f8"), [0])),
    ("get_batch", ValueError, lambda s: s.get_batch("x", np.empty((1, 3), "f4"), [[0]])),
    ("get_batch", KeyError, lambda s: s.get_batch("nothing", np.empty((1, 3), "f4"), [0])),
    ("get_batch", TypeError, lambda s: s.get_batch("x", [[0, 0, 0]], [0])),
    ("add", NotImplementedError, lambda s: s.add("y", np.zeros(3, "U2"))),
    ("add", AssertionError, lambda s: s.add("y", np.zeros((4, 4), "f4").T[1:])),
    ("add", TypeError, lambda s: s.add("y", [1, 2, 3])),
    ("add", KeyError, lambda s: s.add("x", np.zeros((1, 3), "f4"))),
    ("init", ValueError, lambda s: s.init("y", -1, 2, 4)),
    ("init", ValueError, lambda s: s.init("y", 1, 2, 0)),
    ("init", TypeError, lambda s: s.init("y", 1.5, 2, 4)),
    ("init", ValueError, lambda s: s.init("y", 1, 3, 4)),  # disp differs
]


def an_error_on_one_rank(comm):
    """A mistake of one rank in a collective call raises on all: nobody hangs."""
    odd = comm.size - 1
    with pyddstore.PyDDStore(comm) as store:
        store.add("x", share(comm.rank, comm.size))
        for name, kind, bad in BAD[: -1 if comm.size == 1 else None]:
            if comm.rank == odd:
                with pytest.raises(kind):
                    bad(store)
            else:
                with pytest.raises(pyddstore.DDSError):
                    GOOD[name](store)
        out = np.empty((1, 3), np.float32)
        store.get_batch("x", out, [1])
        assert np.array_equal(out, everything(comm.size)[1:2])
        with pytest.raises(KeyError):
            store.info("y")


def threads_during_epochs(comm):
    """Threads read, with repeated rows, while the main thread begins and ends epochs."""
    full = everything(comm.size, (5,))
    with pyddstore.PyDDStore(comm) as store:
        store.add("x", share(comm.rank, comm.size, (5,)))

        def read(seed):
            random = np.random.default_rng(seed)
            for _ in range(100):
                indices = np.repeat(random.integers(0, len(full), 20), 3)
                out = np.empty((60, 5), np.float32)
                store.get_batch("x", out, indices, collective=False)
                assert np.array_equal(out, full[indices])
                row = np.empty((1, 5), np.float32)
                store.get("x", row, int(indices[0]))
                assert np.array_equal(row[0], full[indices[0]])

        with ThreadPoolExecutor(4) as pool:
            readers = [pool.submit(read, seed) for seed in range(4)]
            for _ in range(30):
                store.epoch_begin()
                store.epoch_end()
            for reader in readers:
                reader.result()


def one_loader_thread(comm, batches=1000):
    """A loader thread makes the collective calls while the main thread waits for it."""
    full = everything(comm.size, (16,))
    store = pyddstore.PyDDStore(comm)
    store.add("x", share(comm.rank, comm.size, (16,)))
    failures = []

    def load():
        random = np.random.default_rng(comm.rank)
        out = np.empty((32, 16), np.float32)
        try:
            for _ in range(batches):
                indices = random.integers(0, len(full), 32)
                store.get_batch("x", out, indices)
                assert np.array_equal(out, full[indices])
        except BaseException as error:
            failures.append(error)

    loader = threading.Thread(target=load)
    loader.start()
    loader.join()
    assert not failures
    store.free()


def many_loader_threads(comm):
    """Threads of a loader fetch batches ahead, whole ones, each into a buffer of its own."""
    full = everything(comm.size, (4, 2))
    for method in (0, 1):
        with pyddstore.PyDDStore(comm, method=method) as store:
            store.add("x", share(comm.rank, comm.size, (4, 2)))
            batches = np.random.default_rng(comm.rank).integers(0, len(full), (60, 16))
            pools = threading.local()

            def fetch(indices, store=store, pools=pools, together=False if method == 0 else None):
                if not hasattr(pools, "x"):
                    pools.x = np.empty((16, 4, 2), np.float32)
                    store.register_recv("x", pools.x)
                store.get_batch("x", pools.x, indices, together)
                return pools.x.copy()

            with ThreadPoolExecutor(3) as pool:
                for indices, batch in zip(batches, pool.map(fetch, batches), strict=True):
                    assert np.array_equal(batch, full[indices])
            comm.barrier()


def stores_that_are_left(comm):
    """Stores go with their last reference, whatever the other ranks do, and in any order."""
    stores = [pyddstore.PyDDStore(comm) for _ in range(3)]
    for i, store in enumerate(stores):
        store.add("x", np.full((2, 2), 10 * i + comm.rank))
    out = np.empty((2, 2), int)
    if comm.rank % 2:
        stores.reverse()
    del store
    while len(stores) > 1:
        stores.pop()
        gc.collect()
    store = stores[0]
    last = 20 if comm.rank % 2 else 0
    store.get("x", out, 2 * (comm.size - 1))
    assert (out == last + comm.size - 1).all()


def a_choice_of_code_paths(comm):
    """Programs ask what a store can do, and whether there is one, before they use it."""
    store = None
    if not store:
        store = pyddstore.PyDDStore(comm)
    assert store  # still empty
    assert hasattr(store, "get_batch")
    pool = np.empty((8, 3), np.float32)
    store.add("x", share(comm.rank, comm.size))
    store.register_recv("x", pool)
    for n in (8, 3, 0):
        indices = np.arange(n)
        store.get_batch("x", pool[:n], indices)
        assert np.array_equal(pool[:n], everything(comm.size)[:n])
    store.unregister_recv("x", pool)
    before, after = (store.get_profile("x") for _ in range(2))
    assert not any(after[key] - before[key] for key in before)
    store.free()
    store.free()


ALL = [
    packed_records,
    uneven_shards,
    updates_between_epochs,
    batches_together,
    errors_on_every_rank,
    an_error_on_one_rank,
    threads_during_epochs,
    one_loader_thread,
    many_loader_threads,
    stores_that_are_left,
    a_choice_of_code_paths,
]


def all_of_them(comm):
    """Everything above, one after another."""
    for client in ALL:
        client(comm)
        comm.barrier()
