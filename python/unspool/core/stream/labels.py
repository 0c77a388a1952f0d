"""The label of each token of an answer."""

from __future__ import annotations

import array
import functools
import itertools
from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple

from unspool.errors import ArgumentError

__all__ = ["REGIONS", "LabelSpan", "Labels", "Region"]

Region = Literal["content", "reasoning", "markup", "name", "arguments", "end", "skipped"]
Path = tuple[str | int, ...]

#: The names of the numbers in `Labels.regions`.
REGIONS: tuple[Region, ...] = ("content", "reasoning", "markup", "name", "arguments", "end", "skipped")
OVERLAPS = ("any", "first", "inside")


class LabelSpan(NamedTuple):
    """Consecutive tokens with one label.

    Attributes:
        start, end: The half-open range of tokens.
        region: The tokens' region.
        call: The index of the call, or None.
        path: For arguments: the keys and indices that lead from the call's arguments to the value.
    """

    start: int
    end: int
    region: Region
    call: int | None
    path: Path


class _Run(NamedTuple):
    """Consecutive bytes with one label, up to the beginning of the next run."""

    token: int
    is_inside: int  # 1: begins inside the token
    region: int
    call: int
    path: int


class Labels:
    """The label of each token: its region, its call, and the path of the value that it belongs to.

    A token has the label of its first byte. The region of a marker is "markup". A marker belongs to the call that
    it opens or closes, if the call has an opener of its own. Arrays are NumPy arrays, or `array.array` if NumPy is
    not installed. Do not modify them; NumPy's are read-only.

    Attributes:
        regions: uint8, one entry per token: an index into `REGIONS`.
        calls: int32: the index of the call, or -1.
        is_mixed: bool (uint8 without NumPy): the token also has bytes of another region or call.
        complete_calls: For each call of the message, whether it is complete.
        is_final: Whether the stream has ended, so that every token has its label.
    """

    def __init__(
        self,
        regions: bytes,
        calls: bytes,
        mixed: bytes,
        runs: tuple[bytes, bytes, bytes, bytes, bytes],
        paths: list[tuple[int, str | int]],
        complete_calls: tuple[bool, ...],
        is_final: bool,
    ) -> None:
        self._columns = (regions, calls, mixed)
        self._run_columns = runs
        self._nodes = paths
        self.complete_calls = complete_calls
        self.is_final = is_final

    def __len__(self) -> int:
        return len(self._columns[0])

    def __repr__(self) -> str:
        return f"Labels({', '.join(f'{name}={count}' for name, count in self.counts().items() if count)})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Labels):
            return NotImplemented
        mine, its = (
            (labels._columns, labels._byte_runs(), labels.complete_calls, labels.is_final)
            for labels in (self, other)
        )
        return mine == its

    __hash__ = None  # type: ignore[assignment]

    @functools.cached_property
    def regions(self) -> Any:
        """An index into `REGIONS` for each token."""
        return _column(self._columns[0], "uint8", "B")

    @functools.cached_property
    def calls(self) -> Any:
        """The index of the call for each token, or -1."""
        return _column(self._columns[1], "int32", "i")

    @functools.cached_property
    def is_mixed(self) -> Any:
        """For each token, whether it also has bytes of another region or call."""
        return _column(self._columns[2], "bool", "B")

    @property
    def settled(self) -> int:
        """The number of tokens with a final label; all tokens once the stream has ended."""
        return len(self)

    @functools.cached_property
    def spans(self) -> list[LabelSpan]:
        """The labels of all tokens; consecutive tokens with the same label are one span."""
        spans: list[LabelSpan] = []
        for run, (end, is_inside) in self._runs_and_ends():
            start, stop = run.token + run.is_inside, end + is_inside
            if start < stop:
                call = None if run.call < 0 else run.call
                spans.append(LabelSpan(start, stop, REGIONS[run.region], call, self._paths[run.path]))
        return spans

    def counts(self) -> dict[Region, int]:
        """The number of tokens in each region."""
        return {name: self._columns[0].count(number) for number, name in enumerate(REGIONS)}

    def tokens(
        self,
        path: Sequence[str | int] | None = None,
        *,
        call: int | None = None,
        region: Region | None = None,
        overlap: Literal["any", "first", "inside"] = "any",
    ) -> list[int]:
        """Return the positions of the tokens that match, in order.

        Args:
            path: A value in the arguments, including everything inside it; () is all arguments. None: any
                region.
            call: The index of the call.
            region: The region of the tokens.
            overlap: "any": some byte of the token matches; "first": its first byte; "inside": all its bytes.

        Raises:
            ArgumentError: An argument has an invalid value.
        """
        if overlap not in OVERLAPS:
            raise ArgumentError(f"overlap is '{overlap}'; use 'any', 'first' or 'inside'")
        if region is not None and region not in REGIONS:
            raise ArgumentError(f"region is '{region}'; use one of {', '.join(REGIONS)}")
        if isinstance(path, (str, bytes)):
            raise ArgumentError(f"path is the text {path!r}; pass its steps: ({path!r},)")
        steps = None if path is None else tuple(path)
        positions: list[int] = []
        for matches, group in itertools.groupby(
            self._runs_and_ends(), lambda item: self._matches(item[0], steps, call, region)
        ):
            if matches:
                runs = list(group)
                first, (end, is_inside) = runs[0][0], runs[-1][1]
                start = first.token + (first.is_inside if overlap != "any" else 0)
                stop = end + (is_inside if overlap != "inside" else 0)
                start = max(start, positions[-1] + 1) if positions else start
                positions += range(start, stop)
        return positions

    def _matches(self, run: _Run, path: Path | None, call: int | None, region: Region | None) -> bool:
        if call is not None and run.call != call:
            return False
        if region is not None and REGIONS[run.region] != region:
            return False
        return path is None or (
            REGIONS[run.region] == "arguments" and self._paths[run.path][: len(path)] == path
        )

    def _runs_and_ends(self) -> Iterator[tuple[_Run, tuple[int, int]]]:
        runs = self._runs
        for run, after in itertools.zip_longest(runs, runs[1:]):
            yield run, (after.token, after.is_inside) if after else (len(self), 0)

    def _byte_runs(self) -> list[tuple[int, int, int, int, Path]]:
        return [(*run[:4], self._paths[run.path]) for run in self._runs]

    @functools.cached_property
    def _runs(self) -> list[_Run]:
        columns = (array.array(code, data) for code, data in zip("qBBii", self._run_columns, strict=True))
        return [_Run(*row) for row in zip(*columns, strict=True)]

    @functools.cached_property
    def _paths(self) -> list[Path]:
        paths: list[Path] = [()]
        for parent, step in self._nodes[1:]:
            paths.append((*paths[parent], step))
        return paths


def _column(data: bytes, dtype: str, code: str) -> Any:
    try:
        import numpy
    except ImportError:
        return array.array(code, data)
    return numpy.frombuffer(data, dtype)
