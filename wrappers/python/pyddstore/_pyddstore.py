"""`PyDDStore`: the store as programs know it that were written for ORNL's pyddstore.

The calls, the classes of exceptions and the corner cases are those that such programs rely on.
`Store` is the same store with the C library's names, dtypes and shapes.
"""

import operator
import os
import threading
import time
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ._arrays import check_width, gpu_refusal, on_gpu, raw, seen, source
from ._binding import check, failed, fetch, ffi, gather, gather_all, lib, take_part
from ._buffers import ROWS, Layout, as_rows, encoded, from_buffer
from ._comm import FileComm
from ._describe import read_info, read_profile
from ._dtypes import bytes_code
from ._errors import UnsupportedError
from ._opened import Opened

_INT64 = np.dtype(np.int64)
_NDArray = np.ndarray


class PyDDstoreVarinfo:
    """A variable, opaque: a name that ORNL's pyddstore has."""


class PyDDStore(Opened):
    """A store over the ranks of a communicator.  Collective to construct.

    Parameters
    ----------
    comm_or_none : mpi4py.MPI.Comm, FileComm, object or None
        Who the ranks are; it may be freed afterwards.  None: a reader of ``method=2``, or the ranks
        that `rank` and `size` tell.
    method : int
        How rows move between nodes: 0 MPI, 1 libfabric, 2 libfabric with readers from other jobs.
        Ranks of one node share memory whatever the method.
    handshake_dir : str
        A directory that all ranks see, for ``method=2`` and without MPI.
    n_core : int
        The number of ranks that publish, for a reader of ``method=2``; it may stand for `size`.
    nic_map : str, optional
        Which network card is near which core, for methods 1 and 2.
    rank, size : int, optional
        Without MPI, methods 1 and 2: this process is rank `rank` of `size`.
    exchange_ns : str
        Without MPI: the name of this store's exchange files in `handshake_dir`; default: s0, s1,
        ... in order of creation.

    Raises
    ------
    ValueError
        The arguments do not fit together, or the communicator is ``MPI.COMM_NULL``.
    TypeError
        `comm_or_none` is no communicator.
    RuntimeError
        It is one of MPI, and MPI was switched off: `HAVE_MPI` is False.
    UnsupportedError
        A rank cannot be reached; the text names it.

    Notes
    -----
    Threads: reads come from any, concurrently; collective calls from one thread at a time and in
    the same order on every rank, whatever thread level MPI has.  No call holds the interpreter
    lock.  A rank whose arguments to a collective call are wrong raises, and so do all others.
    """

    def __init__(
        self,
        comm_or_none: Any = None,
        method: int = 0,
        handshake_dir: str = "",
        n_core: int = 0,
        nic_map: str | None = None,
        rank: int | None = None,
        size: int = 0,
        exchange_ns: str = "",
    ) -> None:
        if not isinstance(handshake_dir, str):
            raise TypeError(f"handshake_dir is a str, not {type(handshake_dir).__name__}")
        method, n_core = operator.index(method), operator.index(n_core)
        alone = comm_or_none is None and rank is None
        if method == 2 and not handshake_dir:
            raise ValueError("method=2 requires handshake_dir (got handshake_dir='')")
        if method == 2 and alone and n_core <= 0:
            raise ValueError(f"method=2 extra member requires n_core > 0 (got n_core={n_core})")
        if comm_or_none is None and (method not in (1, 2) or (method == 1 and rank is None)):
            raise ValueError(
                f"method={method} requires a valid MPI communicator (got comm_or_none=None)"
            )
        comm, ours = comm_or_none, None
        if comm is None and rank is not None:
            if not handshake_dir:
                raise ValueError(f"method={method} without MPI requires handshake_dir")
            if method == 2:
                size = size or n_core
            comm = ours = FileComm(handshake_dir, rank, size, exchange_ns or None)
        try:
            super().__init__(
                comm,
                method=method,
                handshake_dir=handshake_dir if method == 2 else None,
                nic_map=nic_map if method != 0 else None,
            )
        finally:
            if ours is not None:
                ours.free()
        self._method = method
        self._together = method == 0
        self._registered: dict[tuple[str, int], Any] = {}
        self._profiled = method != 0 and os.environ.get("DDSTORE_PROFILE", "") not in ("", "0")
        self._count_lock = threading.Lock()
        self._gets, self._get_seconds = 0, 0.0

    def __enter__(self) -> "PyDDStore":
        return self

    def __del__(self) -> None:
        # Programs leave stores to the collector, and to free one involves no other rank.
        if getattr(self, "_handle", None):
            self.free()

    def init(self, name: str, nrows: int, disp: int, itemsize: int = 1) -> None:
        """Add variable `name`, zeroed, to be filled by `update`.  Collective.

        Parameters
        ----------
        name : str
        nrows : int
            This rank's rows; may be 0.
        disp : int
            Elements a row, the same on every rank.
        itemsize : int
            Bytes an element.  No dtype is recorded: any of this size may be written and read.

        Raises
        ------
        ExistsError, which is a KeyError
            `name` is there already.
        ValueError
            A number is negative, or the ranks differ.
        """
        try:
            c_name, kind = encoded(name), bytes_code(itemsize)
            rows, width = operator.index(nrows), operator.index(disp)
            code = lib.dds_create(self._handle, c_name, rows, width, kind, ffi.NULL)
        except Exception:
            take_part(lib.dds_create(self._handle, ffi.NULL, 0, 0, 0, ffi.NULL))
            raise
        check(code)

    def add(self, name: str, arr: Any) -> None:
        """Add variable `name`: this rank's rows, which are copied.  Collective.

        Parameters
        ----------
        name : str
        arr : ndarray or torch.Tensor on the CPU, shape (nrows, ...)
            C-contiguous, may be read-only and have no rows.  A row is its elements in order: `disp`
            of them, the same on every rank.

        Raises
        ------
        NotImplementedError
            The dtype is none that a store takes.
        AssertionError
            `arr` is not C-contiguous.
        ExistsError, which is a KeyError
            `name` is there already.
        ValueError
            The ranks' names, dtypes or `disp` differ.
        RuntimeError
            `arr` lies on a GPU, which needs method 1 or 2.
        """
        try:
            if on_gpu(arr):
                raise gpu_refusal(self._method)
            rows, kind = source(arr, f"the array for {name!r}")
            disp = int(np.prod(rows.shape[1:], dtype=np.int64))
            c_name, data = encoded(name), raw(rows)
            code = lib.dds_add(self._handle, c_name, len(rows), disp, kind, data, ffi.NULL)
        except Exception:
            take_part(lib.dds_add(self._handle, ffi.NULL, 0, 0, 0, ffi.NULL, ffi.NULL))
            raise
        check(code)

    def update(self, name: str, arr: Any, offset: int = 0) -> None:
        """Overwrite rows [offset, offset + len(arr)) of this rank's own shard.  Local.

        The other ranks see it after the next `epoch_begin`.

        Parameters
        ----------
        name : str
        arr : ndarray or torch.Tensor on the CPU, shape (n, ...)
            C-contiguous, of the variable's item size and as many bytes a row.
        offset : int
            A row of the shard.

        Raises
        ------
        NotImplementedError
            The dtype is none that a store takes, or `arr` lies on a GPU.
        AssertionError
            `arr` is not C-contiguous.
        ValueError
            Item size or width differ, or the rows do not lie in the shard.
        TypeError
            `arr` is no array.
        """
        if on_gpu(arr):
            raise NotImplementedError("init() and update() are host-only: copy it to the host")
        what = f"the array for {name!r}"
        rows, _ = source(arr, what)
        variable = self._variables.get(name) or self._look_up(name)
        check_width(rows, variable, what)
        check(lib.dds_update(self._handle, variable.c_name, offset, len(rows), raw(rows)))

    def get(self, name: str, arr: Any, start: int = 0) -> None:
        """Read rows [start, start + len(arr)) of all ranks' rows into `arr`.  Local.

        Parameters
        ----------
        name : str
        arr : ndarray or torch.Tensor on the CPU, shape (n, ...)
            C-contiguous, writable, of the variable's item size and as many bytes a row.
        start : int
            A global row.  The range may cross shards; one without rows may start at the end.

        Raises
        ------
        RangeError, which is an IndexError and a ValueError
            The rows do not all exist.
        NotFoundError, which is a KeyError and a ValueError
            There is no variable of that name.
        ValueError
            `arr` does not fit, is read-only or not C-contiguous; not a byte of it was written.
        RuntimeError
            `arr` lies on a GPU, which needs method 1 or 2; or the store was freed.
        """
        began = time.perf_counter() if self._profiled else 0.0
        variable = self._variables.get(name)
        code = -1
        if variable is not None:
            code = fetch(
                self._address, variable.utf8, start, arr, variable.itemsize, variable.row_bytes
            )
        if code:
            if code > 0:
                failed(code)
            layout = variable or self._look_up(name)
            out = self._destination(layout, arr)
            rows = len(arr)
            check(lib.dds_get(self._handle, layout.c_name, start, rows, out, len(out)))
        if self._profiled:
            self._count(began)

    def get_batch(
        self, name: str, arr: Any, indices: ArrayLike, collective: bool | None = None
    ) -> None:
        """Read the listed rows into `arr`, in that order.

        Parameters
        ----------
        name : str
        arr : ndarray or torch.Tensor on the CPU, shape (n, ...)
            As in `get`.
        indices : array_like of int, shape (n,)
            Global rows; they may repeat and lie on any rank.  An int64 array is used as it is.
        collective : bool, optional
            Whether all ranks call it together, each with rows of its own, perhaps none: then a bad
            row on one rank raises on all.  Default: with method 0.

        Raises
        ------
        RangeError, which is an IndexError and a ValueError
            A row does not exist.  All are checked before a byte moves.
        ValueError
            `arr` has not as many rows as there are indices, or does not fit as in `get`; `indices`
            are not one-dimensional.
        NotFoundError, RuntimeError
            As in `get`.
        """
        began = time.perf_counter() if self._profiled else 0.0
        together = self._together if collective is None else collective
        variable = self._variables.get(name)
        code = -1
        if variable is not None and type(indices) is _NDArray and indices.dtype is _INT64:
            code = (gather_all if together else gather)(
                self._address, variable.utf8, indices, arr, variable.itemsize, variable.row_bytes
            )
        if code:
            if code > 0:
                failed(code)
            self._get_batch(name, arr, indices, together)
        if self._profiled:
            self._count(began)

    def _get_batch(self, name: str, arr: Any, indices: ArrayLike, together: bool) -> None:
        # Any arrays; and what is wrong with them.
        read = lib.dds_get_batch_all if together else lib.dds_get_batch
        c_name = ffi.NULL
        try:
            variable = self._variables.get(name) or self._look_up(name)
            c_name = variable.c_name
            index = np.asarray(indices)
            if index.ndim != 1:
                raise ValueError(f"indices must be one-dimensional, not of shape {index.shape}")
            n, c_rows = len(index), from_buffer(ROWS, as_rows(index))
            out = self._destination(variable, arr)
            if len(arr) != n:
                raise ValueError(f"the destination has {len(arr)} rows, there are {n} indices")
            code = read(self._handle, c_name, n, c_rows, out, len(out))
        except Exception:
            if together:
                take_part(read(self._handle, c_name, -1, ffi.NULL, ffi.NULL, 0))
            raise
        check(code)

    def _destination(self, variable: Layout, arr: Any) -> Any:
        if on_gpu(arr):
            raise gpu_refusal(self._method)
        what = f"the destination for rows of {variable.name!r}"
        rows, _ = seen(arr, what)
        check_width(rows, variable, what)
        return raw(rows, writable=True)

    def register_recv(self, name: str, arr: Any) -> None:
        """Tell that rows of `name` will be read into `arr`, or slices of it, again and again.

        A wire then registers the memory once.  `arr` is kept alive until `unregister_recv` or
        `free`.  Repeating is harmless.  Local; with method 0 nothing.

        Raises
        ------
        ValueError
            `arr` is read-only or not C-contiguous.
        NotFoundError
            There is no variable of that name.
        """
        if self._method == 0:
            return
        variable = self._variables.get(name) or self._look_up(name)
        if on_gpu(arr):
            raise gpu_refusal(self._method)
        rows, _ = seen(arr, f"the buffer for {variable.name!r}")
        if rows.nbytes:
            buffer = raw(rows, writable=True)
            check(lib.dds_register_recv(self._handle, buffer, len(buffer)))
            self._registered.setdefault((name, _address(buffer)), buffer)

    def unregister_recv(self, name: str, arr: Any) -> None:
        """Take back `register_recv` of the same array.  Local; with method 0 nothing.

        Raises
        ------
        ValueError
            It was not registered for `name`.
        """
        if self._method == 0:
            return
        rows, _ = seen(arr, f"the buffer for {name!r}")
        if rows.nbytes == 0:
            return
        address = _address(raw(rows))
        buffer = self._registered.pop((name, address), None)
        if buffer is None:
            raise ValueError(f"the buffer at {address:#x} is not registered for {name!r}")
        if all(other != address for _, other in self._registered):
            check(lib.dds_unregister_recv(self._handle, buffer))

    def info(self, name: str) -> tuple[int, int, int]:
        """Return (rows of all ranks, elements a row, bytes an element).  Local."""
        c = read_info(self._handle, encoded(name))
        return c.rows, c.disp, c.itemsize

    def join(self, name: str) -> None:
        """Wait for a variable that the core ranks of ``method=2`` publish.  For their readers.

        Raises
        ------
        UnsupportedError
            This store is none of a reader: its own `add` and `init` make its variables.
        """
        text = f"join({name!r}) is for readers of method=2; this store has method={self._method}"
        raise UnsupportedError(lib.DDS_ERR_UNSUPPORTED, "DDS_ERR_UNSUPPORTED", -1, text)

    def get_profile(self, name: str) -> dict[str, float]:
        """Return counts and times of this process's reads.  Local.

        Returns
        -------
        dict
            Of the variable: ``calls``, ``rows``, ``mr_miss`` (counts), ``lock_wait``, ``mr``,
            ``read``, ``cq`` (seconds).  Of the store, seen from Python: ``py_gets`` (count),
            ``py_get``, ``py_sync`` (seconds).  Zero with method 0 and without
            ``DDSTORE_PROFILE=1`` at the construction.
        """
        told = read_profile(self._handle, encoded(name))
        counts = ("calls", "rows", "mr_miss")
        profile: dict[str, float] = {
            key: getattr(told, key) if self._profiled else 0 for key in counts
        }
        for key in ("lock_wait", "mr", "read", "cq"):
            profile[key] = getattr(told, key) if self._profiled else 0.0
        return {**profile, "py_gets": self._gets, "py_get": self._get_seconds, "py_sync": 0.0}

    def _count(self, began: float) -> None:
        took = time.perf_counter() - began
        with self._count_lock:
            self._gets += 1
            self._get_seconds += took

    def epoch_begin(self) -> None:
        """Let every rank see all updates made before it.  Collective; methods 1, 2: nothing."""
        check(lib.dds_epoch_begin(self._handle))

    def epoch_end(self) -> None:
        """Return when no rank still reads.  Collective; methods 1, 2: nothing."""
        check(lib.dds_epoch_end(self._handle))

    def free(self) -> None:
        """Close the store and give its memory back.  Local; idempotent; fine after MPI_Finalize.

        Programs that leave a store to the garbage collector need not call it.
        """
        super().free()
        self._registered.clear()

    def _look_up(self, name: str) -> Layout:
        c_name = encoded(name)
        c = read_info(self._handle, c_name)
        dtype = np.dtype((np.void, c.itemsize))  # only the size counts
        variable = Layout(name, c_name, dtype, (c.disp,))
        self._variables[name] = variable
        return variable


def _address(buffer: Any) -> int:
    return int(ffi.cast("uintptr_t", buffer))
