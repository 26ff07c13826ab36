"""`PyDDStore` does what programs rely on that were written for ORNL's pyddstore: on one rank."""

import pickle
import warnings

import numpy as np
import pytest

import pyddstore

DTYPES = ["int32", "int64", "uint8", "float32", "float64", "bool"]
ROWS = np.arange(24, dtype=np.float32).reshape(8, 3)


@pytest.fixture
def comm(tmp_path):
    with pyddstore.FileComm(tmp_path / "meet", 0, 1) as comm:
        yield comm


@pytest.fixture
def store(comm):
    store = pyddstore.PyDDStore(comm)
    store.add("x", ROWS)
    yield store
    store.free()


class OnGpu:
    """What a tensor of a GPU shows of itself."""

    is_cuda = True
    shape = (2, 3)

    def __len__(self):
        return 2


# -- opening


REFUSED = [
    ((), {}, "method=0 requires a valid MPI communicator (got comm_or_none=None)"),
    ((None, 1), {}, "method=1 requires a valid MPI communicator (got comm_or_none=None)"),
    ((None, 0), {"rank": 0, "size": 1}, "method=0 requires a valid MPI communicator"),
    ((None, 2), {}, "method=2 requires handshake_dir (got handshake_dir='')"),
    ((None, 2, ""), {"n_core": 4}, "method=2 requires handshake_dir (got handshake_dir='')"),
    ((None, 2, "hs"), {}, "method=2 extra member requires n_core > 0 (got n_core=0)"),
    ((None, 2, "hs", -3), {}, "method=2 extra member requires n_core > 0 (got n_core=-3)"),
    ((None, 1), {"rank": 0, "size": 1}, "method=1 without MPI requires handshake_dir"),
    ((None, 1, "hs"), {"rank": 0}, "rank 0 of 0"),
]


