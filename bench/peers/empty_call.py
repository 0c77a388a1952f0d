"""What a call costs that does nothing but give a `str`: a builtin of one argument."""

from __future__ import annotations

import functools
import platform

from harness.workloads import Load

from peers import Stream, each

label = "an empty call that gives a str"


def version() -> str:
    return platform.python_version()


@functools.cache
def _codes(count: int) -> list[int]:
    return [65] * count


def _detokenize(load: Load) -> Stream:
    codes, call = _codes(len(load.ids)), chr
    return Stream(lambda i: call(codes[i]), lambda _: (load.content, load.arguments), len(load.ids))


WORKS = {"detokenize": each(_detokenize)}
