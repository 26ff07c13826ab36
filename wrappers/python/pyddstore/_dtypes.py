"""NumPy dtypes and the element types of libddstore, in both directions.

Structured, void and ``S`` elements travel as opaque bytes.  The process that added a variable
remembers its exact dtype; elsewhere such rows come back as void of the same size.
"""

import operator
from typing import Any

import numpy as np

from ._binding import lib

_CODES: dict[str, int] = {
    "bool": lib.DDS_BOOL,
    "int8": lib.DDS_INT8,
    "int16": lib.DDS_INT16,
    "int32": lib.DDS_INT32,
    "int64": lib.DDS_INT64,
    "uint8": lib.DDS_UINT8,
    "uint16": lib.DDS_UINT16,
    "uint32": lib.DDS_UINT32,
    "uint64": lib.DDS_UINT64,
    "float16": lib.DDS_FLOAT16,
    "bfloat16": lib.DDS_BFLOAT16,
    "float32": lib.DDS_FLOAT32,
    "float64": lib.DDS_FLOAT64,
    "complex64": lib.DDS_COMPLEX64,
    "complex128": lib.DDS_COMPLEX128,
}
_NAMES = {code: name for name, code in _CODES.items()}
_BYTES = 0x40000000  # DDS_BYTES(n) is _BYTES | n
_ALLOWED = ", ".join(_CODES) + ", and structured, void or S elements without objects"

DType = np.dtype[Any]


def is_opaque(dtype: DType) -> bool:
    """Whether elements of `dtype` travel as bytes."""
    plain = issubclass(dtype.type, np.void | np.bytes_)  # kind "V" would let ml_dtypes' own pass
    return plain and dtype.isnative and not dtype.hasobject


def to_code(dtype: DType) -> int:
    """Return the element type of ``dtype``.

    Raises
    ------
    TypeError
        For any other dtype, byte-swapped ones among them; the text lists those that are allowed.
    """
    code = _CODES.get(dtype.name) if dtype.isnative else None
    if code is not None:
        return code
    if is_opaque(dtype) and 1 <= dtype.itemsize < _BYTES:
        return bytes_code(dtype.itemsize)
    raise TypeError(f"a store does not take elements of dtype {dtype!r}: it takes {_ALLOWED}")


def bytes_code(itemsize: int) -> int:
    """Return the type of opaque elements of `itemsize` bytes, as ``DDS_BYTES`` does."""
    size = operator.index(itemsize)
    if not 1 <= size < _BYTES:
        raise ValueError(f"an element has 1 to {_BYTES - 1} bytes, not {size}")
    return _BYTES | size


def to_dtype(code: int) -> DType:
    """Return the dtype of an element type."""
    if code & _BYTES:
        return np.dtype((np.void, code & (_BYTES - 1)))
    name: Any = _NAMES[code]
    if name == "bfloat16":
        try:
            import ml_dtypes
        except ImportError:
            raise TypeError("rows of bfloat16 need the package ml_dtypes") from None
        name = ml_dtypes.bfloat16
    dtype: DType = np.dtype(name)
    return dtype