@pytest.mark.parametrize(("arguments", "named", "text"), REFUSED)
def test_arguments_that_do_not_fit_together_are_a_value_error(
    arguments, named, text, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the text is looked at below
        pyddstore.PyDDStore(*arguments, **named)
    assert text in str(caught.value)


def test_method_2_is_checked_for_its_directory_before_anything_else(comm):
    with pytest.raises(ValueError, match=r"requires handshake_dir \(got handshake_dir=''\)"):
        pyddstore.PyDDStore(comm, method=2)


def test_a_directory_is_a_str(comm, tmp_path):
    for directory in (tmp_path, None, b"hs"):
        with pytest.raises(TypeError, match="handshake_dir is a str"):
            pyddstore.PyDDStore(comm, method=2, handshake_dir=directory)


@pytest.mark.parametrize("what", [3, "COMM_WORLD", object(), [0, 1]])
def test_what_is_no_communicator_is_a_type_error(what):
    with pytest.raises(TypeError, match="communicator"):
        pyddstore.PyDDStore(what)


def test_methods_are_integers(comm):
    for kind in ("0", 0.0, None):
        with pytest.raises(TypeError):
            pyddstore.PyDDStore(comm, method=kind)
    with pytest.raises(ValueError, match="method 7"):
        pyddstore.PyDDStore(comm, method=7)


def test_all_arguments_have_names(comm):
    store = pyddstore.PyDDStore(
        comm_or_none=comm, method=0, handshake_dir="", n_core=0, nic_map=None
    )
    store.add(name="x", arr=ROWS)
    store.init(name="y", nrows=2, disp=3, itemsize=4)
    store.update(name="y", arr=ROWS[:1], offset=1)
    out = np.empty((1, 3), np.float32)
    store.get(name="x", arr=out, start=1)
    assert out.tolist() == [[3, 4, 5]]
    store.get_batch(name="y", arr=out, indices=[1])
    assert out.tolist() == [[0, 1, 2]]
    store.free()


def test_method_1_without_mpi_meets_in_a_directory_that_is_made(tmp_path):
    where = tmp_path / "hs"
    store = pyddstore.PyDDStore(
        None, method=1, handshake_dir=str(where), rank=0, size=1, exchange_ns="mine"
    )
    assert where.stat().st_mode & 0o777 == 0o700
    store.add("x", ROWS)
    out = np.empty((2, 3), np.float32)
    store.get_batch("x", out, [7, 0])
    assert out.tolist() == ROWS[[7, 0]].tolist()
    store.epoch_begin()
    store.epoch_end()
    store.free()


def test_a_map_of_network_cards_is_for_methods_with_a_network(comm):
    pyddstore.PyDDStore(comm, nic_map="hsn0=0-15").free()
    pyddstore.PyDDStore(comm, method=1, nic_map="hsn0=0-15").free()
    with pytest.raises(ValueError, match="nic_map"):
        pyddstore.PyDDStore(comm, method=1, nic_map="hsn0=zero")


# -- what a store is


def test_a_store_without_variables_is_true(comm):
    store = pyddstore.PyDDStore(comm)
    assert store
    assert bool(store) is True
    store.free()
    assert store


CALLS = [
    "init", "add", "update", "get", "get_batch", "register_recv", "unregister_recv", "get_profile",
    "join", "info", "epoch_begin", "epoch_end", "free",
]  # fmt: skip


def test_every_call_is_there_in_every_method(comm):
    for method in (0, 1):
        with pyddstore.PyDDStore(comm, method=method) as store:
            assert [name for name in CALLS if not hasattr(store, name)] == []
    varinfo = pyddstore.PyDDstoreVarinfo()
    assert not [name for name in dir(varinfo) if not name.startswith("_")]


def test_freeing_twice_is_fine_and_nothing_is_read_afterwards(store):
    out = np.full((1, 3), 7, np.float32)
    store.get("x", out)
    store.free()
    store.free()
    for call in (
        lambda: store.get("x", out),
        lambda: store.get_batch("x", out, np.array([0])),
        lambda: store.add("y", ROWS),
        lambda: store.info("x"),
        store.epoch_begin,
    ):
        with pytest.raises(RuntimeError):
            call()
    assert repr(store) == "<freed pyddstore.PyDDStore>"


def test_a_store_that_is_left_to_the_collector_says_nothing(comm):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        store = pyddstore.PyDDStore(comm)
        store.add("x", ROWS)
        del store


def test_a_constructor_that_fails_leaves_nothing_to_the_collector(comm):
    with pytest.raises(TypeError):
        pyddstore.PyDDStore(comm, method=2, handshake_dir=None)


def test_a_store_is_a_context_and_not_pickled(comm):
    with pyddstore.PyDDStore(comm) as store:
        assert isinstance(store, pyddstore.PyDDStore)
        with pytest.raises(TypeError, match="a PyDDStore cannot be pickled"):
            pickle.dumps(store)
    with pytest.raises(RuntimeError):
        store.info("x")


# -- adding


@pytest.mark.parametrize("dtype", [*DTYPES, "uint16", "float16", "complex128", "V6", "S3"])
@pytest.mark.parametrize("row", [(), (5,), (2, 3, 4)], ids=str)
def test_rows_of_any_shape_come_back_flat_or_shaped(comm, dtype, row):
    store = pyddstore.PyDDStore(comm)
    size = np.dtype(dtype).itemsize
    array = np.random.default_rng(1).integers(0, 2, (6, *row, size), np.uint8).view(dtype)[..., 0]
    array = np.ascontiguousarray(array)
    store.add("x", array)
    disp = int(np.prod(row))
    assert store.info("x") == (6, disp, size)
    for shape in {row, (disp,)}:
        out = np.empty((6, *shape), dtype)
        store.get("x", out)
        assert out.tobytes() == array.tobytes()
        out = np.empty((3, *shape), dtype)
        store.get_batch("x", out, [5, 0, 5])
        assert out.tobytes() == array[[5, 0, 5]].tobytes()
    store.free()


@pytest.mark.parametrize("dtype", [">f4", ">i8", "O", "U4", "M8[s]", "g"])
def test_another_dtype_is_not_implemented(store, dtype):
    with pytest.raises(NotImplementedError, match="unsupported dtype: "):
        store.add("y", np.zeros(3, dtype))
    with pytest.raises(NotImplementedError, match="unsupported dtype: "):
        store.update("x", np.zeros((1, 3), dtype), 0)
    with pytest.raises(ValueError, match="no variable"):
        store.info("y")


def test_an_array_with_gaps_is_an_assertion_error(store):
    gaps = np.zeros((4, 6), np.float32)[:, ::2]
    with pytest.raises(AssertionError, match="C-contiguous"):
        store.add("y", gaps)
    with pytest.raises(AssertionError, match="C-contiguous"):
        store.update("x", gaps, 0)
    with pytest.raises(AssertionError):
        store.add("y", np.asfortranarray(np.zeros((4, 6))))


def test_what_is_no_array_is_a_type_error(store):
    for what in ([[1.0, 2.0, 3.0]], None, 3.0, b"abc"):
        with pytest.raises(TypeError):
            store.add("y", what)
        with pytest.raises(TypeError):
            store.update("x", what, 0)
        with pytest.raises(TypeError):
            store.get("x", what)
    with pytest.raises(ValueError, match="axis"):
        store.add("y", np.array(3.0))
    for name in (None, 3, b"x"):
        with pytest.raises(TypeError):
            store.add(name, ROWS)


def test_a_name_is_taken_once(store):
    with pytest.raises(KeyError) as caught:
        store.add("x", ROWS + 1)
    assert isinstance(caught.value, pyddstore.ExistsError)
    with pytest.raises(KeyError):
        store.init("x", 2, 3)
    out = np.empty((8, 3), np.float32)
    store.get("x", out)
    assert np.array_equal(out, ROWS)


def test_the_source_may_be_read_only_and_is_free_at_once(store):
    packed = np.frombuffer(b"0123456789", np.uint8)
    assert not packed.flags.writeable
    store.add("packed", packed)
    array = ROWS.copy()
    store.add("copied", array)
    array[:] = -1
    out = np.empty(4, np.uint8)
    store.get("packed", out, 3)
    assert out.tobytes() == b"3456"
    out = np.empty((8, 3), np.float32)
    store.get("copied", out)
    assert np.array_equal(out, ROWS)


@pytest.mark.parametrize("shape", [(0,), (0, 3), (4, 0), (0, 2, 2)], ids=str)
def test_nothing_may_be_added(store, shape):
    store.add("nothing", np.zeros(shape, np.float32))
    assert store.info("nothing") == (shape[0], int(np.prod(shape[1:])), 4)
    store.get("nothing", np.empty(shape, np.float32))
    store.get_batch("nothing", np.empty((0, *shape[1:]), np.float32), [])


# -- filling


def test_init_gives_zeros_that_update_fills(store):
    store.init("y", 5, 2, 4)
    assert store.info("y") == (5, 2, 4)
    out = np.full((5, 2), 9, np.int32)
    store.get("y", out)
    assert not out.any()
    store.update("y", np.array([[1, 2], [3, 4]], np.int32), 3)
    store.update("y", np.array([[0.5, 1.5]], np.float32))  # only the item size counts
    store.get("y", out)
    assert out[3:].tolist() == [[1, 2], [3, 4]]
    assert out[:1].view(np.float32).tolist() == [[0.5, 1.5]]
    assert store.init("z", 5, 2) is None
    assert store.info("z") == (5, 2, 1)


@pytest.mark.parametrize("numbers", [(-1, 2, 4), (2, -1, 4), (2, 2, 0), (2, 2, -8), (2, 2, 2**30)])
def test_init_of_impossible_sizes_is_a_value_error(store, numbers):
    with pytest.raises(ValueError):  # noqa: PT011 - each has its text
        store.init("y", *numbers)
    store.init("y", 2, 2, 4)


def test_init_takes_no_fractions(store):
    for numbers in ((2.0, 2, 4), (2, "2", 4), (2, 2, None)):
        with pytest.raises(TypeError):
            store.init("y", *numbers)


@pytest.mark.parametrize(
    "arguments",
    [
        (np.zeros((1, 3), np.float32), 8),
        (np.zeros((2, 3), np.float32), 7),
        (np.zeros((1, 3), np.float32), -1),
        (np.zeros((1, 3), np.float64), 0),
        (np.zeros((1, 2), np.float32), 0),
        (np.zeros((1, 4), np.float32), 0),
        (np.zeros(3, np.float32), 0),
    ],
)
def test_an_update_that_does_not_fit_is_a_value_error(store, arguments):
    with pytest.raises(ValueError):  # noqa: PT011 - each has its text
        store.update("x", *arguments)
    out = np.empty((8, 3), np.float32)
    store.get("x", out)
    assert np.array_equal(out, ROWS)


# -- reading


@pytest.mark.parametrize("start", [2, np.int64(2), np.uint8(2), np.array(2)])
def test_a_start_is_any_integer(store, start):
    out = np.empty((2, 3), np.float32)
    store.get("x", out, start)
    assert np.array_equal(out, ROWS[2:4])
    with pytest.raises(TypeError):
        store.get("x", out, 2.0)


def test_only_the_item_size_of_a_destination_counts(store):
    out = np.empty((1, 3), np.int32)
    store.get("x", out, 4)
    assert np.array_equal(out.view(np.float32), ROWS[4:5])
    store.get_batch("x", out, [7])
    assert np.array_equal(out.view(np.float32), ROWS[7:])
    store.add("days", np.arange(3))
    days = np.empty(3, "M8[D]")
    store.get("days", days)
    assert days.view(np.int64).tolist() == [0, 1, 2]
    for kind in (np.float64, np.int16):
        with pytest.raises(ValueError, match="elements of"):
            store.get("x", np.empty((1, 3), kind))
        with pytest.raises(ValueError, match="elements of"):
            store.get_batch("x", np.empty((1, 3), kind), [0])


def frozen(array):
    array.flags.writeable = False
    return array


BAD = {
    "too narrow": lambda: np.full((2, 2), 7, "f4"),
    "too wide": lambda: np.full((2, 4), 7, "f4"),
    "flat": lambda: np.full(2, 7, "f4"),
    "same bytes, other item": lambda: np.full((2, 6), 7, "f2"),
    "frozen": lambda: frozen(np.full((2, 3), 7, "f4")),
    "broadcast": lambda: np.broadcast_to(np.full(3, 7, "f4"), (2, 3)),
    "with gaps": lambda: np.full((2, 6), 7, "f4")[:, ::2],
    "of columns": lambda: np.full((3, 2), 7, "f4").T,
    "without axes": lambda: np.array(7, "f4"),
}


@pytest.mark.parametrize("case", BAD)
@pytest.mark.parametrize("collective", [True, False])
def test_a_destination_that_does_not_fit_is_not_touched(store, case, collective):
    out = BAD[case]()
    with pytest.raises((ValueError, TypeError)):
        store.get("x", out, 1)
    with pytest.raises((ValueError, TypeError)):
        store.get_batch("x", out, np.array([1, 2]), collective)
    assert np.all(np.asarray(out) == 7)


def test_a_range_that_is_not_there_is_an_index_and_a_value_error(store):
    out = np.full((2, 3), 7, np.float32)
    for start in (-1, 7, 8, 100, 2**62):
        for kind in (IndexError, ValueError):
            with pytest.raises(kind):
                store.get("x", out, start)
    assert (out == 7).all()
    store.get("x", out[:0], 8)  # nothing, at the end
    store.get("x", np.empty((0, 2), np.float32), 8)
    with pytest.raises(IndexError):
        store.get("x", out[:0], 9)
    for kind in (KeyError, ValueError):
        with pytest.raises(kind, match="nothing"):
            store.get("nothing", out)


INDICES = [
    [5, 0, 5], (5, 0, 5), np.array([5, 0, 5]), np.array([5, 0, 5], np.int32),
    np.array([5, 0, 5], np.uint64), np.array([5, 9, 0, 9, 5, 9])[::2], range(5, 2, -1), [7],
    [np.int64(3), 2], [], np.array([], np.int64),
]  # fmt: skip


@pytest.mark.parametrize("indices", INDICES, ids=str)
@pytest.mark.parametrize("collective", [None, False])
def test_indices_are_any_integers_in_any_order(store, indices, collective):
    out = np.empty((len(indices), 3), np.float32)
    assert store.get_batch("x", out, indices, collective=collective) is None
    assert np.array_equal(out, ROWS[np.asarray(indices, np.int64)])


def test_indices_that_do_not_fit_are_refused(store):
    out = np.full((2, 3), 7, np.float32)
    for collective in (True, False):
        for indices in (np.zeros((2, 1), int), np.int64(3), [[0], [1]]):
            with pytest.raises(ValueError, match="indices must be one-dimensional"):
                store.get_batch("x", out, indices, collective)
        for indices in ([0], [0, 1, 2], [], np.array([0])):
            with pytest.raises(ValueError, match="2 rows"):
                store.get_batch("x", out, indices, collective)
        for indices in ([0, 8], [-1, 0], np.array([0, 2**62]), np.array([0, 2**63], np.uint64)):
            with pytest.raises(IndexError):
                store.get_batch("x", out, indices, collective)
        with pytest.raises(TypeError):
            store.get_batch("x", out, [0.5, 1], collective)
        with pytest.raises(KeyError):
            store.get_batch("nothing", out, [0, 1], collective)
    assert (out == 7).all()
    store.get_batch("x", out, [0, 1])
    assert np.array_equal(out, ROWS[:2])


def test_wide_rows_are_read_whole(store):
    wide = np.arange(5 * 3001, dtype=np.float32).reshape(5, 3001)
    store.add("wide", wide)
    out = np.empty((3, 3001), np.float32)
    store.get_batch("wide", out, [4, 0, 4])
    assert np.array_equal(out, wide[[4, 0, 4]])


# -- tensors


def test_tensors_of_the_cpu_are_arrays(store):
    torch = pytest.importorskip("torch")
    store.add("t", torch.arange(12.0).reshape(4, 3))
    out = torch.zeros(2, 3)
    store.get("t", out, 1)
    assert out.tolist() == [[3, 4, 5], [6, 7, 8]]
    store.get_batch("t", out, torch.tensor([3, 0]))
    assert out.tolist() == [[9, 10, 11], [0, 1, 2]]
    store.update("t", torch.ones(1, 3), 2)
    store.get("t", out, 2)
    assert out[0].tolist() == [1, 1, 1]
    grown = torch.zeros(2, 3, requires_grad=True)
    store.add("g", grown)
    halves = torch.arange(6.0).reshape(2, 3).to(torch.bfloat16)
    store.add("b", halves)
    assert store.info("b") == (2, 3, 2)
    back = torch.zeros(2, 3, dtype=torch.bfloat16)
    store.get("b", back)
    assert torch.equal(back, halves)
    with pytest.raises(AssertionError):
        store.add("s", torch.zeros(3, 4).T)
    with pytest.raises(ValueError, match="C-contiguous"):
        store.get("t", torch.zeros(3, 2).T)
    with pytest.raises(ValueError, match="bytes"):
        store.get("t", torch.zeros(2, 2))


@pytest.mark.parametrize("fabric", [None, "hsn", "cxi"])
def test_a_gpu_needs_a_method_with_a_network(store, comm, monkeypatch, fabric):
    monkeypatch.delenv("DDSTORE_FABRIC", raising=False)
    with pyddstore.PyDDStore(comm, method=1) as wired:
        if fabric:
            monkeypatch.setenv("DDSTORE_FABRIC", fabric)
        wired.add("x", ROWS)
        for call in (
            lambda s: s.add("g", OnGpu()),
            lambda s: s.get("x", OnGpu()),
            lambda s: s.get_batch("x", OnGpu(), [0, 1]),
        ):
            with pytest.raises(RuntimeError, match="requires method=1 or 2") as caught:
                call(store)
            assert "requires DDSTORE_FABRIC=cxi" in str(caught.value)
            if fabric == "hsn":
                with pytest.raises(RuntimeError, match="requires DDSTORE_FABRIC=cxi"):
                    call(wired)
            else:
                with pytest.raises(pyddstore.UnsupportedError, match="GPU"):
                    call(wired)
        with pytest.raises(NotImplementedError, match=r"init\(\) and update\(\) are host-only"):
            store.update("x", OnGpu(), 0)


# -- buffers that are used again, and counts


def test_method_0_needs_no_registration(store):
    out = np.empty((2, 3), np.float32)
    store.register_recv("x", out)
    store.unregister_recv("x", out)
    store.unregister_recv("x", np.empty(3))  # never registered: no matter


def test_other_methods_know_their_buffers_by_variable_and_address(comm):
    with pyddstore.PyDDStore(comm, method=1) as store:
        store.add("x", ROWS)
        store.add("y", ROWS)
        pool = np.zeros((4, 3), np.float32)
        for _ in range(3):
            store.register_recv("x", pool)
        store.register_recv("y", pool)
        store.register_recv("x", np.empty((0, 3), np.float32))
        store.get_batch("x", pool[:2], [7, 0])
        assert np.array_equal(pool[:2], ROWS[[7, 0]])
        store.unregister_recv("x", pool)
        with pytest.raises(ValueError, match="not registered for 'x'"):
            store.unregister_recv("x", pool)
        store.unregister_recv("y", pool[:2])  # the same base
        with pytest.raises(ValueError, match="not registered"):
            store.unregister_recv("y", pool)
        with pytest.raises(ValueError, match="writable"):
            store.register_recv("x", frozen(np.zeros(3)))
        with pytest.raises(KeyError):
            store.register_recv("nothing", pool)
        store.register_recv("x", pool)  # free gives it back


KEYS = {
    "calls": int, "rows": int, "mr_miss": int, "lock_wait": float, "mr": float, "read": float,
    "cq": float, "py_gets": int, "py_get": float, "py_sync": float,
}  # fmt: skip


@pytest.mark.parametrize("profile", ["", "0", "1"])
@pytest.mark.parametrize("method", [0, 1])
def test_a_profile_has_all_its_keys(comm, monkeypatch, profile, method):
    monkeypatch.setenv("DDSTORE_PROFILE", profile)
    with pyddstore.PyDDStore(comm, method=method) as store:
        store.add("x", ROWS)
        store.get("x", np.empty((2, 3), np.float32))
        store.get_batch("x", np.empty((3, 3), np.float32), [1, 2, 3])
        told = store.get_profile("x")
        assert {key: type(value) for key, value in told.items()} == KEYS
        if method == 0 or profile != "1":
            assert not any(told.values())
        else:
            assert (told["calls"], told["rows"], told["mr_miss"], told["py_gets"]) == (2, 5, 0, 2)
            assert told["py_get"] > 0
        with pytest.raises(KeyError):
            store.get_profile("nothing")


def test_join_is_for_readers_of_method_2(store):
    with pytest.raises(RuntimeError, match="dds_attach"):
        store.join("x")
