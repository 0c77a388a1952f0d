"""One file a peer: `label`, `version()`, and `WORKS`, a function a work.

A work gets the loads of all streams and gives `Streams`: what the harness calls, and how to read what it gave. The harness
times the calls alone. `Absent` says that the peer cannot do that work.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

from harness.workloads import Load

Answer = tuple[str, str]  # the content; the arguments of its call as JSON, or nothing


class Absent(Exception):
    """The peer has no such work or format."""


class Stream(NamedTuple):
    """One stream: what reads its token at a place, and what the outputs of all places say."""

    step: Callable[[int], Any]
    answer: Callable[[list[Any]], Answer]
    places: int


class Streams(NamedTuple):
    """All streams. A step is for one of them or, in a batch, for all."""

    steps: list[Callable[[int], Any]]
    answers: Callable[[list[list[Any]]], list[Answer]]
    places: int


Work = Callable[[list[Load]], Streams]


def each(make: Callable[[Load], Stream]) -> Work:
    """A work whose streams are fed one after the other."""

    def work(loads: list[Load]) -> Streams:
        streams = [make(load) for load in loads]
        return Streams(
            [stream.step for stream in streams],
            lambda outputs: [stream.answer(out) for stream, out in zip(streams, outputs, strict=True)],
            streams[0].places,
        )

    return work


def once(read: Callable[[Load], Any], answer: Callable[[Any], Answer]) -> Work:
    """A work that reads whole outputs, one after the other, in one call of the harness."""

    def work(loads: list[Load]) -> Streams:
        return Streams(
            [lambda _: [read(load) for load in loads]],
            lambda outputs: [answer(out) for out in outputs[0][0]],
            1,
        )

    return work


def makes(make: Callable[[Load], Any]) -> Work:
    """A work that makes a stream at each place; a load is the tools of one request."""

    def work(loads: list[Load]) -> Streams:
        asked = [_renewed(load) if load.renews else load for load in loads]
        return Streams([lambda i: make(asked[i])], lambda _: [], len(asked))

    return work


_numbers = itertools.count()


def _renewed(load: Load) -> Load:
    """With tools that nobody has seen."""
    tools = copy.deepcopy(load.tools)
    for tool in tools:
        tool["function"]["name"] += f"_{next(_numbers)}"
    return replace(load, tools=tools)
