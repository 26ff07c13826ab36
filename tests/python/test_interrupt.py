"""Ctrl-C in a rank that waits for a missing one raises KeyboardInterrupt within 0.2 s."""

import signal
import time

import numpy as np
import pytest

import pyddstore

PROMISE = 0.2


def waiting(call):
    """Tell when the wait begins and when the KeyboardInterrupt came out of it."""
    print("waiting", flush=True)
    with pytest.raises(KeyboardInterrupt):
        call()
    print("interrupted at", time.monotonic(), flush=True)


def interrupt(ranks, rank):
    ranks.wait_for(rank, "waiting")
    time.sleep(0.5)  # well inside the wait, past its spins
    sent = time.monotonic()
    ranks.processes[rank].send_signal(signal.SIGINT)
    ranks.wait_for(rank, "interrupted at")
    came = float(ranks.text(rank).split("interrupted at")[1].split()[0])
    assert came - sent <= PROMISE


def alone_at_the_meeting(comm):
    waiting(lambda: pyddstore.FileComm(comm.dir, 0, 2, "nobody", timeout=60))


def test_at_the_meeting(start):
    ranks = start(alone_at_the_meeting, 1)
    interrupt(ranks, 0)
    ranks.wait(10)


def before_the_others(comm, call):
    """Rank 0 waits in a collective that rank 1 never enters."""
    with pyddstore.Store(comm) as store:
        store.add("x", np.arange(6.0))
        comm.barrier()
        if comm.rank == 0:
            waiting(lambda: call(store, comm))
            assert store.get("x", 11)[0] == 5.0  # reads go on
        else:
            print("reached", flush=True)
            time.sleep(30)


def in_add(comm):
    before_the_others(comm, lambda store, _: store.add("y", np.zeros(3)))


def in_get_batch_all(comm):
    before_the_others(comm, lambda store, _: store.get_batch_all("x", [0, 11]))


def in_epoch(comm):
    before_the_others(comm, lambda store, _: store.epoch_begin())


def in_barrier(comm):
    before_the_others(comm, lambda _, comm: comm.barrier())


@pytest.mark.parametrize("function", [in_add, in_get_batch_all, in_epoch, in_barrier])
def test_in_a_collective(start, function):
    ranks = start(function, 2)
    interrupt(ranks, 0)
    ranks.processes[0].wait(10)
    assert ranks.processes[0].returncode == 0, ranks.text(0)


def own_handler(comm):
    signal.signal(signal.SIGUSR1, lambda *_: print("handled", flush=True))
    waiting(comm.barrier) if comm.rank == 0 else time.sleep(30)


def test_a_handler_that_does_not_raise_runs_and_the_wait_goes_on(start):
    ranks = start(own_handler, 2)
    ranks.wait_for(0, "waiting")
    time.sleep(0.3)
    ranks.processes[0].send_signal(signal.SIGUSR1)
    ranks.wait_for(0, "handled", 5)
    assert "interrupted" not in ranks.text(0)
    interrupt(ranks, 0)
