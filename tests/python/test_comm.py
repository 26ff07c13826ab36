"""Communicators: objects through a FileComm, a caller's own allgather, and what they refuse."""

import numpy as np
import pytest

import pyddstore
from rows import everything, share


def objects(comm):
    for obj in (None, comm.rank, "ä" * comm.rank, {"rank": comm.rank, "of": [1, (2.5, b"x")]}):
        gathered = comm.allgather(obj)
        assert len(gathered) == comm.size
        assert gathered[comm.rank] == obj
    assert comm.allgather(comm.rank) == list(range(comm.size))
    # more than the first round has room for, and of very different sizes
    arrays = comm.allgather(np.full(comm.rank * 30000, comm.rank))
    assert [len(array) for array in arrays] == [r * 30000 for r in range(comm.size)]
    assert all((array == r).all() for r, array in enumerate(arrays))
    for _ in range(20):
        comm.barrier()


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_objects_reach_every_rank(launch, size):
    launch(objects, size)


def groups(comm):
    first = pyddstore.FileComm(comm.dir, comm.rank, comm.size, "first")
    second = pyddstore.FileComm(comm.dir, comm.rank, comm.size, ns="second", timeout=20)
    assert (first.rank, first.size, first.dir, first.ns) == (
        comm.rank,
        comm.size,
        comm.dir,
        "first",
    )
    assert first.allgather("a") == ["a"] * comm.size
    assert second.allgather("b") == ["b"] * comm.size
    first.free()
    first.free()
    assert repr(first).startswith("<freed FileComm(")
    with pytest.raises(pyddstore.StateError):
        first.barrier()
    second.barrier()
    second.free()


@pytest.mark.parametrize("size", [1, 3])
def test_groups_in_one_directory_do_not_mix(launch, size):
    launch(groups, size)


def a_store_outlives_its_communicator(comm):
    with pyddstore.FileComm(comm.dir, comm.rank, comm.size, "short") as short:
        store = pyddstore.Store(short)
    with store:
        store.add("x", share(comm.rank, comm.size))
        full = everything(comm.size)
        assert np.array_equal(store.get("x", 0, len(full)), full)
        comm.barrier()


@pytest.mark.parametrize("size", [1, 2])
def test_a_store_outlives_its_communicator(launch, size):
    launch(a_store_outlives_its_communicator, size)


class Own:
    """A communicator as a launcher might have it; rank and size are methods."""

    def __init__(self, comm):
        self._comm = comm
        self.calls = 0
        self.fail = None

    def rank(self):
        return self._comm.rank

    def size(self):
        return self._comm.size

    def allgather(self, sent):
        assert type(sent) is bytes
        self.calls += 1
        if self.fail:
            raise self.fail
        return self._comm.allgather(sent)


def through_our_own(comm):
    own = Own(comm)
    with pyddstore.Store(own) as store:
        assert own.calls > 0
        store.add("x", share(comm.rank, comm.size))
        full = everything(comm.size)
        assert np.array_equal(store.get_batch("x", np.arange(len(full))[::-1]), full[::-1])
        store.drop("x")
        comm.barrier()


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_a_store_goes_through_the_callers_own_allgather(launch, size):
    launch(through_our_own, size)


def test_an_error_of_the_callers_allgather_is_the_cause(tmp_path):
    class One:
        rank, size = 0, 2

        def allgather(self, sent):
            raise self.error

    one = One()
    one.error = LookupError("the network is down")
    with pytest.raises(pyddstore.DDSError) as caught:
        pyddstore.Store(one)
    assert caught.value.__cause__ is one.error
    one.error = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        pyddstore.Store(one)


def test_an_allgather_that_returns_nonsense_is_refused():
    class One:
        rank, size = 0, 2

        def allgather(self, sent):
            return [sent]

    with pytest.raises(pyddstore.DDSError) as caught:
        pyddstore.Store(One())
    assert isinstance(caught.value.__cause__, ValueError)


def test_the_callers_communicator_is_let_go():
    from pyddstore import _comm

    class One:
        rank, size = 0, 1

        def allgather(self, sent):
            return [sent]

    with pyddstore.Store(One()):
        pass
    assert not _comm._Adapter.alive


def test_a_directory_that_is_missing_is_made_private(tmp_path):
    where = tmp_path / "deep" / "meet"
    where.parent.mkdir()
    with pyddstore.FileComm(where, 0, 1) as comm:
        assert comm.dir == str(where)
        assert where.stat().st_mode & 0o777 == 0o700


def test_a_rank_that_does_not_come_is_named(tmp_path):
    with pytest.raises(TimeoutError, match="1") as caught:
        pyddstore.FileComm(tmp_path / "meet", 0, 2, timeout=0.3)
    assert isinstance(caught.value, pyddstore.DeadlineError)
