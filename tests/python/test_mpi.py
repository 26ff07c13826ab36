"""Under mpirun, with mpi4py: every MPI that is here, one to four ranks."""

import gc
import sys
from pathlib import Path

import numpy as np
import pytest

import clients
import pyddstore
from rows import everything, share

EXAMPLES = Path(__file__).parents[2] / "examples" / "python" / "mpi"
RANKS = pytest.mark.parametrize("size", [1, 2, 3, 4])
ONE_AND_MORE = pytest.mark.parametrize("size", [1, 3])


def unthreaded_clients(comm):
    from mpi4py import MPI

    assert MPI.Query_thread() == MPI.THREAD_SINGLE
    clients.all_of_them(comm)


@RANKS
def test_programs_run_as_they_are_also_without_threads_of_mpi(mpirun, size):
    mpirun(unthreaded_clients, size, MPI4PY_RC_THREADS="0")


def both_faces(comm):
    full = everything(comm.size)
    rows = np.random.default_rng(comm.rank).integers(0, len(full), 100)
    with pyddstore.Store(comm) as store, pyddstore.PyDDStore(comm) as other:
        assert (store.rank, store.size) == (other.rank, other.size) == (comm.rank, comm.size)
        store.add("x", share(comm.rank, comm.size))
        other.add("x", share(comm.rank, comm.size))
        out = np.empty((100, 3), np.float32)
        other.get_batch("x", out, rows)
        assert np.array_equal(out, full[rows])
        assert np.array_equal(store.get_batch("x", rows), full[rows])
        for rank in range(comm.size):
            assert store.path(rank) == ("self" if rank == comm.rank else "shm")


@RANKS
def test_both_classes_take_a_communicator(mpirun, size):
    mpirun(both_faces, size)


def by_its_handle(comm):
    from mpi4py import MPI

    class Silent(MPI.Intracomm):
        def allgather(self, *arguments):
            raise AssertionError("the library talks to MPI itself")

        allgatherv = Allgather = Barrier = barrier = Dup = dup = allgather

    with pyddstore.Store(Silent(comm)) as store:
        store.add("x", share(comm.rank, comm.size))
        full = everything(comm.size)
        assert np.array_equal(store.get("x", 0, len(full)), full)
    comm.barrier()


@ONE_AND_MORE
def test_the_library_takes_the_handle_and_no_method(mpirun, size):
    mpirun(by_its_handle, size)


