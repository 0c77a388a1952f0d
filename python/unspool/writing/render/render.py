"""Renders a message, parses it again, and raises an error if the result is another message."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from unspool._core import FormatSource, ToolSchemas, Vocabulary
from unspool.core.format.compile_format import compile_format
from unspool.core.stream.message import Message
from unspool.core.stream.reading import read_chunks
from unspool.core.stream.tool_schemas import compile_tools
from unspool.core.vocabulary.vocabulary_sources import from_tokenizer
from unspool.errors import ArgumentError
from unspool.writing.render.calls_writer import CallsWriter
from unspool.writing.render.encode import Encode, encode_written
from unspool.writing.render.given_answer import Answer, read_answer
from unspool.writing.render.pieces import Written, text_of
from unspool.writing.render.read_back import what_differs
from unspool.writing.render.way import way_of_form, ways_of
from unspool.writing.render.write import write_answer

__all__ = ["render_ids", "render_text", "write_text"]

_Output = TypeVar("_Output", str, list[int])

Tools = Iterable[Any] | ToolSchemas | None


def render_text(
    file: FormatSource,
    message: Message | Mapping[str, Any],
    *,
    tools: Tools = None,
    continues: bool = False,
    exact: bool = True,
) -> str:
    """See `FormatFile.render`."""
    return _first_right(file, message, tools, continues, exact, text_of)


def render_ids(
    file: FormatSource,
    message: Message | Mapping[str, Any],
    vocabulary: Any,
    encode: Encode,
    *,
    tools: Tools = None,
    continues: bool = False,
    exact: bool = True,
) -> list[int]:
    """See `FormatFile.render_ids`."""
    table = from_tokenizer(vocabulary)

    def make(written: Written) -> list[int]:
        return encode_written(written, file, table, encode)

    return _first_right(file, message, tools, continues, exact, make, table)


def write_text(
    file: FormatSource, message: Message | Mapping[str, Any], form: int = 0, *, continues: bool = True
) -> str:
    """Render a message with the format's first alternatives, without the check that it parses back.

    Parts for which the format has no pattern are omitted.

    Args:
        form: Index of the format's form of calls, modulo their number.
        continues: See `FormatFile.render`.
    """
    shape, answer = file.shape, read_answer(message)
    if not file.has_tools:
        answer = replace(answer, calls=())
    if not file.has_reasoning:
        answer = replace(answer, reasoning="")
    return text_of(write_answer(shape, answer, way_of_form(shape, answer, form), continues))


def _first_right(
    file: FormatSource,
    message: Message | Mapping[str, Any],
    tools: Tools,
    continues: bool,
    exact: bool,
    make: Callable[[Written], _Output],
    vocabulary: Vocabulary | None = None,
) -> _Output:
    """Return the first rendering that parses back to the message, without a prompt."""
    answer, schemas = _checked(file, message), compile_tools(tools)
    format, shape, first_difference = compile_format(file, vocabulary=vocabulary), file.shape, None
    for way in ways_of(shape, answer):
        output = make(write_answer(shape, answer, way, continues))
        ids = CallsWriter(shape, way.form).ids(answer.calls) if way.form else ()
        read = read_chunks(format, [output], schemas, vocabulary=vocabulary)
        difference = what_differs(answer, read, exact, ids)
        if difference is None:
            return output
        first_difference = first_difference or difference
    raise ArgumentError(f"the format '{file.name}' cannot write {first_difference or 'this message'}")


def _checked(file: FormatSource, message: Message | Mapping[str, Any]) -> Answer:
    """Return the message's parts; raise ArgumentError if the format has no pattern for one of them."""
    answer = read_answer(message)
    if answer.reasoning and not file.has_reasoning:
        raise ArgumentError(f"the format '{file.name}' has no reasoning; leave it out, or use with_reasoning")
    if answer.calls and not file.has_tools:
        raise ArgumentError(f"the format '{file.name}' has no calls; leave them out")
    return answer
