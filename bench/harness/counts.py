"""Counts the bytes of a stream and the allocations per token, in a process that `environment` prepares.

`PYTHONMALLOC=malloc` makes Python's objects use malloc too, so that mallinfo2 and a library that counts calls see both
native and Python memory. Objects from Python's free lists (small tuples, lists, floats) are not counted. glibc's cache
for each thread is off, so that freed memory counts as free.
"""

from __future__ import annotations

import ctypes
import gc
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

from peers import Streams, Work

from harness.workloads import Load

LIBRARY = "UNSPOOL_BENCH_ALLOCATIONS"


def environment(folder: Path) -> dict[str, str]:
    """Return the variables that a worker's environment needs; builds the library with a C compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        raise RuntimeError("there is no C compiler")
    path = folder / "allocations.so"
    source = Path(__file__).with_name("allocations.c")
    subprocess.run([compiler, "-O2", "-shared", "-fPIC", "-o", path, source], check=True)
    return {
        **os.environ,
        "PYTHONMALLOC": "malloc",
        "GLIBC_TUNABLES": "glibc.malloc.tcache_count=0",
        "LD_PRELOAD": str(path),
        LIBRARY: str(path),
    }


_FIELDS = (
    "arena",
    "ordblks",
    "smblks",
    "hblks",
    "hblkhd",
    "usmblks",
    "fsmblks",
    "uordblks",
    "fordblks",
    "keepcost",
)


class _Info(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in _FIELDS]


def _bytes_in_use() -> int:
    read = ctypes.CDLL(None).mallinfo2
    read.restype = _Info
    info = read()
    return int(info.uordblks + info.hblkhd)


def _feed(streams: Streams, begin: int, end: int | None = None) -> None:
    """Feed all streams their tokens from one place to another, or to the end."""
    for i in range(begin, streams.places if end is None else end):
        for step in streams.steps:
            step(i)


def of_work(work: Work, loads: list[Load]) -> dict[str, Any]:
    """Count the bytes of a new stream and of one at half of its answer, and allocations per token after that."""
    count = ctypes.CDLL(os.environ[LIBRARY]).unspool_bench_allocations
    count.restype = ctypes.c_ulong
    _feed(work(loads), 0)
    gc.collect()
    before = _bytes_in_use()
    streams = work(loads)
    gc.collect()
    fresh = _bytes_in_use()
    half = streams.places // 2
    _feed(streams, 0, half)
    gc.collect()
    fed = _bytes_in_use()
    calls = count()
    _feed(streams, half, streams.places - 16)
    calls = count() - calls
    tokens = (streams.places - 16 - half) * len(loads)
    return {
        "fresh": (fresh - before) / len(loads),
        "fed": (fed - before) / len(loads),
        "allocations": calls / tokens,
    }
