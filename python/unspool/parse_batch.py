"""Many whole outputs in one native call."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Iterable, Mapping, Set
from typing import Any

from unspool._core import Format, ToolSchemas
from unspool.errors import ArgumentError
from unspool.format_files import FormatFile
from unspool.message import Message
from unspool.stream_recipe import make_recipe, with_defaults

__all__ = ["BatchParser", "parse_batch", "read_thread_count"]


def parse_batch(
    outputs: Iterable[Any],
    format: str | FormatFile | Format,
    tools: Iterable[Any] | ToolSchemas | None = None,
    *,
    finish_reason: str | Iterable[str] = "stop",
    threads: int = 1,
    **options: Any,
) -> list[Message]:
    """Parse whole outputs, as `parse` does it for one, in a single native call without the GIL.

    Args:
        outputs: A text or the token ids of each: a list of str, bytes, lists of ints or arrays; a NumPy array
            of texts, or of two dimensions, a row each, without padding; a pyarrow Array or ChunkedArray of
            texts or of lists of ids. Ids need a `tokenizer` to become text, and are refused without.
        format, tools: As of `Parser`; the same for all.
        finish_reason: Why generation ended, for all or for each: "stop", "length", "error" or "cancelled".
        threads: How many threads share the work. 1, since who has many outputs has a worker on each core
            already, most of the time; a job that owns its machine passes `os.cpu_count()`.
        options: The parser's; the same for all.

    Returns:
        A message for each output, in order; what `parse` gives, but for `deltas`, which are empty.

    Raises:
        TypeError, ArgumentError: An argument is bad, and if it is an output, which one. Nothing has been
            parsed then. What a model wrote is never an error.
        UnknownFormatError, VocabularyError: As of `Parser`.
    """
    return BatchParser(format, tools, threads=threads, **options).parse(outputs, finish_reason)


class BatchParser:
    """`parse_batch` for one batch after the other: the format and the tokenizer are compiled once.

    May be used by several threads at a time.

    Args:
        format, tools, threads, options: As of `parse_batch`.

    Raises:
        ArgumentError, UnknownFormatError, VocabularyError: As of `parse_batch`.
    """

    def __init__(
        self,
        format: str | FormatFile | Format,
        tools: Iterable[Any] | ToolSchemas | None = None,
        *,
        threads: int = 1,
        **options: Any,
    ) -> None:
        self._threads = read_thread_count(threads)
        given = with_defaults(format, tools, options)
        self._recipe, _, _ = make_recipe(given)
        self._reasoning_field = given["reasoning_field"]

    def parse(self, outputs: Iterable[Any], finish_reason: str | Iterable[str] = "stop") -> list[Message]:
        """Parse whole outputs, as `parse_batch`."""
        reasons = finish_reason if isinstance(finish_reason, str) else _rows(finish_reason, "finish_reason")
        return self._recipe.parse(_rows(outputs, "outputs"), reasons, self._threads, self._reasoning_field)


def read_thread_count(threads: int) -> int:
    """An argument `threads`. Raises ArgumentError: it is below 1."""
    if isinstance(threads, bool) or (threads := operator.index(threads)) < 1:
        raise ArgumentError(f"threads is {threads}; pass 1 or more")
    return threads


def _rows(column: Any, name: str) -> tuple[Any, ...]:
    """The items of a list, of an array of NumPy's, or of a column of pyarrow's."""
    if isinstance(column, (str, bytes, bytearray, memoryview, Mapping, Set)) or not isinstance(
        column, Iterable
    ):
        raise TypeError(f"{name} is of type {type(column).__name__}; pass a list, an item for each output")
    if hasattr(column, "to_pylist"):
        return _arrow_rows(column)
    if getattr(column, "ndim", 1) == 0:
        raise TypeError(f"{name} is a single value; pass a list, an item for each output")
    return tuple(column)


def _arrow_rows(column: Any) -> tuple[Any, ...]:
    """Lists of ids stay arrays, views of pyarrow's memory."""
    rows: list[Any] = []
    for chunk in column.chunks if hasattr(column, "chunks") else [column]:
        if hasattr(chunk, "storage"):  # an extension type, such as Ray's tensors
            rows.extend(chunk.to_numpy(zero_copy_only=False))
        elif hasattr(chunk, "offsets") and not hasattr(chunk, "sizes") and not chunk.null_count:
            ids = chunk.values.to_numpy(zero_copy_only=False)
            offsets = chunk.offsets.to_pylist()
            rows += [ids[begin:end] for begin, end in itertools.pairwise(offsets)]
        else:
            rows += chunk.to_pylist()
    return tuple(rows)
