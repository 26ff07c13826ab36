"""The store: reading.  Methods are named as the calls of the C library; destinations are optional.

What NumPy knows (dtype, shape, contiguity) is checked here, what the library knows (rows, names,
states) there.  `get_batch` is kept lean: it costs well under a microsecond over the C call.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._binding import check, fetch, ffi, gather, gather_all, lib, read_failed, take_part
from ._buffers import BYTES, ROWS, as_rows, destination, encoded, from_buffer, plain
from ._describe import Profile, read_profile
from ._errors import DDSError
from ._request import Request, as_status
from ._shards import Shards
from ._variable import Variable

if TYPE_CHECKING:
    from typing_extensions import Self  # typing's own from Python 3.11 on

_INT64 = np.dtype(np.int64)
_NDArray = np.ndarray


class Store(Shards):
    """A store over the ranks of a communicator.  Collective to construct.

    Parameters
    ----------
    comm : None, FileComm, mpi4py.MPI.Comm or object
        Who the ranks are.  None: this process alone.  A communicator of mpi4py, whose MPI the
        library finds by itself.  An object with ``rank``, ``size`` and ``allgather(bytes)``, which
        returns the ranks' values in their order, serves too: your launcher's own.  It may be freed
        afterwards.
    method : int
        How rows move between nodes: 0, 1 or 2 as ``DDS_METHOD_*``; the same on every rank.
    handshake_dir : str or os.PathLike, optional
        With ``method=2``, where to publish for readers of other jobs (`attach`); default
        ``DDSTORE_HANDSHAKE_DIR``.
    nic_map : str, optional
        Which network interface is near which CPUs, methods 1 and 2; default ``DDSTORE_NIC_MAP``.
    timeout : float, optional
        Deadline of reads, in seconds without progress; default ``DDSTORE_TIMEOUT_S``, else 30.
    collective_timeout : float, optional
        Deadline of collective calls, in seconds; default ``DDSTORE_COLLECTIVE_TIMEOUT_S``, else
        1800.
    hints : mapping of str to str, optional
        Tunables of a transport; an unknown one is an error.

    Raises
    ------
    TypeError
        `comm` is no communicator.
    MismatchError
        The ranks' options differ.
    UnsupportedError
        A rank cannot be reached; the text names it.

    Notes
    -----
    Threads: any, concurrently; collective calls from one thread at a time and in the same order on
    every rank.  No call holds the interpreter lock.  Ctrl-C ends a wait.
    """

    @classmethod
    def attach(
        cls,
        handshake_dir: str | os.PathLike[str],
        n_core: int,
        *,
        nic_map: str | None = None,
        timeout: float | None = None,
    ) -> "Self":
        """Open a reader of what another job publishes.  Local; waits for nothing.

        Parameters
        ----------
        handshake_dir : str or os.PathLike
            Where the core job publishes, a store of ``method=2``.
        n_core : int
            Its number of ranks.
        nic_map, timeout
            As for the constructor.

        Returns
        -------
        Store
            `join` brings variables in; it reads and nothing else.
        """
        return cls(
            method=2, handshake_dir=handshake_dir, n_core=n_core, nic_map=nic_map, timeout=timeout
        )

    def __getitem__(self, name: str) -> Variable:
        return Variable(self, self.info(name))

    def get(
        self, name: str, first: int, nrows: int | None = None, out: NDArray[Any] | None = None
    ) -> NDArray[Any]:
        """Read rows [first, first + nrows) of all ranks' rows.  Local: the others do nothing.

        Parameters
        ----------
        name : str
        first : int
            A global row.
        nrows : int, optional
            Default: as many as `out` has, or 1.  The range may cross shards.
        out : ndarray, shape (nrows, ...), optional
            Where to: C-contiguous, writable, of the variable's dtype.

        Returns
        -------
        ndarray, shape (nrows, ...)
            `out`, or a new array.

        Raises
        ------
        RangeError
            A row is negative or past the end.
        NotFoundError
            There is no variable of that name.
        TypeError, ValueError
            `out` does not fit; not a byte of it was written.
        DeadlineError, PeerError
            The owner did not answer, or is dead.
        """
        variable = self._variables.get(name) or self._look_up(name)
        if nrows is None:
            nrows = 1 if out is None else len(out)
        if out is None:
            out = np.empty((nrows, *variable.shape), variable.dtype)
        elif type(out) is not _NDArray or out.dtype is not variable.dtype or len(out) != nrows:
            destination(variable, out, nrows)
        code = fetch(
            self._address, variable.utf8, first, out, variable.itemsize, variable.row_bytes
        )
        if code:
            if code > 0:
                read_failed(code, self._handle, out)
            c_out = destination(variable, out, nrows)
            code = lib.dds_get(self._handle, variable.c_name, first, nrows, c_out, len(c_out))
            if code:
                read_failed(code, self._handle, out)
        return out

    def get_batch(
        self, name: str, rows: ArrayLike, out: NDArray[Any] | None = None
    ) -> NDArray[Any]:
        """Read the listed rows, in that order.  Local: the other ranks do nothing.

        Parameters
        ----------
        name : str
        rows : array_like of int, shape (n,)
            Global rows; they may repeat and lie on any rank.  An int64 array is used as it is.
        out : ndarray, shape (n, ...), optional
            Where to: C-contiguous, writable, of the variable's dtype.  Reusing one saves the first
            touch of fresh memory, which costs more than the read.

        Returns
        -------
        ndarray, shape (n, ...)
            `out`, or a new array.

        Raises
        ------
        RangeError, NotFoundError, TypeError, ValueError, DeadlineError, PeerError
            As in `get`.  All rows are checked before a byte moves.
        """
        variable = self._variables.get(name) or self._look_up(name)
        if type(rows) is not _NDArray or rows.dtype is not _INT64:
            rows = as_rows(rows)
        if out is None:
            out = np.empty((len(rows), *variable.shape), variable.dtype)
        elif type(out) is not _NDArray or out.dtype is not variable.dtype:
            destination(variable, out, len(rows))
        code = gather(
            self._address, variable.utf8, rows, out, variable.itemsize, variable.row_bytes
        )
        if code:
            if code > 0:
                read_failed(code, self._handle, out)
            # What does not fit, rows with gaps, or elements that have no buffer.
            rows = as_rows(rows)
            c_out = destination(variable, out, len(rows))
            c_rows = from_buffer(ROWS, rows)
            code = lib.dds_get_batch(
                self._handle, variable.c_name, len(rows), c_rows, c_out, len(c_out)
            )
            if code:
                read_failed(code, self._handle, out)
        return out

    def get_batch_all(
        self, name: str, rows: ArrayLike, out: NDArray[Any] | None = None
    ) -> NDArray[Any]:
        """Read the listed rows, as one call of all ranks.  Collective.

        As `get_batch`, but the ranks end together: `rows` may differ and be empty, and a bad row on
        one rank fails on every rank.
        """
        c_name = ffi.NULL
        try:
            variable = self._variables.get(name) or self._look_up(name)
            c_name = variable.c_name
            if type(rows) is not _NDArray or rows.dtype is not _INT64:
                rows = as_rows(rows)
            if out is None:
                out = np.empty((len(rows), *variable.shape), variable.dtype)
            elif type(out) is not _NDArray or out.dtype is not variable.dtype:
                destination(variable, out, len(rows))
            code = gather_all(
                self._address, variable.utf8, rows, out, variable.itemsize, variable.row_bytes
            )
            if code < 0:
                rows = as_rows(rows)
                n, c_rows = len(rows), from_buffer(ROWS, rows)
                c_out = destination(variable, out, n)
                code = lib.dds_get_batch_all(self._handle, c_name, n, c_rows, c_out, len(c_out))
        except Exception:
            take_part(lib.dds_get_batch_all(self._handle, c_name, -1, ffi.NULL, ffi.NULL, 0))
            raise
        check(code)
        return out

    def iget_batch(
        self,
        name: str,
        rows: ArrayLike,
        out: NDArray[Any] | None = None,
        status: NDArray[np.int32] | None = None,
    ) -> Request:
        """Start a `get_batch` and return at once.  Local.

        Parameters
        ----------
        name, rows, out
            As in `get_batch`; leave them untouched until the request, which keeps them alive, has
            ended.
        status : ndarray of int32, shape (n,), optional
            Gets one ``DDS_ERR_*`` a row.

        Returns
        -------
        Request
            Its ``wait()`` returns the rows.
        """
        variable = self._variables.get(name) or self._look_up(name)
        index = as_rows(rows)
        n = len(index)
        if out is None:
            out = np.empty((n, *variable.shape), variable.dtype)
        c_out = destination(variable, out, n)
        c_rows = from_buffer(ROWS, index)
        c_status = as_status(status, n)
        request = Request(self, out, (c_rows, c_out, c_status))
        check(
            lib.dds_iget_batch(
                self._handle, variable.c_name, n, c_rows, c_out, len(c_out), c_status, request._c
            )
        )
        return request

    def register_recv(self, buffer: NDArray[Any]) -> None:
        """Tell that `buffer` will be read into again and again.  Local.

        A wire then registers it once; slices of it count; repeating is harmless.  It is kept alive
        until `unregister_recv` or `free`.
        """
        c_buffer = from_buffer(BYTES, plain(buffer), require_writable=True)
        check(lib.dds_register_recv(self._handle, c_buffer, len(c_buffer)))
        self._receivers[int(ffi.cast("uintptr_t", c_buffer))] = c_buffer

    def unregister_recv(self, buffer: NDArray[Any]) -> None:
        """Take back `register_recv` of the same array.  Local."""
        c_buffer = from_buffer(BYTES, plain(buffer), require_writable=True)
        check(lib.dds_unregister_recv(self._handle, c_buffer))
        self._receivers.pop(int(ffi.cast("uintptr_t", c_buffer)), None)

    def epoch_begin(self) -> None:
        """Let every rank see all updates made before it.  Collective; methods 1, 2: nothing."""
        check(lib.dds_epoch_begin(self._handle))

    def epoch_end(self) -> None:
        """Return when no rank still reads.  Collective; methods 1, 2: nothing."""
        check(lib.dds_epoch_end(self._handle))

    @contextmanager
    def epoch(self) -> Iterator[None]:
        """``with store.epoch():`` begins an epoch and ends it, also after an exception."""
        self.epoch_begin()
        try:
            yield
        except Exception:
            with suppress(DDSError):  # the first error is the one to tell
                self.epoch_end()  # the others are there
            raise
        self.epoch_end()

    def profile(self, name: str) -> Profile:
        """Return counts of this process's reads; zero without ``DDSTORE_PROFILE=1``.  Local."""
        return read_profile(self._handle, encoded(name))
