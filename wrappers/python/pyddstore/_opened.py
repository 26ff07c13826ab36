"""The store's life: how it is opened, described and closed; and what a fork does to it."""

import os
import threading
import warnings
import weakref
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from ._binding import check, ffi, lib, milliseconds, to_text
from ._buffers import Layout, encoded
from ._comm import open_comm
from ._describe import Stats, read_stats
from ._dtypes import DType
from ._freed import Freed

if TYPE_CHECKING:
    from typing_extensions import Self  # typing's own from Python 3.11 on


class Opened(Freed):
    """A store that is open; `Store` says the rest."""

    def __init__(
        self,
        comm: Any = None,
        *,
        method: int = 0,
        handshake_dir: str | os.PathLike[str] | None = None,
        nic_map: str | None = None,
        timeout: float | None = None,
        collective_timeout: float | None = None,
        hints: Mapping[str, object] | None = None,
        n_core: int | None = None,  # a reader of a core job of so many ranks
    ) -> None:
        self._handle: Any = ffi.NULL
        self._address = 0
        self._variables: dict[str, Layout] = {}
        self._dtypes: dict[str, DType] = {}  # as this process gave them
        self._arrays: dict[str, tuple[NDArray[Any], Any]] = {}  # of nocopy: array and its export
        self._receivers: dict[int, Any] = {}
        texts = [f"{key}={value}" for key, value in (hints or {}).items()]
        words = [ffi.new("char[]", text.encode()) for text in texts]
        c_hints = ffi.new("char *[]", [*words, ffi.NULL])
        c_dir = ffi.new("char[]", os.fsencode(handshake_dir)) if handshake_dir else ffi.NULL
        c_map = ffi.new("char[]", nic_map.encode()) if nic_map else ffi.NULL
        options = ffi.new(
            "dds_options_t *",
            {
                "struct_size": ffi.sizeof("dds_options_t"),
                "method": method,
                "timeout_ms": milliseconds(timeout),
                "collective_timeout_ms": milliseconds(collective_timeout),
                "handshake_dir": c_dir,
                "nic_map": c_map,
                "hints": c_hints if words else ffi.NULL,
            },
        )
        handle = ffi.new("dds_store_t *")
        if n_core is None:
            c_comm, ours = open_comm(comm)
            try:
                check(lib.dds_init(c_comm, options, handle))
            finally:
                if ours:
                    lib.dds_comm_free(ffi.new("dds_comm_t *", c_comm))
        else:
            check(lib.dds_attach(c_dir, n_core, options, handle))
        self._hold(handle[0])
        number = ffi.new("int *")
        check(lib.dds_rank(self._handle, number))
        self._rank = int(number[0])
        check(lib.dds_size(self._handle, number))
        self._size = int(number[0])

    def _hold(self, handle: Any) -> None:
        self._handle = handle
        self._address = int(ffi.cast("uintptr_t", handle))  # for gather
        _stores.add(self)

    def __getattr__(self, name: str) -> Any:
        # Only in a forked child, where the parent's handle was taken away: the first use of the
        # store opens a reader.
        if name in ("_handle", "_address") and "_parents" in self.__dict__:
            with _reopening:
                if "_handle" not in self.__dict__:
                    self._hold(_open_reader(self._parents))
            return self.__dict__[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _leave_to_parent(self) -> None:
        if self.__dict__.get("_handle"):
            self._parents = self.__dict__.pop("_handle")
            del self._address
            self._receivers = {}

    def fork_reader(self) -> "Self":
        """Open a store that reads the variables that this one has now.  Local.

        In a forked child it has connections of its own, and nothing of the parent's is touched;
        the inherited object itself reads there, too: its first use opens a reader.  In the same
        process each thread may have one.

        Returns
        -------
        Store or PyDDStore
            It reads and nothing else; `free` it when done.

        Raises
        ------
        UnsupportedError
            A read, later, of rows that a child cannot reach: ``nocopy`` ones and, with method 0,
            those of other nodes.
        """
        origin = self.__dict__.get("_handle") or self.__dict__.get("_parents", ffi.NULL)
        reader = type(self).__new__(type(self))
        reader.__dict__.update(self.__dict__)
        reader._become_reader()
        reader._hold(_open_reader(origin))
        return reader

    def join(self, name: str) -> None:
        """Wait until the core job has added `name`, and read it from now on.  Local.

        For a reader of another job.  The first variable pins it to its run of the core job.

        Raises
        ------
        DeadlineError, which is a TimeoutError
            It did not come within ``DDSTORE_HANDSHAKE_TIMEOUT_S`` (300 s).
        MismatchError, which is a ValueError
            The core job has another number of ranks.
        StaleError, which is an OSError
            The variable is of another run than those that were joined.
        """
        check(lib.dds_join(self._handle, encoded(name)))

    def publish(self, name: str, version: int) -> None:
        """Tell readers that `name` is whole as of now.  Collective, ``method=2``.

        `version` is higher than the last; what the ranks wrote before is seen by readers that have
        waited for it.
        """
        check(lib.dds_publish(self._handle, encoded(name), version))

    def wait_version(self, name: str, version: int, timeout: float | None = None) -> int:
        """Return the version that is published, once it is `version` or later.  Local.

        Raises
        ------
        DeadlineError, which is a TimeoutError
            It did not come within `timeout` seconds; None: the deadline of reads.
        """
        seen = ffi.new("int64_t *")
        check(
            lib.dds_wait_version(self._handle, encoded(name), version, milliseconds(timeout), seen)
        )
        return int(seen[0])

    def _become_reader(self) -> None:
        self.__dict__.pop("_parents", None)
        self._handle, self._address = ffi.NULL, 0
        self._variables, self._dtypes = dict(self._variables), dict(self._dtypes)
        self._arrays, self._receivers = {}, {}

    @property
    def rank(self) -> int:
        """This process's rank."""
        return self._rank

    @property
    def size(self) -> int:
        """Number of ranks."""
        return self._size

    def set_timeout(self, read: float | None = None, collective: float | None = None) -> None:
        """Change the deadlines, in seconds; None takes the default again.  Local."""
        check(lib.dds_set_timeout(self._handle, milliseconds(read), milliseconds(collective)))

    def free(self) -> None:
        """Close the store and give its memory back.  Local; idempotent.

        Views of `local` stay valid.
        """
        handle = ffi.new("dds_store_t *", self.__dict__.get("_handle", ffi.NULL))
        self._handle, self._address = ffi.NULL, 0
        self._variables.clear()
        code = lib.dds_free(handle)
        self._dtypes.clear()
        self._arrays.clear()
        self._receivers.clear()
        check(code)

    def __del__(self) -> None:
        if self.__dict__.get("_handle"):
            warnings.warn(f"{self!r} was never freed", ResourceWarning, source=self, stacklevel=2)
            self.free()

    def __repr__(self) -> str:
        if not self.__dict__.get("_handle", "_parents" in self.__dict__):
            return f"<freed pyddstore.{type(self).__name__}>"
        return f"<pyddstore.{type(self).__name__} rank {self._rank} of {self._size}>"

    def __reduce__(self) -> Any:
        kind = type(self).__name__
        raise TypeError(f"a {kind} cannot be pickled: each process constructs its own")

    def stats(self) -> Stats:
        """Return what this rank's store has done and holds.  Local."""
        return read_stats(self._handle)

    def path(self, rank: int) -> str:
        """Return how this rank reaches `rank`, in words, such as ``"shm"``.  Local."""
        text = ffi.new("char[]", 1024)
        check(lib.dds_path(self._handle, rank, text, 1024))
        return to_text(text)


_stores: "weakref.WeakSet[Opened]" = weakref.WeakSet()
_reopening = threading.Lock()


def _open_reader(origin: Any) -> Any:
    reader = ffi.new("dds_store_t *")
    check(lib.dds_fork_reader(origin, reader))
    return reader[0]


def _in_child() -> None:
    global _reopening
    _reopening = threading.Lock()  # a thread of the parent may have held the other
    for store in list(_stores):
        store._leave_to_parent()


os.register_at_fork(after_in_child=_in_child)
