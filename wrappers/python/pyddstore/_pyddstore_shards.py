"""What a `PyDDStore` is made of: how it is opened, and how its variables come in."""

import operator
import os
import threading
from typing import Any

import numpy as np

from ._arrays import check_width, gpu_refusal, on_gpu, raw, source
from ._binding import check, ffi, lib, take_part
from ._buffers import Layout, encoded
from ._comm import FileComm
from ._describe import read_info
from ._dtypes import bytes_code
from ._opened import Opened


class PyDDShards(Opened):
    """A store and its variables; `PyDDStore` says the rest."""

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
        self._method = method
        self._together = method == 0
        self._registered: dict[tuple[str, int], Any] = {}
        self._profiled = method != 0 and os.environ.get("DDSTORE_PROFILE", "") not in ("", "0")
        self._count_lock = threading.Lock()
        self._gets, self._get_seconds = 0, 0.0
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
                n_core=n_core if method == 2 and alone else None,
            )
        finally:
            if ours is not None:
                ours.free()

    def _leave_to_parent(self) -> None:
        super()._leave_to_parent()
        self._together = False  # the others do not call with a child
        self._count_lock = threading.Lock()

    def _become_reader(self) -> None:
        super()._become_reader()
        self._together = False
        self._registered = {}
        self._count_lock = threading.Lock()
        self._gets, self._get_seconds = 0, 0.0

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

    def info(self, name: str) -> tuple[int, int, int]:
        """Return (rows of all ranks, elements a row, bytes an element).  Local."""
        c = read_info(self._handle, encoded(name))
        return c.rows, c.disp, c.itemsize

    def _look_up(self, name: str) -> Layout:
        c_name = encoded(name)
        c = read_info(self._handle, c_name)
        dtype = np.dtype((np.void, c.itemsize))  # only the size counts
        variable = Layout(name, c_name, dtype, (c.disp,))
        self._variables[name] = variable
        return variable
