"""Finds out why an output has no call: where the format stopped parsing one, and which formats and options parse it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from unspool._core import Delta, ToolSchemas
from unspool.core.short_repr import short_list
from unspool.core.stream.message import Message, ToolCall
from unspool.core.stream.tool_schemas import compile_tools
from unspool.errors import UnspoolError
from unspool.formats.format_file import FormatFile, formats, get_format
from unspool.streams.parser import Parser
from unspool.streams.tracing.trace import Step, pieces_of, walk
from unspool.streams.wrong_format import MAY_BEGIN

__all__ = ["Diagnosis", "Reader", "Stop", "find_reader", "why"]

#: Text that is held for one of these reasons may have been a call.
_CANDIDATES = ("marker", "name", "call", "header", "space")
_TEXTS = ("content", "reasoning", "malformed")
#: Fewer characters of a marker than this do not count as an attempt to write it.
_LEAST = 3
_MOST_STOPS = 5

#: The options that are tried with the format itself.
_OPTIONS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("repair=True", {"repair": True}),
    ("unmarked_calls=True", {"unmarked_calls": True}),
    ("tool_calls_in_reasoning='end'", {"tool_calls_in_reasoning": "end"}),
    ("calls_in_fences='call'", {"calls_in_fences": "call"}),
    ("start_in='content'", {"start_in": "content"}),
)


@dataclass(frozen=True)
class Stop:
    """A place where text looked like a call but was not one.

    Attributes:
        start: Offset of the first byte that looked like a call.
        place: Offset of the first byte that did not fit; the output's length if it ended too early.
        rule: The reason why it did not fit.
    """

    start: int
    place: int
    rule: str


@dataclass(frozen=True)
class Reader:
    """Formats that parse complete calls from the output, all with the same result.

    Attributes:
        formats: The formats' names, best first.
        message: The message that they return.
        calls: The calls that are complete and, if there are tools, name one of them and fit its schema.
    """

    formats: tuple[str, ...]
    message: Message
    calls: tuple[ToolCall, ...]


@dataclass(frozen=True)
class Diagnosis:
    """The result of `why`.

    Attributes:
        format: The name of the format in question; None if none was given.
        message: The message that this format returns.
        calls: The calls in it that are complete and fit the tools.
        stops: The places where the format stopped parsing a call, in the order of the output; at most five.
        options: Options of `Parser` with which the format parses a call.
        readers: Other formats that parse calls, best first.
        output: The output that was parsed.
    """

    format: FormatFile | None
    message: Message | None
    calls: tuple[ToolCall, ...]
    stops: tuple[Stop, ...]
    options: tuple[str, ...]
    readers: tuple[Reader, ...]
    output: bytes

    def __repr__(self) -> str:
        reads = "" if self.format is None else f"format={self.format.name!r}, calls={len(self.calls)}, "
        stops = f"stops={short_list(self.stops)}, options={short_list(self.options)}, "
        names = [reader.formats[0] for reader in self.readers]
        return f"Diagnosis({reads}{stops}readers={short_list(names)})"

    def __rich_console__(self, console: Any, options: Any) -> Iterable[Any]:
        from unspool.streams.tracing.why_terminal import diagnosis_parts

        return diagnosis_parts(self)


def why(
    output: str | bytes,
    format: str | FormatFile | None = None,
    tools: Iterable[Any] | ToolSchemas | None = None,
    *,
    finish_reason: str = "stop",
    **options: Any,
) -> Diagnosis:
    """Find out why an output has no call: where its format stopped, and which formats and options parse it.

    Args:
        output: The output, as text or bytes.
        format: The format that found no call. None: only look for formats that find one.
        tools: The request's tools. If given, calls count only if they name a tool and fit its schema.
        finish_reason: Why generation ended.
        options: Options of `Parser`, for `format`.

    Raises:
        UnknownFormatError: No format has this name.
        ArgumentError: An option or a tool is invalid.
    """
    schemas = compile_tools(tools)
    file = get_format(format) if isinstance(format, str) else format
    raw = b"".join(pieces_of(output, "bytes", None))
    readers = _readers(raw, schemas, finish_reason, file)
    if file is None:
        return Diagnosis(None, None, (), (), (), readers, raw)
    parser = Parser(file, schemas, **options)
    stops = tuple(_stops(parser, raw, finish_reason, _openers(file)))
    message = parser.message
    calls = _fitting(message, schemas)
    helping = [
        name
        for name, option in _OPTIONS
        if len(_fitting(_parsed(raw, file, schemas, finish_reason, {**options, **option}), schemas))
        > len(calls)
    ]
    return Diagnosis(file, message, calls, stops, tuple(helping), readers, raw)


def find_reader(content: str) -> str | None:
    """Return the format that parses a call in text that another format left as content; None if there is none."""
    if not MAY_BEGIN.search(content):
        return None
    readers = _readers(content.encode(), None, "stop", None)
    return readers[0].formats[0] if readers else None


def _parsed(raw: bytes, file: FormatFile, tools: Any, finish_reason: str, options: dict[str, Any]) -> Message:
    try:
        parser = Parser(file, tools, **options)
    except UnspoolError:  # the options contradict each other
        parser = Parser(file, tools)
    parser.parse_chunk(raw, None, finish_reason)
    return parser.message  # without the hints of `finish`


def _fitting(message: Message, tools: ToolSchemas | None) -> tuple[ToolCall, ...]:
    return tuple(call for call in message.tool_calls if call.is_complete and _fits(call, tools))


def _fits(call: ToolCall, tools: ToolSchemas | None) -> bool:
    if tools is None:
        return True
    try:
        return call.name in tools and not call.violations
    except UnspoolError:  # jsonschema is missing
        return True


def _readers(
    raw: bytes, tools: ToolSchemas | None, finish_reason: str, own: FormatFile | None
) -> tuple[Reader, ...]:
    """Formats that parse calls: most calls first, then those that write such an output, then those of most models."""
    by_message: dict[Any, list[tuple[tuple[Any, ...], str, Message]]] = {}
    for file in formats():
        if not file.has_tools or file == own:
            continue
        message = _parsed(raw, file, tools, finish_reason, {"id_seed": 1})
        fitting = len(_fitting(message, tools))
        if fitting:
            calls = tuple((call.name, call.arguments, call.status) for call in message.tool_calls)
            broken = len(message.tool_calls) - fitting + len(message.malformed)
            rank = (-fitting, broken, *_unlike(file, message, tools, raw), -len(file.models))
            by_message.setdefault((message.content, message.reasoning, calls), []).append(
                (rank, file.name, message)
            )
    groups = [sorted(group, key=lambda item: item[:2]) for group in by_message.values()]
    groups.sort(key=lambda group: group[0][:2])
    return tuple(
        Reader(tuple(name for _, name, _ in group), group[0][2], _fitting(group[0][2], tools))
        for group in groups
    )


def _unlike(
    file: FormatFile, message: Message, tools: ToolSchemas | None, raw: bytes
) -> tuple[bool, int, int]:
    """Compare the output with the text that the format writes for the message, without white space.

    Returns:
        Whether they differ; the length of the arguments, which grows if markup was parsed as a value; and the
        difference of the two lengths.
    """
    output = "".join(raw.decode(errors="replace").split())
    values = sum(len(call.arguments) for call in message.tool_calls)
    try:
        written = "".join(file.render(message, tools=tools, exact=False).split())
    except UnspoolError:
        return True, values, len(output)
    return written != output, values, abs(len(written) - len(output))


def _openers(file: FormatFile) -> frozenset[str]:
    facts = file.facts
    return frozenset([*facts.section_openers, *(text for call in facts.calls for text in call.openers)])


def _stops(parser: Parser, raw: bytes, finish_reason: str, openers: frozenset[str]) -> Iterator[Stop]:
    """Parse byte by byte; yield each place where text was held back as a possible call and then became text."""
    before: Step | None = None
    reason: str | None = None  # of the malformed text that is open
    pieces = [raw[at : at + 1] for at in range(len(raw))]
    count = 0
    for step in walk(parser, pieces, pieces, finish_reason):
        held = before.held if before else b""
        place = step.end - len(step.piece)
        for delta in step.deltas:
            rule = _rule(delta, before, openers) if delta.reason is None or delta.reason != reason else None
            if delta.kind != "finish":
                reason = delta.reason if delta.kind == "malformed" else None
            if rule and count < _MOST_STOPS:
                count += 1
                yield Stop(place - len(held), place, rule)
        before = step


def _rule(delta: Delta, before: Step | None, openers: frozenset[str]) -> str | None:
    """Return why no call was parsed, if a delta shows that; else None."""
    if delta.kind in ("malformed", "dropped"):
        return delta.reason
    if delta.kind == "tool_call_end" and delta.status == "incomplete":
        return "the output ends inside the call"
    if before is None or delta.kind not in _TEXTS or not before.held or before.held_reason not in _CANDIDATES:
        return None
    text = before.held.decode(errors="replace")
    if not delta.text.startswith(text) or len(text.strip()) < _LEAST:
        return None
    if before.held_reason != "marker":
        return "no call follows the opener"
    near = [marker for marker in before.held_markers if marker in openers]
    return f"the opener {near[0].strip()!r} is not complete" if near else None
