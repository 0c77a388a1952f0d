"""Runs the parser over one output step by step, and records what is emitted, open and held back."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from unspool._core import Delta, Format, ToolSchemas, Vocabulary
from unspool.core.short_repr import short_fields
from unspool.core.stream.message import Message
from unspool.core.stream.message_html import Row, delta_part, escape, message_html, regions_html, steps_html
from unspool.errors import ArgumentError, FormatError, UnspoolError
from unspool.formats.format_file import FormatFile, get_format
from unspool.streams.parser import Parser
from unspool.streams.tracing.deviations import Deviation, find_deviations
from unspool.streams.tracing.held import why_held
from unspool.streams.tracing.regions import regions_of, regions_of_ids

__all__ = ["Step", "Trace", "pieces_of", "trace", "walk"]


@dataclass(frozen=True)
class Step:
    """One piece of the output.

    Attributes:
        piece: The bytes of this step; empty at the end of the output.
        end: The number of bytes read so far.
        emitted: The number of bytes emitted so far, as text or as markup.
        deltas: The deltas that became certain.
        region: The region that is open after the step.
        held, held_reason: The bytes that are held back, and the reason, as in `Parser.held`. `why` has the reason
            in words.
    """

    piece: bytes
    end: int
    emitted: int
    deltas: tuple[Delta, ...]
    region: str
    held: bytes
    held_reason: str
    held_markers: tuple[str, ...]

    @property
    def why(self) -> str:
        """Why text is held back, in words; "" if nothing is held back."""
        return why_held(self.held_reason, self.held_markers)


@dataclass(frozen=True)
class Trace:
    """The record of how an output was parsed. Notebooks show it in colours, as `rich.print` does in a terminal.

    Attributes:
        format: The format's name.
        steps: One step for each piece, and one for the end of the output.
        regions: The parts of the output as (kind, text). The kinds are content, reasoning, marker, whitespace and
            malformed, and in calls "name", "arguments", and "call" for the rest.
        message: The whole message, with its audit.
    """

    format: str
    steps: tuple[Step, ...]
    regions: tuple[tuple[str, str], ...]
    message: Message
    _request: tuple[Any, Any, dict[str, Any]] = field(default=("", None, {}), repr=False, compare=False)

    @functools.cached_property
    def deviations(self) -> list[Deviation]:
        """The places where the markup differs from what the format writes for this message: tolerances that applied.

        Empty if there is a prompt, because part of the markup is in it, or if the format cannot write the message.
        """
        format, tools, options = self._request
        try:
            file = get_format(format) if isinstance(format, str) else format
            if not isinstance(file, FormatFile) or options.get("prompt") is not None:
                return []
            text = file.render(self.message, tools=tools, exact=False)
            return find_deviations(self.regions, trace(text, file, tools).regions)
        except (ArgumentError, FormatError):
            return []

    @property
    def deltas(self) -> list[Delta]:
        """The deltas of all steps."""
        return [delta for step in self.steps for delta in step.deltas]

    @functools.cached_property
    def rows(self) -> list[Row]:
        """The steps for display. Steps that only continue a text, or the text that is held back, share one row."""
        rows: list[Row] = []
        last = ""  # the kind of text that may continue
        for step in self.steps:
            parts = [delta_part(delta) for delta in step.deltas]
            new = Row(_text(step.piece), parts, _text(step.held), step.why)
            goes_on = "" if step.held or len(parts) != 1 else parts[0][0]
            old = rows[-1] if rows else new
            joined = old._replace(piece=old.piece + new.piece, held=new.held)
            if goes_on in _TEXTS and goes_on == last:
                kind, text, reason = old.parts[0]
                rows[-1] = joined._replace(parts=[(kind, text + parts[0][1], reason)])
            elif rows and not parts and old.held and new.held.startswith(old.held) and new.why == old.why:
                rows[-1] = joined
            else:
                rows.append(new)
            last = goes_on
        return rows

    def __repr__(self) -> str:
        return short_fields(self, ("format", "message"))[:-1] + f", steps=<{len(self.steps)}>)"

    def _repr_html_(self) -> str:
        differs = [("differs", escape(item.sentence)) for item in self.deviations[:20]]
        steps = steps_html(len(self.steps), self.rows)
        return message_html(self.message, regions_html(self.regions) + steps, self.format, differs)

    def __rich_console__(self, console: Any, options: Any) -> Iterable[Any]:
        from unspool.streams.tracing.terminal import trace_parts

        return trace_parts(self)


#: Kinds of deltas that often continue the text of the previous delta.
_TEXTS = ("content", "reasoning", "tool_call_arguments", "malformed")


def _text(raw: bytes) -> str:
    return raw.decode(errors="backslashreplace")


def trace(
    output: str | bytes | Sequence[int],
    format: str | FormatFile | Format,
    tools: Iterable[Any] | ToolSchemas | None = None,
    *,
    chunk: str | int = "tokens",
    finish_reason: str = "stop",
    tokenizer: Any = None,
    **options: Any,
) -> Trace:
    """Parse an output step by step; record what each step emits, what it holds back, and why.

    Args:
        output: Text, or (with `tokenizer`) token ids, one step for each id.
        chunk: How text is split: "tokens" (pieces like a tokenizer's), "bytes", or a number of characters.
        format, tools, tokenizer, options: See `Parser`.
        finish_reason: Why generation ended, as in `Parser.finish`.

    Raises:
        ArgumentError: `chunk` is invalid, or as in `Parser`.
    """
    # Fixed call ids, so that the same output always has the same trace.
    options = {"id_seed": 1, **options, "audit": True, "tokenizer": tokenizer}
    pieces = list(pieces_of(output, chunk, format))
    if isinstance(output, (str, bytes)):
        parser = Parser(format, tools, **options)
        steps = tuple(walk(parser, pieces, pieces, finish_reason))
        message = parser.finish()
        text = b"".join(pieces).decode(errors="replace")
        regions = regions_of(text, message, Parser(format, tools, **options), finish_reason)
    else:
        parser = Parser(format, tools, labels=True, **options)
        vocabulary = Vocabulary.from_tokenizer(tokenizer)
        texts = [vocabulary.token_bytes(id) for id in output]
        steps = tuple(walk(parser, [[id] for id in output], texts, finish_reason))
        message = parser.finish()
        regions = regions_of_ids(texts, message)
    return Trace(parser._format, steps, tuple(regions), message, (format, tools, options))


def pieces_of(output: str | bytes | Sequence[int], chunk: str | int, format: Any) -> Iterator[bytes]:
    """Split a text into the bytes of the steps; return nothing for token ids.

    Raises:
        ArgumentError: `chunk` is neither "tokens", "bytes" nor a number above 0; or the text has a lone surrogate.
    """
    is_count = isinstance(chunk, int) and not isinstance(chunk, bool) and chunk > 0
    if chunk not in ("tokens", "bytes") and not is_count:
        raise ArgumentError(f"chunk is {chunk!r}; use 'tokens', 'bytes' or a number of characters")
    if not isinstance(output, (str, bytes)):
        return
    try:
        raw = output.encode() if isinstance(output, str) else output
    except UnicodeEncodeError:
        raise ArgumentError("the text has a lone surrogate; remove it, or pass bytes") from None
    text = raw.decode("utf-8", "surrogateescape")  # preserves bytes that are not UTF-8
    if chunk == "bytes":
        yield from (raw[i : i + 1] for i in range(len(raw)))
        return
    parts = (
        (text[i : i + chunk] for i in range(0, len(text), chunk))
        if isinstance(chunk, int)
        else _token_pieces(_markers(format), text)
    )
    yield from (part.encode("utf-8", "surrogateescape") for part in parts)


def _token_pieces(markers: Iterable[str], text: str) -> Iterator[str]:
    """Split a text into pieces like a tokenizer's: whole markers, words with their space, runs of punctuation."""
    words = r" ?[^\W\d_]{1,9}|\d{1,3}|\n+| {1,4}|[^\w\s]{1,2}|."
    pattern = "|".join([*map(re.escape, sorted(markers, key=len, reverse=True)), words])
    return (found.group() for found in re.finditer(pattern, text, re.DOTALL))


def _markers(format: Any) -> Iterable[str]:
    try:
        file = get_format(format) if isinstance(format, str) else format
    except UnspoolError:  # such as "auto"
        return ()
    return file.facts.marker_tokens if isinstance(file, FormatFile) else ()


def walk(parser: Parser, pieces: Iterable[Any], texts: Iterable[bytes], finish_reason: str) -> Iterator[Step]:
    """Feed the pieces to a parser; yield each step, and one for the end of the output."""
    end = emitted = 0

    def step(text: bytes, deltas: Iterable[Delta]) -> Step:
        held, reason = parser.held
        markers = tuple(parser.held_markers)
        return Step(text, end, emitted, tuple(deltas), parser.region, held, reason, markers)

    for piece, text in zip(pieces, texts, strict=True):
        deltas = parser.parse_chunk(piece) if isinstance(piece, bytes) else parser.parse_chunk(None, piece)
        end += len(text)
        emitted = max(emitted, end - parser.held_bytes)
        yield step(text, deltas)
    deltas = parser.parse_chunk(None, None, finish_reason)
    emitted = end
    yield step(b"", deltas)
