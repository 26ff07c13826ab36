"""What `PyDDStore` takes as an array: NumPy arrays and torch tensors, seen as NumPy arrays.

torch is never imported for it: a tensor can only come from a torch that is there.
"""

import os
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._binding import ffi, lib
from ._buffers import BYTES, Layout, from_buffer
from ._dtypes import to_code
from ._errors import UnsupportedError


class NotContiguousError(AssertionError, ValueError):
    """An array has gaps.  An AssertionError is what ORNL's pyddstore raises."""


def on_gpu(array: Any) -> bool:
    """Whether the array's memory is a GPU's."""
    return bool(getattr(array, "is_cuda", False)) or hasattr(array, "__cuda_array_interface__")


def gpu_refusal(method: int) -> Exception:
    """Return why a store of this method does not take memory of a GPU."""
    fabric = os.environ.get("DDSTORE_FABRIC", "")
    if method == 0:
        return RuntimeError(
            "GPU memory requires method=1 or 2, and a DDSTORE_FABRIC that is set requires "
            "DDSTORE_FABRIC=cxi (got method=0)"
        )
    if fabric not in ("", "cxi"):
        return RuntimeError(f"GPU memory requires DDSTORE_FABRIC=cxi (got {fabric!r})")
    code = lib.DDS_ERR_UNSUPPORTED
    text = "memory of a GPU is not in this release: copy it to the host"
    return UnsupportedError(code, "DDS_ERR_UNSUPPORTED", -1, text)


def _is_tensor(array: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(array, torch.Tensor)


def seen(array: Any, what: str) -> tuple[NDArray[Any], int]:
    """Return a C-contiguous array of rows over the same memory, and its element type.

    Parameters
    ----------
    array : ndarray or torch.Tensor on the CPU
    what : str
        What it is, for the errors.

    Returns
    -------
    ndarray, int
        The type is 0 where a store has none for the dtype.

    Raises
    ------
    TypeError
        It is neither.
    NotContiguousError
        It has gaps.
    ValueError
        It has no axis of rows.
    """
    code = 0
    if _is_tensor(array):
        tensor = array.detach()
        if str(tensor.dtype) == "torch.bfloat16":  # which NumPy does not have
            code = lib.DDS_BFLOAT16
            tensor = tensor.view(sys.modules["torch"].int16)
        array = tensor.numpy()
    if not isinstance(array, np.ndarray):
        kind = type(array).__name__
        raise TypeError(f"{what} is a NumPy array or a torch tensor, not {kind}")
    if not array.flags.c_contiguous:
        raise NotContiguousError(f"{what} must be C-contiguous")
    if array.ndim == 0:
        raise ValueError(f"{what} has at least one axis, that of the rows")
    try:
        return array, code or to_code(array.dtype)
    except TypeError:
        return array, 0


def source(array: Any, what: str) -> tuple[NDArray[Any], int]:
    """Return an array whose elements a store takes, and their type; see `seen`.

    Raises
    ------
    NotImplementedError
        There is no element type for its dtype.
    """
    rows, code = seen(array, what)
    if not code:
        raise NotImplementedError(f"unsupported dtype: {rows.dtype} of {what}")
    return rows, code


def check_width(rows: NDArray[Any], variable: Layout, what: str) -> None:
    """Check that an array has the variable's item size and as many bytes a row.

    Raises
    ------
    ValueError
        Nothing else counts: a dtype of the same size serves, and so does any shape of a row.
    """
    if rows.itemsize != variable.itemsize:
        raise ValueError(
            f"{what} has elements of {rows.itemsize} bytes ({rows.dtype}), those of "
            f"{variable.name!r} have {variable.itemsize}"
        )
    if rows.nbytes != len(rows) * variable.row_bytes:
        width = rows.nbytes // len(rows) if len(rows) else 0
        raise ValueError(
            f"{what} has rows of {width} bytes, those of {variable.name!r} have "
            f"{variable.row_bytes}"
        )


def raw(rows: NDArray[Any], writable: bool = False) -> Any:
    """Return a contiguous array's bytes as a buffer of cffi."""
    if writable and not rows.flags.writeable:
        raise ValueError("the destination must be writable: it is read-only")
    if rows.nbytes == 0:
        return ffi.new("char[]", 0)
    return from_buffer(BYTES, rows.reshape(-1).view(np.uint8), require_writable=writable)
