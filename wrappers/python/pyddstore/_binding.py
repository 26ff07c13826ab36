"""The extension, bound to its library, and what every other module needs of it.

Binds libddstore by handle, sends its log to ``logging.getLogger("pyddstore")``, lets Ctrl-C end a
wait, and turns a code of error into an exception.
"""

import _thread
import atexit
import logging
import math
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NoReturn

from ._dds import ffi, lib
from ._errors import CLASSES, DDSError

__all__ = [
    "check",
    "failed",
    "fetch",
    "ffi",
    "gather",
    "gather_all",
    "hold",
    "keep",
    "kept",
    "lib",
    "milliseconds",
    "read_failed",
    "take_part",
    "to_text",
]

_log = logging.getLogger("pyddstore")
_LEVELS = {1: logging.WARNING, 2: logging.INFO, 3: logging.DEBUG}

# Of gather.c, which sets them: (store, name, rows, out, itemsize, row_bytes) -> code, and
# (store, name, first, out, itemsize, row_bytes) -> code.
gather: Callable[[int, bytes, Any, Any, int, int], int]
gather_all: Callable[[int, bytes, Any, Any, int, int], int]
fetch: Callable[[int, bytes, Any, Any, int, int], int]

# A thread's `exception` ends the wait that this thread is in: set by shim.c and by callbacks.
kept = threading.local()


def to_text(pointer: Any) -> str:
    """Return a C string of the library as text."""
    return bytes(ffi.string(pointer)).decode(errors="replace")


def failed(code: int) -> NoReturn:
    """Raise what the library has just reported on this thread."""
    cause: BaseException | None = kept.__dict__.pop("exception", None)
    if cause is not None and (code == lib.DDS_ERR_INTERRUPTED or not isinstance(cause, Exception)):
        raise cause  # KeyboardInterrupt, or what a signal handler raised: as if no C were between
    name = to_text(lib.dds_error_name(code))
    kind = CLASSES[code - 1] if 1 <= code <= len(CLASSES) else DDSError
    raise kind(code, name, lib.dds_last_error_rank(), to_text(lib.dds_last_error())) from cause


_held: list[Any] = []


def hold(handle: Any, memory: Any) -> None:
    """Keep `memory` for ever where MPI may still write to it.

    A read over MPI that was given up cannot be told to stop; long rows land in the destination.
    """
    stats = ffi.new("dds_stats_t *", {"struct_size": ffi.sizeof("dds_stats_t")})
    if lib.dds_stats(handle, stats) == 0 and stats.quarantined_bytes:
        _held.append(memory)


def read_failed(code: int, handle: Any, memory: Any) -> NoReturn:
    """`failed`, of a read into `memory`."""
    try:
        failed(code)
    finally:
        hold(handle, memory)


def check(code: int) -> None:
    """Raise the exception that belongs to ``code``, unless it is success."""
    if code:
        failed(code)


def take_part(code: int) -> None:
    """End the call by which a rank with bad arguments tells the others.

    Its own exception says more than the library's: the rank raises that one, and the others, which
    would wait for it, get an error that names it.
    """
    with suppress(DDSError):
        check(code)


def milliseconds(seconds: float | None) -> int:
    """Return a timeout as the library takes it; None asks for the default."""
    if seconds is None:
        return 0
    if not seconds > 0:
        raise ValueError(f"a timeout is a positive number of seconds or None, not {seconds!r}")
    return min(math.ceil(seconds * 1000), 2**31 - 1)


def keep(_kind: Any, value: BaseException, _traceback: Any) -> None:
    """Keep a callback's exception for the call that it fails (cffi's ``onerror``)."""
    kept.exception = value


def _interrupt_again(_kind: Any, value: BaseException, _traceback: Any) -> None:
    # A log line must not swallow a Ctrl-C that Python delivered while writing it.
    if isinstance(value, KeyboardInterrupt):
        _thread.interrupt_main()
    elif not isinstance(value, Exception):
        keep(_kind, value, _traceback)


@ffi.def_extern(onerror=_interrupt_again)  # type: ignore[untyped-decorator]
def pyddstore_log(_ctx: Any, level: int, text: Any) -> None:
    _log.log(_LEVELS.get(level, logging.DEBUG), "%s", to_text(text))


def _silence() -> None:
    lib.dds_set_log(ffi.NULL, ffi.NULL)
    lib.dds_set_interrupt(ffi.NULL, ffi.NULL)


def _load() -> None:
    reason = lib.pyddstore_bind() or lib.pyddstore_offer_gather()
    if reason:
        raise ImportError(f"pyddstore cannot load its library: {to_text(reason)}")
    check(lib.dds_set_log(lib.pyddstore_log, ffi.NULL))
    check(lib.dds_set_interrupt(ffi.addressof(lib, "pyddstore_check_signals"), ffi.NULL))
    atexit.register(_silence)  # no callback into an interpreter that is being taken down


_load()
