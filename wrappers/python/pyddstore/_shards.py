"""The store's variables: how they come in, are described, and go.

Methods are named as the calls of the C library.
"""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from ._binding import check, ffi, lib, take_part
from ._buffers import BYTES, ROWS, Layout, encoded, from_buffer, plain, same, var_options
from ._describe import Info, read_info
from ._dtypes import to_code, to_dtype
from ._errors import NotFoundError
from ._opened import Opened


class Shards(Opened):
    """A store and its variables; `Store` says the rest."""

    def add(
        self,
        name: str,
        array: ArrayLike,
        *,
        meta: bytes | None = None,
        nocopy: bool = False,
        hugepages: bool = False,
    ) -> None:
        """Add variable `name`: this rank's rows.  Collective.

        Parameters
        ----------
        name : str
            1 to 255 bytes of UTF-8.
        array : array_like, shape (nrows, ...)
            This rank's rows.  `nrows` may differ and be 0; the dtype and the shape of a row are the
            same on every rank.  Copied, unless `nocopy`.
        meta : bytes, optional
            Your schema, at most 64 KiB, the same on every rank; `meta` gives it back.
        nocopy : bool
            Use the array in place: it is kept alive until `drop` or `free`, and is C-contiguous.
        hugepages : bool
            A segment of its own, advised to use huge pages.

        Raises
        ------
        TypeError
            The dtype is none that a store takes (big-endian, object, datetime ...).
        ExistsError
            `name` is there already.
        MismatchError
            The ranks' names, dtypes, row shapes or flags differ; the store works on.
        """
        try:
            data = np.asarray(array)
            if data.ndim == 0:
                raise ValueError(f"{name!r}: an array of rows has at least one axis")
            if not data.flags.c_contiguous:
                if nocopy:
                    raise ValueError(f"{name!r}: with nocopy the array must be C-contiguous")
                data = np.ascontiguousarray(data)
            c_name = encoded(name)
            kind = to_code(data.dtype)
            c_data = from_buffer(BYTES, plain(data))
            options, _keep = var_options(data.shape[1:], meta, nocopy, hugepages)
        except Exception:
            take_part(lib.dds_add(self._handle, ffi.NULL, 0, 0, 0, ffi.NULL, ffi.NULL))
            raise
        width = math.prod(data.shape[1:])
        check(lib.dds_add(self._handle, c_name, len(data), width, kind, c_data, options))
        self._dtypes[name] = data.dtype
        if nocopy:
            self._arrays[name] = data, c_data

    def create(
        self,
        name: str,
        nrows: int,
        shape: int | tuple[int, ...] = (),
        dtype: DTypeLike = np.float64,
        *,
        meta: bytes | None = None,
        hugepages: bool = False,
    ) -> NDArray[Any]:
        """Add variable `name`, zeroed, and return this rank's rows to be filled.  Collective.

        Parameters
        ----------
        name : str
        nrows : int
            This rank's rows.
        shape : int or tuple of int
            Of one row; () for one element a row.
        dtype : dtype_like
        meta, hugepages
            As in `add`.

        Returns
        -------
        ndarray, shape (nrows, *shape)
            The view that `local` returns.

        Raises
        ------
        TypeError, ExistsError, MismatchError
            As in `add`.
        """
        try:
            exact = np.dtype(dtype)
            row = (shape,) if isinstance(shape, int) else tuple(shape)
            c_name = encoded(name)
            kind = to_code(exact)
            options, _keep = var_options(row, meta, False, hugepages)
        except Exception:
            take_part(lib.dds_create(self._handle, ffi.NULL, 0, 0, 0, ffi.NULL))
            raise
        check(lib.dds_create(self._handle, c_name, nrows, math.prod(row), kind, options))
        self._dtypes[name] = exact
        return self.local(name)

    def update(self, name: str, array: ArrayLike, first: int = 0) -> None:
        """Overwrite rows of this rank's own shard, from its row `first` on.  Local.

        Other ranks see it after a synchronisation that follows, such as `epoch_begin`.

        Raises
        ------
        TypeError, ValueError
            `array` has not the variable's dtype, or not its rows' shape.
        RangeError
            The rows do not lie in the shard.
        UnsupportedError
            The variable was added with `nocopy`: write into your own array.
        """
        variable = self._variables.get(name) or self._look_up(name)
        data = np.asarray(array)
        if data.ndim == 0 or data.shape[1:] != variable.shape:
            raise ValueError(f"{name!r} has rows of shape {variable.shape}, not {data.shape[1:]}")
        if not same(data.dtype, variable.dtype):
            raise TypeError(f"{name!r} has elements of {variable.dtype}, not {data.dtype}")
        c_data = from_buffer(BYTES, plain(np.ascontiguousarray(data)))
        check(lib.dds_update(self._handle, variable.c_name, first, len(data), c_data))

    def local(self, name: str) -> NDArray[Any]:
        """Return this rank's own rows in place, as an array that can be written.  Local.

        It stays valid after `drop` and `free`.  Other ranks see what is written after a
        synchronisation that follows.
        """
        if name in self._arrays:
            return self._arrays[name][0][...]
        variable = self._variables.get(name) or self._look_up(name)
        nrows, data = ffi.new("int64_t *"), ffi.new("void **")
        check(lib.dds_local(self._handle, variable.c_name, nrows, data))
        shape = (nrows[0], *variable.shape)
        nbytes = nrows[0] * variable.row_bytes
        if nbytes == 0:
            check(lib.dds_release_local(data[0]))
            return np.empty(shape, variable.dtype)
        # The array keeps the pointer alive, and the pointer keeps the shard.
        view = ffi.gc(data[0], lib.dds_release_local, nbytes)
        raw = np.frombuffer(ffi.buffer(view, nbytes), np.uint8)
        return raw.view(variable.dtype).reshape(shape)

    def drop(self, name: str) -> None:
        """Remove the variable.  Waits for this rank's own readers.  Collective."""
        try:
            c_name = encoded(name)
        except Exception:
            take_part(lib.dds_drop(self._handle, ffi.NULL))
            raise
        check(lib.dds_drop(self._handle, c_name))
        for table in (self._variables, self._dtypes, self._arrays):
            table.pop(name, None)

    def info(self, name: str) -> Info:
        """Describe the variable.  Local.

        Raises
        ------
        NotFoundError
            There is none of that name.
        """
        c = read_info(self._handle, encoded(name))
        alone = () if c.disp == 1 else (c.disp,)  # of a variable that C code added without a shape
        shape = tuple(c.shape[0 : c.ndim]) if c.ndim else alone
        return Info(
            name=name,
            dtype=self._dtypes.get(name) or to_dtype(c.type),
            rows=c.rows,
            shape=shape,
            disp=c.disp,
            itemsize=c.itemsize,
            first=c.first,
            nrows=c.nrows,
            nocopy=bool(c.flags & lib.DDS_NOCOPY),
            hugepages=bool(c.flags & lib.DDS_HUGEPAGES),
            meta_bytes=c.meta_bytes,
            version=c.version,
        )

    def meta(self, name: str) -> bytes:
        """Return the schema that was given to `add`; empty where there was none.  Local."""
        c_name, size = encoded(name), ffi.new("size_t *")
        check(lib.dds_meta(self._handle, c_name, ffi.NULL, 0, size))
        buffer = ffi.new("char[]", max(size[0], 1))
        check(lib.dds_meta(self._handle, c_name, buffer, size[0], size))
        return bytes(ffi.buffer(buffer, size[0]))

    def owner(self, name: str, row: int) -> tuple[int, int]:
        """Return who holds a global row, and where in its shard: (rank, local row).  Local.

        Raises
        ------
        RangeError
            There is no such row.
        """
        rank, local_row = ffi.new("int *"), ffi.new("int64_t *")
        check(lib.dds_owner(self._handle, encoded(name), row, rank, local_row))
        return rank[0], local_row[0]

    def partition(self, name: str) -> NDArray[np.int64]:
        """Return the first global row of each rank and, last, the total: (size + 1,).  Local."""
        first = np.empty(self._size + 1, np.int64)
        c_first = from_buffer(ROWS, first, require_writable=True)
        check(lib.dds_partition(self._handle, encoded(name), c_first))
        return first

    def list(self) -> list[str]:
        """Return the names of all variables in order of creation.  Local."""
        size, room = ffi.new("size_t *"), 4096
        while True:
            names = ffi.new("char[]", room)
            code = lib.dds_list(self._handle, names, room, size)
            if code != lib.DDS_ERR_TRUNCATED:
                break
            room = size[0]  # and again, should another thread add one meanwhile
        check(code)
        return bytes(ffi.buffer(names, size[0])).decode().split("\0")[:-1]

    keys = list

    def __bool__(self) -> bool:
        return True  # also without variables, whatever __len__ says

    def __len__(self) -> int:
        return len(self.list())

    def __iter__(self) -> Iterator[str]:
        return iter(self.list())

    def __contains__(self, name: object) -> bool:
        if not isinstance(name, str):
            return False
        try:
            self.info(name)
        except NotFoundError:
            return False
        return True

    def _look_up(self, name: str) -> Layout:
        info = self.info(name)
        variable = Layout(name, encoded(name), info.dtype, info.shape)
        self._variables[name] = variable
        return variable
