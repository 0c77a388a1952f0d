"""How much memory the C allocator has given out."""

from __future__ import annotations

import ctypes


class MallInfo(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in (
        "arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost",
    )]  # fmt: skip


def allocated_bytes() -> int:
    """Bytes that C and C++ have allocated; 0 if the allocator does not count them (only glibc's does)."""
    try:
        mallinfo2 = ctypes.CDLL(None).mallinfo2
    except (AttributeError, OSError, TypeError):  # the last: Windows has no library without a name
        return 0
    mallinfo2.restype = MallInfo
    info = mallinfo2()
    return int(info.uordblks + info.hblkhd)