def freed_and_split(comm):
    from mpi4py import MPI

    everyone = np.arange(comm.size)
    for width in {1, 2, comm.size}:
        group = comm.Split(comm.rank // width, comm.rank)
        store = pyddstore.PyDDStore(group)
        size, rank = group.size, group.rank
        group.Free()
        assert group == MPI.COMM_NULL
        with pytest.raises(ValueError, match="COMM_NULL"):
            pyddstore.PyDDStore(group)
        store.add("x", np.full((3, 2), comm.rank))
        assert store.info("x") == (3 * size, 2, 8)
        out = np.empty((3 * size, 2), int)
        store.get("x", out)
        first = comm.rank - rank
        assert out[::3, 0].tolist() == everyone[first : first + size].tolist()
        store.get_batch("x", out[:size], np.arange(size) * 3)
        assert out[:size, 1].tolist() == everyone[first : first + size].tolist()
        store.epoch_begin()
        store.epoch_end()
        if width == 1:
            store.free()


@ONE_AND_MORE
def test_a_group_has_a_store_that_outlives_its_communicator(mpirun, size):
    mpirun(freed_and_split, size)


def outside_the_group(comm):
    from mpi4py import MPI

    inside = comm.Split(0 if comm.rank == 0 else MPI.UNDEFINED, 0)
    for face in (pyddstore.PyDDStore, pyddstore.Store):
        if comm.rank == 0:
            with face(inside) as store:
                store.add("x", np.zeros(3))
        else:
            with pytest.raises(ValueError, match=r"MPI\.COMM_NULL"):
                face(inside)
        with pytest.raises(ValueError, match=r"MPI\.COMM_NULL"):
            face(MPI.COMM_NULL)
        with pytest.raises(TypeError):
            face(MPI.INFO_NULL)
    halves = comm.Split(comm.rank % 2, comm.rank)
    between = halves.Create_intercomm(0, comm, 1 - comm.rank % 2)
    with pytest.raises(ValueError, match="intercommunicator"):
        pyddstore.PyDDStore(between)


@pytest.mark.parametrize("size", [2, 3])
def test_a_rank_outside_of_a_group_gets_a_value_error(mpirun, size):
    mpirun(outside_the_group, size)


def after_finalize(comm):
    from mpi4py import MPI

    MPI.COMM_WORLD.Barrier()
    explicit, left, cyclic = (pyddstore.PyDDStore(comm) for _ in range(3))
    for store in (explicit, left, cyclic):
        store.add("x", share(comm.rank, comm.size))
    cyclic.itself = cyclic
    comm.Barrier()
    MPI.Finalize()
    explicit.free()
    explicit.free()
    del left, cyclic
    gc.collect()
    with pytest.raises((pyddstore.StateError, ValueError)):
        pyddstore.PyDDStore(comm)


@ONE_AND_MORE
def test_stores_are_freed_after_mpi_is_finalised(mpirun, size):
    mpirun(after_finalize, size)


def left_to_the_exit(comm):
    store = pyddstore.PyDDStore(comm)
    store.add("x", share(comm.rank, comm.size))
    sys.modules["kept"] = store  # until the interpreter, and MPI, is taken down


@ONE_AND_MORE
def test_a_store_may_be_left_to_the_end_of_the_program(mpirun, size):
    mpirun(left_to_the_exit, size)


def one_rank_fails_to_open(comm):
    """Each rank's own error ends the constructor on all."""
    method = 7 if comm.rank == comm.size - 1 else 0
    with pytest.raises(ValueError, match="method 7"):
        pyddstore.PyDDStore(comm, method=method)
    with pyddstore.PyDDStore(comm, method=1) as store:
        store.add("x", share(comm.rank, comm.size))
        out = np.empty((1, 3), np.float32)
        store.get("x", out, 1)


@ONE_AND_MORE
def test_a_constructor_that_fails_on_one_rank_fails_on_all(mpirun, size):
    mpirun(one_rank_fails_to_open, size)


def switched_off(comm):
    assert pyddstore.HAVE_MPI is False
    for face in (pyddstore.PyDDStore, pyddstore.Store):
        with pytest.raises(RuntimeError, match="HAVE_MPI is False"):
            face(comm)
    with pyddstore.Store() as store:
        store.add("x", np.zeros(3))


def test_mpi_may_be_switched_off(mpirun):
    mpirun(switched_off, 2, DDSTORE_MPI="0")


@pytest.mark.parametrize("size", [1, 4])
@pytest.mark.parametrize("name", ["epochs", "groups"])
def test_an_example_runs(mpirun, name, size):
    assert mpirun.run(size, ["-W", "error", str(EXAMPLES / f"{name}.py")])


def a_wrong_assertion(comm):
    assert comm.rank != comm.size - 1, "of the last rank"
    comm.barrier()


def test_a_rank_that_fails_ends_all_and_is_heard(mpirun):
    with pytest.raises(AssertionError, match="of the last rank"):
        mpirun(a_wrong_assertion, 3)


def a_read_given_up(comm):
    import time

    from pyddstore import _binding

    store = pyddstore.Store(comm, collective_timeout=60)
    row = np.full((1, 1 << 20), comm.rank, np.uint8)
    store.add("x", row)
    comm.barrier()
    if comm.rank == 1:
        time.sleep(3)  # out of MPI: it serves nothing
    else:
        store.set_timeout(collective=1)
        out = np.zeros_like(row)
        try:
            store.get("x", 1, out=out)
            assert (out == 1).all()
        except pyddstore.DeadlineError:
            assert any(kept is out for kept in _binding._held)
            assert store.stats().quarantined_bytes >= out.nbytes
        else:
            assert not _binding._held
    comm.barrier()
    assert (store.get("x", 0, 2)[:, 0] == [0, 1]).all()
    assert store.stats().quarantined_bytes == 0
    comm.barrier()
    store.free()


def test_memory_that_mpi_may_write_to_is_kept(mpirun):
    mpirun(a_read_given_up, 2, DDSTORE_SHM="0")
