"""What is checked before C sees it: names, options, sources, rows and destinations.

Nothing here moves a row.
"""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._binding import ffi, lib
from ._dtypes import DType, is_opaque

ROWS = ffi.typeof("int64_t[]")
BYTES = ffi.typeof("char[]")
from_buffer = ffi.from_buffer


class Layout:
    """What a read must know of a variable; looked up once."""

    __slots__ = ("c_name", "dtype", "itemsize", "name", "row_bytes", "shape", "utf8")

    def __init__(self, name: str, c_name: Any, dtype: DType, shape: tuple[int, ...]) -> None:
        self.name = name
        self.utf8 = name.encode()
        self.c_name = c_name
        self.dtype = dtype
        self.shape = shape
        self.itemsize = dtype.itemsize
        self.row_bytes = math.prod(shape) * dtype.itemsize


def encoded(name: str) -> Any:
    if not isinstance(name, str):
        raise TypeError(f"a variable's name is a str, not {type(name).__name__}")
    if "\0" in name:
        raise ValueError("a variable's name holds no NUL")
    return ffi.new("char[]", name.encode())


def var_options(
    shape: Iterable[int], meta: bytes | None, nocopy: bool, hugepages: bool
) -> tuple[Any, Any]:
    # The second is what the options point to: it must live as long as they are used.
    extents = ffi.new("int64_t[]", [*shape])
    c_meta = ffi.NULL if meta is None else from_buffer(meta)
    options = ffi.new(
        "dds_var_options_t *",
        {
            "struct_size": ffi.sizeof("dds_var_options_t"),
            "flags": (lib.DDS_NOCOPY if nocopy else 0) | (lib.DDS_HUGEPAGES if hugepages else 0),
            "ndim": len(extents),
            "shape": extents if len(extents) else ffi.NULL,
            "meta": c_meta,
            "meta_bytes": 0 if meta is None else len(meta),
        },
    )
    return options, (extents, c_meta)


def plain(array: NDArray[Any]) -> NDArray[Any]:
    # ml_dtypes' elements have no format that the buffer protocol knows.
    return array.view(np.uint8) if array.dtype.name == "bfloat16" and array.ndim else array


def same(given: DType, stored: DType) -> bool:
    # Opaque elements match by size: a structured array may take rows that were added as void.
    if given is stored or given == stored:
        return True
    return is_opaque(given) and is_opaque(stored) and given.itemsize == stored.itemsize


def as_rows(rows: ArrayLike) -> NDArray[np.int64]:
    """Return a list of rows as a contiguous int64 array."""
    index = np.asarray(rows)
    if index.ndim != 1:
        raise ValueError(f"rows are one-dimensional, not of shape {index.shape}")
    if index.dtype.kind not in "iu" and index.size:
        raise TypeError(f"rows are integers, not {index.dtype}")
    if index.dtype == np.uint64 and index.size and int(index.max()) >= 2**63:
        raise IndexError(f"row {int(index.max())} is past any end")
    return np.ascontiguousarray(index, dtype=np.int64)


def destination(variable: Layout, out: NDArray[Any], n: int) -> Any:
    """Return the buffer of a destination for `n` rows, or say what is wrong with it."""
    what = f"the destination for {n} rows of {variable.name!r}"
    if not isinstance(out, np.ndarray):
        raise TypeError(f"{what} is a NumPy array, not {type(out).__name__}")
    if not same(out.dtype, variable.dtype):
        raise TypeError(f"{what} has elements of {variable.dtype}, not {out.dtype}")
    if out.ndim == 0 or len(out) != n or out.nbytes != n * variable.row_bytes:
        raise ValueError(f"{what} has shape {(n, *variable.shape)}, not {out.shape}")
    if not out.flags.c_contiguous:
        raise ValueError(f"{what} must be C-contiguous")
    if not out.flags.writeable:
        raise ValueError(f"{what} must be writable")
    return from_buffer(BYTES, plain(out), require_writable=True)
