"""Parses many whole outputs in one native call."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Iterable, Mapping, Set
from typing import TYPE_CHECKING, Any

from unspool._core import Format, ToolSchemas
from unspool.core.stream.stream_recipe import recipe_options, with_defaults
from unspool.core.stream.tool_schemas import compile_tools
from unspool.errors import ArgumentError
from unspool.formats.format_file import FormatFile
from unspool.streams.choose_recipe import choose_recipe

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from unspool.core.stream.message import Message
    from unspool.core.stream.parser_options import ParserOptions

__all__ = ["BatchParser", "parse_batch"]


def parse_batch(
    outputs: Iterable[Any],
    format: str | FormatFile | Format,
    tools: Iterable[Any] | ToolSchemas | None = None,
    *,
    finish_reason: str | Iterable[str] = "stop",
    threads: int = 1,
    **options: Unpack[ParserOptions],
) -> list[Message]:
    """Parse whole outputs in a single native call that releases the GIL; see `parse` for one output.

    Args:
        outputs: Texts or token ids, one item per output: a list of str, bytes, lists of ints or arrays; a
            NumPy array of texts, or a two-dimensional one with one unpadded row per output; a pyarrow Array
            or ChunkedArray of texts or of lists of ids. Ids need a `tokenizer`.
        format, tools: See `Parser`; the same for all outputs.
        finish_reason: Why generation ended, one reason for all outputs or one for each: "stop", "length", "error"
            or "cancelled".
        threads: Number of threads. The default is 1, because jobs with many outputs usually run one worker
            per core already; a job that owns its machine passes `os.cpu_count()`.
        options: Options of `Parser`; the same for all outputs.

    Returns:
        One message per output, in order. The messages equal those of `parse`, except that `deltas` is empty.

    Raises:
        TypeError, ArgumentError: An argument is invalid; the message gives the index of a bad output. Nothing
            has been parsed then. Malformed model output never raises.
        UnknownFormatError, VocabularyError: As in `Parser`.
    """
    return BatchParser(format, tools, threads=threads, **options).parse(outputs, finish_reason)


class BatchParser:
    """Runs `parse_batch` repeatedly; compiles the format and the tokenizer once.

    Thread-safe.

    Args:
        format, tools, threads, options: See `parse_batch`.

    Raises:
        ArgumentError, UnknownFormatError, VocabularyError: As in `parse_batch`.
    """

    def __init__(
        self,
        format: str | FormatFile | Format,
        tools: Iterable[Any] | ToolSchemas | None = None,
        *,
        threads: int = 1,
        **options: Unpack[ParserOptions],
    ) -> None:
        if isinstance(threads, bool) or (threads := operator.index(threads)) < 1:
            raise ArgumentError(f"threads is {threads}; pass 1 or more")
        self._threads = threads
        all_options = with_defaults(options)
        schemas = compile_tools(tools)
        recipe = choose_recipe(format, schemas, all_options["tokenizer"], recipe_options(all_options))
        self._recipe = recipe.native.for_request(schemas, all_options["prompt"])
        self._reasoning_field = all_options["reasoning_field"]

    def parse(self, outputs: Iterable[Any], finish_reason: str | Iterable[str] = "stop") -> list[Message]:
        """Parse whole outputs; see `parse_batch`."""
        reasons = finish_reason if isinstance(finish_reason, str) else _rows(finish_reason, "finish_reason")
        return self._recipe.parse(_rows(outputs, "outputs"), reasons, self._threads, self._reasoning_field)


def _rows(column: Any, name: str) -> tuple[Any, ...]:
    """The items of a list, a NumPy array, or a pyarrow column."""
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
    """The items of a pyarrow column; lists of ids become views of its memory."""
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
