"""Forked processes read what their parent's store has: by the inherited object, or by a reader."""

import gc
import multiprocessing
import threading

import numpy as np
import pytest

import pyddstore
from rows import everything, share

FORK = multiprocessing.get_context("fork")


def in_child(work, *arguments):
    """Run `work` in a forked child; what it raises fails the test."""
    child = FORK.Process(target=work, args=arguments)
    child.start()
    child.join(30)
    assert child.exitcode == 0


@pytest.fixture(params=[pyddstore.Store, pyddstore.PyDDStore])
def store(request, tmp_path):
    comm = pyddstore.FileComm(tmp_path / "meet", 0, 1)
    store = request.param(comm)
    store.add("x", np.arange(30.0).reshape(10, 3))
    yield store
    store.free()
    comm.free()


def batch(store, rows):
    rows = np.array(rows)
    out = np.empty((len(rows), 3))
    if isinstance(store, pyddstore.PyDDStore):
        store.get_batch("x", out, rows)
    else:
        store.get_batch("x", rows, out=out)
    return out[:, 0].tolist()


def reads(store):
    assert batch(store, [9, 0, 4]) == [27, 0, 12]
    assert batch(store, [1]) == [3]


def test_the_inherited_object_reads_in_a_child_and_its_childs_child(store):
    def grandchild():
        reads(store)
        in_child(reads, store)
        reads(store)

    in_child(grandchild)
    reads(store)


def test_a_child_may_read_through_a_reader_of_its_own(store):
    def child():
        reader = store.fork_reader()
        assert type(reader) is type(store)
        reads(reader)
        reader.free()
        with pytest.raises(RuntimeError):
            batch(reader, [0])
        reads(store)

    in_child(child)


def test_what_a_child_frees_or_drops_is_not_its_parents(store):
    def child():
        nonlocal store
        store.free()
        with pytest.raises(RuntimeError):
            batch(store, [0])

    def forgetful():
        nonlocal store
        reads(store)
        store = None
        gc.collect()

    in_child(child)
    in_child(forgetful)
    reads(store)


def test_a_child_that_never_reads_opens_nothing(store):
    def child():
        assert "_handle" not in vars(store)
        assert "freed" not in repr(store)

    in_child(child)


def test_a_reader_only_reads(store):
    reader = store.fork_reader()
    with pytest.raises(RuntimeError, match="only reads"):
        reader.add("y", np.zeros((2, 2)))
    with pytest.raises(KeyError):
        reader.info("y")
    store.add("y", np.zeros((2, 2)))
    with pytest.raises(KeyError):
        reader.info("y")  # what came later is not seen
    reads(reader)
    reader.free()
    reads(store)


def test_each_thread_may_have_a_reader(store):
    readers = [store.fork_reader() for _ in range(4)]
    wrong = []

    def work(reader):
        for _ in range(200):
            if batch(reader, [3, 7]) != [9, 21]:
                wrong.append(reader)

    threads = [threading.Thread(target=work, args=(reader,)) for reader in readers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    for reader in readers:
        reader.free()


def workers_read(comm):
    """Forked workers of every rank read all ranks' rows, while their parents read on."""
    with pyddstore.PyDDStore(comm) as store:
        store.add("x", share(comm.rank, comm.size))
        expected = everything(comm.size)
        total = len(expected)

        def worker(seed):
            rows = np.random.default_rng(seed).integers(0, total, 40)
            out = np.empty((40, 3), np.float32)
            for _ in range(20):
                store.get_batch("x", out, rows)
                assert (out == expected[rows]).all()

        children = [FORK.Process(target=worker, args=(seed,)) for seed in range(3)]
        for child in children:
            child.start()
        one = np.empty((1, 3), np.float32)
        for row in range(total):
            store.get("x", one, row)
            assert (one[0] == expected[row]).all()
        for child in children:
            child.join(60)
            assert child.exitcode == 0
        comm.barrier()


@pytest.mark.parametrize("size", [1, 3])
def test_workers_of_all_ranks_read(launch, size):
    launch(workers_read, size)


def memory_of(pid):
    """Private bytes of a process."""
    with open(f"/proc/{pid}/smaps_rollup") as file:
        fields = dict(line.split(":", 1) for line in file if ":" in line)
    return 1024 * sum(int(fields[name].split()[0]) for name in ("Private_Clean", "Private_Dirty"))


def test_eight_workers_read_a_large_store_without_a_copy(tmp_path):
    """2 GiB in the parent: all workers together take less than a tenth of it for themselves."""
    rows, width = 1 << 20, 512
    with pyddstore.Store() as store:
        store.create("x", rows, (width,), np.float32)
        mine = store.local("x")
        mine[:] = np.arange(rows, dtype=np.float32)[:, None]
        whole = mine.nbytes
        assert whole == 2 << 30
        ready, measured = FORK.Queue(), FORK.Event()

        def worker(seed):
            if seed >= 0:
                random = np.random.default_rng(seed)
                for _ in range(200):
                    which = random.integers(0, rows, 256)
                    got = store.get_batch("x", which)
                    assert (got == which[:, None]).all()
            ready.put(seed)
            measured.wait(60)

        children = [FORK.Process(target=worker, args=(seed,)) for seed in range(-1, 8)]
        for child in children:
            child.start()
        for row in range(0, rows, 5000):
            assert store.get("x", row)[0, 0] == row
        for _ in children:
            ready.get(timeout=60)
        idle, *busy = (memory_of(child.pid) for child in children)
        measured.set()
        for child in children:
            child.join(60)
            assert child.exitcode == 0
        del mine
        assert sum(each - idle for each in busy) < whole / 10
