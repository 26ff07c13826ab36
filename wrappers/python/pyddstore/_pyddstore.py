"""`PyDDStore`: the store as programs know it that were written for ORNL's pyddstore.

The calls, the classes of exceptions and the corner cases are those that such programs rely on.
`Store` is the same store with the C library's names, dtypes and shapes.
"""

import time
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ._arrays import check_width, gpu_refusal, on_gpu, raw, seen
from ._binding import check, fetch, ffi, gather, gather_all, lib, read_failed, take_part
from ._buffers import ROWS, Layout, as_rows, encoded, from_buffer
from ._describe import read_profile
from ._pyddstore_shards import PyDDShards

_INT64 = np.dtype(np.int64)
_NDArray = np.ndarray


class PyDDstoreVarinfo:
    """A variable, opaque: a name that ORNL's pyddstore has."""


class PyDDStore(PyDDShards):
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

    def __del__(self) -> None:
        # Programs leave stores to the collector, and to free one involves no other rank.
        if self.__dict__.get("_handle"):
            self.free()

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
                read_failed(code, self._handle, arr)
            layout = variable or self._look_up(name)
            out = self._destination(layout, arr)
            rows = len(arr)
            code = lib.dds_get(self._handle, layout.c_name, start, rows, out, len(out))
            if code:
                read_failed(code, self._handle, arr)
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
                read_failed(code, self._handle, arr)
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
        if code:
            read_failed(code, self._handle, arr)

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


def _address(buffer: Any) -> int:
    return int(ffi.cast("uintptr_t", buffer))
