"""Methods 1 and 2 from Python: without MPI, and from another job."""

import multiprocessing
import os

import numpy as np
import pytest

import pyddstore
from rows import everything, share

needs_fabric = pytest.mark.skipif(
    not os.path.exists("/usr/include/rdma/fabric.h"), reason="built without libfabric"
)


def over_fabric(comm):
    os.environ["DDSTORE_SHM"] = "0"
    os.environ["DDSTORE_PROFILE"] = "1"
    with pyddstore.PyDDStore(
        None, method=1, handshake_dir=comm.dir, rank=comm.rank, size=comm.size
    ) as store:
        store.add("x", share(comm.rank, comm.size))
        expected = everything(comm.size)
        rows = np.random.default_rng(comm.rank).integers(0, len(expected), 64)
        out = np.empty((64, 3), np.float32)
        store.get_batch("x", out, rows)
        store.register_recv("x", out)
        before = store.get_profile("x")
        for _ in range(10):
            store.get_batch("x", out, rows)
            assert (out == expected[rows]).all()
            store.get_batch("x", out[3:7], rows[3:7])
        took = {key: value - before[key] for key, value in store.get_profile("x").items()}
        assert (took["calls"], took["rows"], took["mr_miss"], took["mr"]) == (20, 680, 0, 0)
        assert (took["read"] > 0 and took["cq"] > 0) == (comm.size > 1)
        assert took["lock_wait"] <= took["read"] + took["cq"] < took["py_get"]
        store.unregister_recv("x", out)
        store.epoch_begin()
        store.epoch_end()
        with pytest.raises(IndexError):
            store.get_batch("x", out[:1], [len(expected)])
        if comm.size > 1:
            assert store.path((comm.rank + 1) % comm.size).startswith("fabric ")
            assert store.stats().rows["fabric"] > 0
        comm.barrier()


@needs_fabric
@pytest.mark.parametrize("size", [1, 2, 3])
def test_rows_come_over_libfabric_without_mpi(launch, size):
    launch(over_fabric, size)


def core_and_reader(comm):
    """The last rank is another job."""
    core = comm.size - 1
    where = comm.dir + "/records"
    expected = everything(core)
    if comm.rank < core:
        store = pyddstore.PyDDStore(
            None, method=2, handshake_dir=where, rank=comm.rank, size=core, exchange_ns="core"
        )
        store.add("x", share(comm.rank, core))
        comm.barrier()
        comm.barrier()
        store.free()
        return
    reader = pyddstore.PyDDStore(None, method=2, handshake_dir=where, n_core=core)
    reader.join("x")
    assert reader.info("x") == (len(expected), 3, 4)
    rows = np.random.default_rng(1).integers(0, len(expected), 100)
    out = np.empty((100, 3), np.float32)
    reader.get_batch("x", out, rows)
    assert (out == expected[rows]).all()
    comm.barrier()
    with pyddstore.Store.attach(where, core) as other:
        other.join("x")
        assert (other.get_batch("x", rows) == expected[rows]).all()
        with pytest.raises(RuntimeError, match="only reads"):
            other.add("y", np.zeros(3))
    reader.free()
    comm.barrier()


@pytest.mark.parametrize("size", [2, 4])
def test_another_job_reads(launch, size):
    launch(core_and_reader, size)


def test_a_frame_is_whole(tmp_path):
    with (
        pyddstore.Store(method=2, handshake_dir=tmp_path / "records") as core,
        pyddstore.Store.attach(tmp_path / "records", 1) as reader,
    ):
        core.add("x", np.zeros(4))
        reader.join("x")
        with pytest.raises(TimeoutError):
            reader.wait_version("x", 1, timeout=0.05)
        core.update("x", np.arange(4.0), 0)
        core.publish("x", 1)
        assert reader.wait_version("x", 1) == 1
        assert reader.get_batch("x", [3, 1]).tolist() == [3, 1]
        with pytest.raises(ValueError, match="does not follow"):
            core.publish("x", 1)


def test_a_variable_that_never_comes(tmp_path, monkeypatch):
    monkeypatch.setenv("DDSTORE_HANDSHAKE_TIMEOUT_S", "1")
    with pyddstore.Store.attach(tmp_path, 2) as reader, pytest.raises(TimeoutError, match="never"):
        reader.join("never")


def test_a_forked_worker_of_a_reader_reads(tmp_path):
    where = str(tmp_path / "records")
    core = pyddstore.PyDDStore(None, method=2, handshake_dir=where, rank=0, size=1)
    core.add("x", np.arange(30.0).reshape(10, 3))
    reader = pyddstore.PyDDStore(None, method=2, handshake_dir=where, n_core=1)
    reader.join("x")

    def work():
        out = np.empty((2, 3))
        reader.get_batch("x", out, [9, 4])
        assert out[:, 0].tolist() == [27, 12]

    child = multiprocessing.get_context("fork").Process(target=work)
    child.start()
    child.join(30)
    assert child.exitcode == 0
    reader.free()
    core.free()
