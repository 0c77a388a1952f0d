"""Packed masks in a caller's memory, in the layout of xgrammar, llguidance and vLLM: a row per answer, a bit per id."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, SupportsIndex

from unspool.core.needs import needs
from unspool.errors import ArgumentError

if TYPE_CHECKING:
    import numpy as np

    Rows = np.ndarray[Any, np.dtype[np.int32]]

__all__ = ["read_bitmask", "read_row"]

_WANTED = (
    "pass an int32 array of shape (rows, ceil(vocabulary / 32)) in CPU memory, such as NumPy's or PyTorch's"
)


def read_bitmask(bitmask: Any) -> Rows:
    """Return the caller's memory as an array of shape (rows, words), without copying it.

    Raises:
        ArgumentError: The memory is read-only, or has another type or shape.
    """
    with needs("constrain"):
        import numpy as np

    array: Any = bitmask
    try:
        if not isinstance(bitmask, np.ndarray):
            has_dlpack = hasattr(bitmask, "__dlpack__")
            array = np.from_dlpack(bitmask) if has_dlpack else np.asarray(memoryview(bitmask))
    except (TypeError, ValueError, RuntimeError, BufferError) as error:
        raise ArgumentError(f"bitmask: {error}; {_WANTED}") from None
    if array.dtype != np.int32 or array.ndim != 2 or (array.size and array.strides[1] != 4):
        packed = "" if array.ndim != 2 or array.strides[1] == array.itemsize else ", with gaps"
        raise ArgumentError(f"bitmask is of {array.dtype} and shape {array.shape}{packed}; {_WANTED}")
    if not array.flags.writeable:
        raise ArgumentError("bitmask is read-only; pass an array that can be written to")
    rows: Rows = array
    return rows


def read_row(row: SupportsIndex, bitmask: Rows) -> int:
    """Check the number of a row, and return it.

    Raises:
        ArgumentError: The bitmask has no such row.
    """
    place = operator.index(row)
    if not 0 <= place < len(bitmask):
        raise ArgumentError(f"row is {place}, and the bitmask has {len(bitmask)} rows; count from 0")
    return place
