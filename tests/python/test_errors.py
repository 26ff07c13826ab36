"""Each class of error is the class that Python programs expect."""

import builtins
import logging
import pickle

import numpy as np
import pytest

import pyddstore
from pyddstore import _errors

BUILTINS = {
    "ArgError": "ValueError",
    "RangeError": "IndexError ValueError",
    "ElementTypeError": "TypeError",
    "NotFoundError": "KeyError ValueError",
    "ExistsError": "KeyError",
    "MismatchError": "ValueError",
    "SizeError": "OverflowError",
    "DeadlineError": "TimeoutError",
    "PeerError": "ConnectionError",
    "PoisonedError": "RuntimeError",
    "StaleError": "OSError",
    "CorruptError": "OSError",
    "VersionError": "OSError",
    "AccessError": "PermissionError",
    "NoSpaceError": "OSError",
    "InputOutputError": "OSError",
    "NoMemoryError": "MemoryError",
    "LimitError": "OSError",
    "StateError": "RuntimeError",
    "ForkedError": "RuntimeError",
    "InterruptError": "KeyboardInterrupt",
    "DeviceError": "RuntimeError",
    "UnsupportedError": "NotImplementedError",
    "BusyError": "OSError",
    "TruncatedError": "OSError",
    "InternalError": "RuntimeError",
}


@pytest.mark.parametrize(("name", "bases"), BUILTINS.items())
def test_a_class_is_the_closest_builtin(name, bases):
    kind = getattr(pyddstore, name)
    for base in bases.split():
        assert issubclass(kind, getattr(builtins, base))
    error = kind(1, "DDS_ERR", 3, "rank 3: what happened")
    assert (error.code, error.name, error.rank) == (1, "DDS_ERR", 3)
    assert str(error) == error.text == "rank 3: what happened"
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), again.rank) == (kind, error.text, 3)
    assert not isinstance(error, OSError) or error.errno


def test_every_code_of_the_header_has_its_class():
    from pyddstore._binding import ffi, lib

    codes = {n: getattr(lib, n) for n in dir(lib) if n.startswith("DDS_ERR_")}
    assert sorted(codes.values()) == list(range(1, len(_errors.CLASSES) + 1))
    for name, code in codes.items():
        assert ffi.string(lib.dds_error_name(code)).decode() == name


@pytest.fixture
def store():
    with pyddstore.Store() as store:
        store.add("x", np.arange(12, dtype=np.float32).reshape(4, 3))
        yield store


CALLS = {
    "a row past the end": (lambda s: s.get_batch("x", [0, 4]), pyddstore.RangeError),
    "a negative row": (lambda s: s.get_batch("x", [-1]), pyddstore.RangeError),
    "a range past the end": (lambda s: s.get("x", 3, 2), pyddstore.RangeError),
    "a negative count": (lambda s: s.get("x", 0, -1), ValueError),
    "no such variable": (lambda s: s.get("y", 0), pyddstore.NotFoundError),
    "no such variable to drop": (lambda s: s.drop("y"), pyddstore.NotFoundError),
    "a name twice": (lambda s: s.add("x", np.zeros(3)), pyddstore.ExistsError),
    "an empty name": (lambda s: s.add("", np.zeros(3)), pyddstore.ArgError),
    "a long name": (lambda s: s.add("n" * 256, np.zeros(3)), pyddstore.ArgError),
    "a name with NUL": (lambda s: s.add("a\0b", np.zeros(3)), ValueError),
    "a name that is no text": (lambda s: s.add(b"x", np.zeros(3)), TypeError),
    "an array without axes": (lambda s: s.add("z", np.float64(3)), ValueError),
    "an update of other rows": (lambda s: s.update("x", np.zeros((1, 2), "f4")), ValueError),
    "an update of other type": (lambda s: s.update("x", np.zeros((1, 3))), TypeError),
    "an update past the end": (
        lambda s: s.update("x", np.zeros((2, 3), "f4"), 3),
        pyddstore.RangeError,
    ),
    "an owner past the end": (lambda s: s.owner("x", 4), pyddstore.RangeError),
    "a path to nobody": (lambda s: s.path(1), ValueError),
    "rows that are no integers": (lambda s: s.get_batch("x", [0.5]), TypeError),
    "rows of two axes": (lambda s: s.get_batch("x", [[0], [1]]), ValueError),
    "a timeout of nothing": (lambda s: s.set_timeout(read=0), ValueError),
    "an unknown hint": (lambda s: pyddstore.Store(hints={"no.such": 1}), ValueError),
    "an unknown method": (lambda s: pyddstore.Store(method=7), ValueError),
    "no communicator": (lambda s: pyddstore.Store(comm=3), TypeError),
    "a rank too many": (lambda s: pyddstore.FileComm("/nowhere", 1, 1), ValueError),
    "a buffer that was never registered": (
        lambda s: s.unregister_recv(np.zeros(3)),
        pyddstore.DDSError,
    ),
}


