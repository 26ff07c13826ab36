"""``store["x"]`` indexes as NumPy does; ``local`` is the memory itself, and outlives the store."""

import gc

import numpy as np
import pytest

import pyddstore

ARRAY = np.arange(10 * 2 * 3, dtype=np.int32).reshape(10, 2, 3)


@pytest.fixture
def store():
    with pyddstore.Store() as store:
        store.add("x", ARRAY)
        store.add("flat", np.arange(10.0))
        yield store


INDICES = [
    0, 3, -1, np.int64(4), np.uint8(9), slice(None), slice(2, 5), slice(5, 2), slice(-3, None),
    slice(None, None, 2), slice(None, None, -1), slice(8, 1, -3), slice(0, 100), [1, 1, 0],
    np.array([9, -1, 0]), [], np.array([[0, 1], [2, 3]]), np.arange(10) % 3 == 0, Ellipsis, (),
    (3, 1), (3, 1, 2), (slice(2, 5), 1), (slice(None), slice(None), -1), ([0, 2], 0), (..., 0),
    (np.arange(10) > 7, slice(None), 1),
]  # fmt: skip


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_an_index_means_what_it_means_in_numpy(store, index):
    got, expected = store["x"][index], ARRAY[index]
    assert np.array_equal(got, expected)
    assert np.shape(got) == np.shape(expected)
    assert got.dtype == expected.dtype


def test_one_element_rows_come_as_scalars(store):
    assert store["flat"][3] == 3.0
    assert np.shape(store["flat"][3]) == ()
    assert store["flat"][[3, 1]].tolist() == [3, 1]


@pytest.mark.parametrize("index", [10, -11, [0, 10], [-11], 0.5, [0.5], "x", None, [True]], ids=str)
def test_another_index_is_refused(store, index):
    with pytest.raises((IndexError, TypeError)):
        store["x"][index]


def test_a_view_describes_itself(store):
    view = store["x"]
    assert (view.name, view.shape, view.ndim, view.dtype) == ("x", (10, 2, 3), 3, np.int32)
    assert (len(view), view.size, view.nbytes) == (10, 60, 240)
    assert repr(view) == "<pyddstore.Variable 'x' (10, 2, 3) int32>"
    assert np.array_equal(np.asarray(view), ARRAY)
    assert np.asarray(view, dtype=np.float64).dtype == np.float64
    assert np.array_equal(np.stack(list(view)), ARRAY)
    assert np.shares_memory(view.local, store.local("x"))


def test_a_store_is_a_mapping_that_is_never_false(store):
    assert list(store) == store.keys() == store.list() == ["x", "flat"]
    assert len(store) == 2
    assert "x" in store
    assert "y" not in store
    assert 3 not in store
    with pytest.raises(KeyError):
        store["y"]
    assert "rank 0 of 1" in repr(store)
    with pyddstore.Store() as empty:
        assert empty
        assert len(empty) == 0


def test_many_names_are_listed(store):
    names = [f"a rather long name of a variable, number {i}, ä" for i in range(300)]
    for name in names:
        store.add(name, np.zeros(1, "u1"))
    assert store.keys() == ["x", "flat", *names]


def test_local_is_the_memory_itself(store):
    mine = store.local("x")
    mine[4] = -1
    assert store["x"][4].tolist() == [[-1] * 3] * 2
    assert np.shares_memory(mine, store.local("x"))


def test_a_view_outlives_the_variable_and_the_store():
    store = pyddstore.Store()
    big = store.create("x", 1 << 16, 64, "f8")
    big[:] = 7
    other = store.local("x")[5:6]
    store.drop("x")
    store.add("y", np.zeros((1 << 16, 64)))
    with pytest.raises(KeyError):
        store.get("x", 0)
    store.free()
    del store
    gc.collect()
    assert big.sum() == 7 * (64 << 16)
    big[5] = 1
    assert other.sum() == 64


def test_views_that_are_gone_give_their_memory_back():
    for _ in range(4):
        with pyddstore.Store() as store:
            store.create("x", 1 << 14, 64, "f8")[:] = 1
    gc.collect()
    with pyddstore.Store() as store:
        assert store.stats().parked_bytes == 0


def test_a_name_may_come_again_with_other_rows(store):
    store.get_batch("x", [0])
    store.drop("x")
    store.add("x", np.ones((4, 5), "f8"))
    assert store.get_batch("x", [3]).tolist() == [[1] * 5]
    assert store["x"].shape == (4, 5)
