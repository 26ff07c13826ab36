"""``store["x"]``: a variable that is indexed like an array; each access is one read."""

import operator
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from ._describe import Info
    from ._store import Store

_CHUNK = 1 << 20  # bytes that an iteration reads at once


class Variable:
    """All ranks' rows of a variable, read when they are indexed; each access copies.

    Axis 0 takes what NumPy takes: an int (negative ones from the end), a slice, a list or array of
    rows, a mask; further indices apply to the rows that were read.  Local: the others do nothing.
    """

    def __init__(self, store: "Store", info: "Info") -> None:
        self._store = store
        self.name = info.name
        self.dtype = info.dtype
        self.shape = (info.rows, *info.shape)

    @property
    def ndim(self) -> int:
        """Number of axes, that of the rows among them."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Elements of all ranks."""
        product = 1
        for extent in self.shape:
            product *= extent
        return product

    @property
    def nbytes(self) -> int:
        """Bytes of all ranks."""
        return self.size * self.dtype.itemsize

    @property
    def local(self) -> NDArray[Any]:
        """This rank's own rows in place, see `Store.local`."""
        return self._store.local(self.name)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: Any) -> Any:
        before: tuple[slice, ...] = (slice(None),)
        parts = index if isinstance(index, tuple) else (index,)
        if not parts or parts[0] is Ellipsis:
            return self._slice(slice(None))[index]  # NumPy knows what follows an ellipsis
        rows, rest = parts[0], parts[1:]
        if isinstance(rows, slice):
            result = self._slice(rows)
        elif isinstance(rows, int | np.integer) and not isinstance(rows, bool | np.bool_):
            result, before = self._one(operator.index(rows)), ()
        else:
            result = self._fancy(np.asarray(rows))
        return result[(*before, *rest)] if rest else result

    def _one(self, row: int) -> Any:
        first = row + len(self) if row < 0 else row
        if not 0 <= first < len(self):
            raise IndexError(f"row {row} of {self.name!r} is out of range: it has {len(self)}")
        return self._store.get(self.name, first)[0]

    def _slice(self, rows: slice) -> NDArray[Any]:
        start, stop, step = rows.indices(len(self))
        if step == 1:
            return self._store.get(self.name, start, max(stop - start, 0))
        return self._store.get_batch(self.name, np.arange(start, stop, step, dtype=np.int64))

    def _fancy(self, rows: NDArray[Any]) -> NDArray[Any]:
        if rows.dtype == np.bool_:
            if rows.shape != (len(self),):
                raise IndexError(f"a mask of {self.name!r} has one value a row: {len(self)}")
            rows = np.flatnonzero(rows)
        if rows.size and rows.dtype.kind not in "iu":
            raise IndexError(f"rows are integers, not {rows.dtype}")
        flat = rows.reshape(-1).astype(np.int64)
        flat[flat < 0] += len(self)
        batch = self._store.get_batch(self.name, flat)
        return batch if rows.ndim == 1 else batch.reshape(*rows.shape, *self.shape[1:])

    def __iter__(self) -> Iterator[Any]:
        row_bytes = self.nbytes // len(self) if len(self) else 0
        step = max(1, _CHUNK // max(row_bytes, 1))
        for first in range(0, len(self), step):
            yield from self._slice(slice(first, first + step))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False:
            raise ValueError(f"the rows of {self.name!r} cannot be had without a copy")
        rows = self._slice(slice(None))
        return rows if dtype is None else rows.astype(dtype, copy=False)

    def __repr__(self) -> str:
        return f"<pyddstore.Variable {self.name!r} {self.shape} {self.dtype}>"
