"""A distributed in-memory store of rows: Python over libddstore.

Several processes hold one big array, each a shard of its rows, and any of them reads any row by its
global index, at the speed of the memory in between.

    with pyddstore.FileComm(directory, rank, size) as comm, pyddstore.Store(comm) as store:
        store.add("x", my_rows)                      # collective: every rank gives its share
        batch = store.get_batch("x", [812, 3, 97])   # local: rows of any rank, in this order

``import pyddstore`` loads nothing else; the extension comes in when a name of it is first used.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.metadata import version as _version

    from ._comm import FileComm
    from ._describe import Info, Profile, Stats
    from ._errors import (
        AccessError,
        ArgError,
        BusyError,
        CorruptError,
        DDSError,
        DeadlineError,
        DeviceError,
        ElementTypeError,
        ExistsError,
        ForkedError,
        InputOutputError,
        InternalError,
        InterruptError,
        LimitError,
        MismatchError,
        NoMemoryError,
        NoSpaceError,
        NotFoundError,
        PeerError,
        PoisonedError,
        RangeError,
        SizeError,
        StaleError,
        StateError,
        TruncatedError,
        UnsupportedError,
        VersionError,
    )
    from ._mpi import HAVE_MPI
    from ._pyddstore import PyDDStore, PyDDstoreVarinfo
    from ._request import Request, waitall, waitany
    from ._store import Store
    from ._variable import Variable

    __version__: str = _version("pyddstore")

__all__ = [
    "HAVE_MPI",
    "AccessError",
    "ArgError",
    "BusyError",
    "CorruptError",
    "DDSError",
    "DeadlineError",
    "DeviceError",
    "ElementTypeError",
    "ExistsError",
    "FileComm",
    "ForkedError",
    "Info",
    "InputOutputError",
    "InternalError",
    "InterruptError",
    "LimitError",
    "MismatchError",
    "NoMemoryError",
    "NoSpaceError",
    "NotFoundError",
    "PeerError",
    "PoisonedError",
    "Profile",
    "PyDDStore",
    "PyDDstoreVarinfo",
    "RangeError",
    "Request",
    "SizeError",
    "StaleError",
    "StateError",
    "Stats",
    "Store",
    "TruncatedError",
    "UnsupportedError",
    "Variable",
    "VersionError",
    "__version__",
    "waitall",
    "waitany",
]

_HOMES = {
    "HAVE_MPI": "_mpi",
    "FileComm": "_comm",
    "Info": "_describe",
    "Profile": "_describe",
    "PyDDStore": "_pyddstore",
    "PyDDstoreVarinfo": "_pyddstore",
    "Request": "_request",
    "Stats": "_describe",
    "Store": "_store",
    "Variable": "_variable",
    "waitall": "_request",
    "waitany": "_request",
}


def _installed_version() -> str:
    from importlib import metadata

    try:
        return metadata.version("pyddstore")
    except metadata.PackageNotFoundError:
        return "unknown"


def __getattr__(name: str) -> object:
    from importlib import import_module

    value: object
    if name == "__version__":
        value = _installed_version()
    elif name in __all__:
        value = getattr(import_module("." + _HOMES.get(name, "_errors"), __name__), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