@pytest.mark.parametrize("case", CALLS)
def test_a_wrong_call_is_refused_and_the_store_works_on(store, case):
    call, kind = CALLS[case]
    with pytest.raises(kind) as caught:
        call(store)
    assert str(caught.value)
    assert store.get("x", 2).tolist() == [[6, 7, 8]]


def test_the_text_names_what_was_asked(store):
    with pytest.raises(pyddstore.RangeError, match="4") as caught:
        store.get_batch("x", [0, 4])
    assert caught.value.name == "DDS_ERR_RANGE"


BAD_DESTINATIONS = {
    "read-only": lambda: np.broadcast_to(np.full(3, 7, "f4"), (2, 3)),
    "frozen": lambda: frozen(np.full((2, 3), 7, "f4")),
    "not contiguous": lambda: np.full((3, 2), 7, "f4").T,
    "too narrow": lambda: np.full((2, 2), 7, "f4"),
    "too wide": lambda: np.full((2, 4), 7, "f4"),
    "too short": lambda: np.full((1, 3), 7, "f4"),
    "too long": lambda: np.full((3, 3), 7, "f4"),
    "cut elsewhere": lambda: np.full((3, 2), 7, "f4"),
    "other type": lambda: np.full((2, 3), 7, "i4"),
    "other width": lambda: np.full((2, 3), 7, "f8"),
    "a list": lambda: [[7, 7, 7], [7, 7, 7]],
}


def frozen(array):
    array.flags.writeable = False
    return array


@pytest.mark.parametrize("case", BAD_DESTINATIONS)
@pytest.mark.parametrize("read", ["get", "get_batch", "get_batch_all", "iget_batch"])
def test_a_wrong_destination_is_not_touched(store, read, case):
    out = BAD_DESTINATIONS[case]()
    where = (1, 2) if read == "get" else (np.array([1, 2]),)
    with pytest.raises((TypeError, ValueError)):
        getattr(store, read)("x", *where, out)
    assert np.all(np.asarray(out) == 7)


def test_after_free_every_call_says_so(store):
    store.free()
    store.free()
    for call in (
        lambda: store.get("x", 0),
        lambda: store.get_batch("x", [0]),
        lambda: store.add("y", np.zeros(3)),
        store.list,
        store.stats,
        store.epoch_begin,
    ):
        with pytest.raises(pyddstore.StateError):
            call()
    assert repr(store) == "<freed pyddstore.Store>"


def test_a_store_that_is_lost_warns_and_frees():
    stores = [pyddstore.Store()]
    with pytest.warns(ResourceWarning, match="never freed"):
        stores.clear()


def test_neither_a_store_nor_a_communicator_is_pickled(store, tmp_path):
    with pytest.raises(TypeError, match="constructs its own"):
        pickle.dumps(store)
    with pyddstore.FileComm(tmp_path, 0, 1) as comm, pytest.raises(TypeError, match="its own"):
        pickle.dumps(comm)


def test_the_log_goes_to_logging(caplog):
    from pyddstore import _binding

    with caplog.at_level(logging.DEBUG, "pyddstore"):
        text = _binding.ffi.new("char[]", b"what the library says")
        _binding.lib.pyddstore_log(_binding.ffi.NULL, _binding.lib.DDS_LOG_WARN, text)
    assert caplog.record_tuples == [("pyddstore", logging.WARNING, "what the library says")]
