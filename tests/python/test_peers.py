"""A rank that dies is named."""

import signal
import time

import numpy as np
import pytest

import pyddstore


def with_one_that_dies(comm):
    with pyddstore.Store(comm) as store:
        store.add("x", np.full((4, 2), comm.rank))
        store.get("x", 4 * comm.size - 1)
        comm.barrier()
        print("ready", flush=True)
        if comm.rank == 1:
            time.sleep(60)
        with pytest.raises(ConnectionError) as caught:
            store.epoch_begin()
        print("ended at", time.monotonic(), flush=True)
        assert isinstance(caught.value, pyddstore.PeerError)
        assert caught.value.rank == 1
        assert "1" in str(caught.value)
        # its memory outlives it; only collectives are over
        assert store.get("x", 4).tolist() == [[1, 1]]
        with pytest.raises((pyddstore.PoisonedError, pyddstore.PeerError)):
            store.add("y", np.zeros(3))


@pytest.mark.parametrize("size", [2, 3])
def test_a_rank_that_dies_is_named_and_its_rows_are_read(start, size):
    ranks = start(with_one_that_dies, size)
    for rank in range(size):
        ranks.wait_for(rank, "ready")
    time.sleep(0.5)  # the others wait for it by now
    killed = time.monotonic()
    ranks.processes[1].send_signal(signal.SIGKILL)
    for rank in set(range(size)) - {1}:
        assert ranks.processes[rank].wait(20) == 0, ranks.text(rank)
        assert float(ranks.text(rank).split("ended at")[1].split()[0]) - killed < 1
