"""Every dtype of the C API goes in and comes back; every other is refused, with the list."""

import numpy as np
import pytest

import pyddstore

PLAIN = ["bool", "float16", "float32", "float64", "complex64", "complex128"]
PLAIN += [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
RECORD = np.dtype([("id", "i4"), ("at", "f8", 3), ("tag", "S5")], align=True)


@pytest.fixture
def store():
    with pyddstore.Store() as store:
        yield store


def some(dtype, shape):
    raw = np.random.default_rng(7).integers(0, 2, (*shape, np.dtype(dtype).itemsize), np.uint8)
    return raw.view(dtype).reshape(shape)


@pytest.mark.parametrize("dtype", [*PLAIN, "V7", "S3", RECORD], ids=str)
@pytest.mark.parametrize("row", [(), (3,), (2, 1, 4)], ids=str)
def test_a_dtype_goes_in_and_comes_back(store, dtype, row):
    array = some(dtype, (11, *row))
    store.add("x", array)
    info = store.info("x")
    assert (info.dtype, info.shape, info.rows) == (array.dtype, row, 11)
    assert info.itemsize == array.dtype.itemsize
    rows = np.array([10, 0, 3, 3])
    for got in (store.get_batch("x", rows), store.get_batch_all("x", rows), store["x"][rows]):
        assert (got.dtype, got.shape) == (array.dtype, (4, *row))
        assert np.array_equal(got, array[rows])
    assert np.array_equal(store.local("x"), array)


def test_bfloat16_goes_through_ml_dtypes(store):
    bfloat16 = pytest.importorskip("ml_dtypes").bfloat16
    array = np.arange(12).reshape(4, 3).astype(bfloat16)
    store.add("x", array)
    assert store.info("x").dtype == bfloat16
    out = np.zeros((2, 3), bfloat16)
    assert store.get_batch("x", np.array([3, 1]), out) is out
    assert out.tolist() == [[9, 10, 11], [3, 4, 5]]
    assert store.get("x", 0, 4).tolist() == array.tolist()
    filled = store.create("y", 2, 3, bfloat16)
    filled[:] = 1.5
    assert store["y"][1].tolist() == [1.5] * 3
    store.update("y", array[:1], 1)
    assert store["y"][1].tolist() == [0, 1, 2]


REFUSED = [">f4", ">i8", "O", "M8[s]", "m8[ns]", "U4", "g", "G", "V0", [("a", "O")], [("a", ">f4")]]


@pytest.mark.parametrize("dtype", REFUSED, ids=str)
def test_another_dtype_is_refused_with_the_list(store, dtype):
    with pytest.raises(TypeError, match=r"float16, bfloat16, float32.*structured, void or S"):
        store.add("x", np.zeros(3, dtype))
    with pytest.raises(TypeError, match="complex128"):
        store.create("x", 3, (), dtype)
    assert "x" not in store


def test_opaque_rows_land_in_any_opaque_destination_of_their_size(store):
    array = some(RECORD, (5,))
    store.add("x", array)
    out = np.zeros(2, f"V{RECORD.itemsize}")
    assert np.array_equal(store.get_batch("x", np.array([4, 1]), out).view(RECORD), array[[4, 1]])
    with pytest.raises(TypeError, match="elements of"):
        store.get_batch("x", np.array([4, 1]), np.zeros(2, f"V{RECORD.itemsize + 1}"))


@pytest.mark.parametrize("shape", [(0,), (0, 3), (4, 0), (4, 0, 2)], ids=str)
def test_nothing_is_stored_and_read_back(store, shape):
    store.add("x", np.zeros(shape, "f4"))
    assert store["x"].shape == shape
    assert store.local("x").shape == shape
    assert store.get("x", 0, shape[0]).shape == shape
    assert store.get_batch("x", []).shape == (0, *shape[1:])
    if shape[0]:
        assert store.get_batch("x", [3, 0]).shape == (2, *shape[1:])


def test_sources_may_be_read_only_strided_or_lists(store):
    array = np.arange(24, dtype=np.int16).reshape(4, 6)
    frozen = array.copy()
    frozen.flags.writeable = False
    store.add("frozen", frozen)
    store.add("strided", array[::-1, ::2])
    store.add("list", [[1, 2], [3, 4]])
    assert np.array_equal(store["frozen"], array)
    assert np.array_equal(store["strided"], array[::-1, ::2])
    assert store["list"][:].tolist() == [[1, 2], [3, 4]]
