"""Requests: waited for, tested, cancelled, lost; each keeps its buffers and its own error."""

import gc

import numpy as np
import pytest

import pyddstore
from rows import everything, share


def in_flight(comm):
    full = everything(comm.size)
    random = np.random.default_rng(comm.rank)
    with pyddstore.Store(comm) as store:
        store.add("x", share(comm.rank, comm.size))
        for n in (0, 1, 5, 40):
            lists = [random.integers(0, len(full), 30) for _ in range(n)]
            requests = [store.iget_batch("x", rows) for rows in lists]
            results = pyddstore.waitall(requests)
            assert all(
                np.array_equal(r, full[rows]) for r, rows in zip(results, lists, strict=True)
            )
            assert all(request.done and request.test() for request in requests)
            assert pyddstore.waitany(requests) is None

            requests = [store.iget_batch("x", rows) for rows in lists]
            seen = set()
            while (place := pyddstore.waitany(requests, timeout=20)) is not None:
                assert requests[place].done
                assert np.array_equal(requests[place].result(), full[lists[place]])
                seen.add(place)
            assert seen == set(range(n))
        comm.barrier()


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_requests_end_with_their_rows(launch, size):
    launch(in_flight, size)


@pytest.fixture
def store():
    with pyddstore.Store() as store:
        store.add("x", np.arange(12.0).reshape(4, 3))
        yield store


def test_a_request_fills_what_it_was_given(store):
    out, status = np.zeros((3, 3)), np.full(3, 77, np.int32)
    request = store.iget_batch("x", [3, 0, 3], out, status)
    while not request.test():
        pass
    assert request.done
    assert request.wait() is request.result(timeout=1) is out
    assert out.tolist() == [[9, 10, 11], [0, 1, 2], [9, 10, 11]]
    assert status.tolist() == [0, 0, 0]
    assert "3 rows, ended" in repr(request)


def test_a_request_keeps_its_buffers(store):
    request = store.iget_batch("x", np.array([1, 2]), np.zeros((2, 3)))
    gc.collect()
    assert request.wait().tolist() == [[3, 4, 5], [6, 7, 8]]


def test_a_bad_row_starts_nothing(store):
    with pytest.raises(IndexError):
        store.iget_batch("x", [0, 4])


@pytest.mark.parametrize("status", [np.zeros(1, "i4"), np.zeros(2, "i8")], ids=["short", "wide"])
def test_a_wrong_status_is_refused(store, status):
    with pytest.raises(ValueError, match="one int32 a row"):
        store.iget_batch("x", [0, 1], status=status)


def test_a_cancelled_request_says_so(store):
    request = store.iget_batch("x", [0, 1])
    if not request.done:
        request.cancel()
        with pytest.raises(pyddstore.StateError, match="cancelled"):
            request.wait()
    request.cancel()
    assert request.done


def test_a_lost_request_is_ended(store):
    out = np.zeros((2, 3))
    store.iget_batch("x", [0, 1], out)
    gc.collect()
    store.drop("x")  # waits for readers: none is left


def test_a_timeout_is_positive(store):
    request = store.iget_batch("x", [0, 1])
    if not request.done:
        with pytest.raises(ValueError, match="positive"):
            request.wait(0)
    assert request.wait(5).tolist() == [[0, 1, 2], [3, 4, 5]]
