"""The store's life: how it is opened, described and closed."""

import os
import warnings
from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from ._binding import check, ffi, lib, milliseconds, to_text
from ._buffers import Layout
from ._comm import open_comm
from ._describe import Stats, read_stats
from ._dtypes import DType
from ._freed import Freed


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
        c_comm, ours = open_comm(comm)
        try:
            check(lib.dds_init(c_comm, options, handle))
        finally:
            if ours:
                lib.dds_comm_free(ffi.new("dds_comm_t *", c_comm))
        self._handle = handle[0]
        self._address = int(ffi.cast("uintptr_t", self._handle))  # for gather
        number = ffi.new("int *")
        check(lib.dds_rank(self._handle, number))
        self._rank = int(number[0])
        check(lib.dds_size(self._handle, number))
        self._size = int(number[0])

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
        handle = ffi.new("dds_store_t *", self._handle)
        self._handle, self._address = ffi.NULL, 0
        self._variables.clear()
        code = lib.dds_free(handle)
        self._dtypes.clear()
        self._arrays.clear()
        self._receivers.clear()
        check(code)

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            warnings.warn(f"{self!r} was never freed", ResourceWarning, source=self, stacklevel=2)
            self.free()

    def __repr__(self) -> str:
        if not self._handle:
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
