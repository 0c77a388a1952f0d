"""Runs the parser over one output step by step, and reports what is emitted, open and held back."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from unspool._core import ArgumentReader, Delta
from unspool.core.stream.message import Message
from unspool.errors import UnspoolError
from unspool.formats.format_file import FormatFile
from unspool.serve.playground.regions import regions_of
from unspool.serve.playground.run_request import RunError, RunRequest
from unspool.streams.parser import Parser

__all__ = ["MAX_STEPS", "run", "why_held"]

MAX_STEPS = 5_000
_MAX_SHOWN = 400  # characters of held text in one step
_MAX_MARKERS = 6  # named in one reason

_WHY = {
    "character": "an unfinished character",
    "space": "white space: markup if a marker follows, content if text follows",
    "header": "a header; what follows depends on it",
    "call": "may be a call or content",
    "name": "a call whose name is not complete",
    "key": "a parameter's name that is not complete",
    "value": "a value whose type or end is not known yet",
    "separator": "counts only if another value follows",
    "closing_tag": "ends the value or is part of it, depending on what follows",
    "ids": "its token ids have not arrived yet",
}


def run(request: RunRequest) -> dict[str, Any]:
    """Every step of the parser over the request's text, and the final message.

    Returns:
        `steps`: one dict per piece; the last one is the end of the output. `end` and `emitted` count the text
        that was read and the text that was emitted, in UTF-16 units, as JavaScript's strings do. `arguments`
        lists the values of calls that became known. `regions`: the parts of the text, each with its kind.
        `message`: the whole message.

    Raises:
        RunError: An option is wrong, or there are more steps than `MAX_STEPS`.
    """
    pieces = list(_pieces(request))
    if len(pieces) > MAX_STEPS:
        raise RunError(
            "chunk",
            f"the run has {len(pieces):,} steps, at most {MAX_STEPS:,} are allowed; use larger chunks",
            status=413,
        )
    parser, reader = _parser(request), ArgumentReader()
    units = _units(request.text)
    steps, end, emitted = [], 0, 0
    for piece in pieces:
        deltas = parser.parse_chunk(piece)
        end += len(piece)
        emitted = max(emitted, units[max(0, end - parser.held_bytes)])
        steps.append(_step(parser, reader, _shown(piece), deltas, units[end], emitted))
    message = parser.finish(request.finish_reason)
    steps.append(_step(parser, reader, "", list(message.deltas), units[end], units[end]))
    return {
        "format": request.format.name,
        "steps": steps,
        "regions": regions_of(request.text, message, _parser(request), request.finish_reason),
        "message": _message(message),
    }


def why_held(reason: str, markers: list[str]) -> str:
    """Why text is held back, in words; "" if nothing is."""
    if reason != "marker":
        return _WHY.get(reason, "")
    if not markers:
        return "may be the start of a marker"
    named = list(dict.fromkeys(marker.strip() or repr(marker) for marker in markers))
    if len(named) == 1:
        return f"may be the start of the marker {named[0]}"
    rest = len(named) - _MAX_MARKERS
    listed = "  ".join(named[:_MAX_MARKERS]) + (f"  and {rest} more" if rest > 0 else "")
    return f"may be the start of one of the markers {listed}"


def _parser(request: RunRequest) -> Parser:
    try:  # fixed call ids, so that a link always shows the same result
        return Parser(request.format, request.tools, audit=True, id_seed=1, **request.options)
    except (UnspoolError, TypeError) as error:
        raise RunError("options", str(error)) from None


def _pieces(request: RunRequest) -> Iterator[bytes]:
    if request.chunk == "bytes":
        raw = request.text.encode()
        yield from (raw[i : i + 1] for i in range(len(raw)))
    elif isinstance(request.chunk, int):
        size = request.chunk
        yield from (request.text[i : i + size].encode() for i in range(0, len(request.text), size))
    else:
        yield from (piece.encode() for piece in _token_pieces(request.format, request.text))


def _token_pieces(file: FormatFile, text: str) -> Iterator[str]:
    """Pieces like a tokenizer's: whole markers, words with their space, runs of punctuation."""
    markers = sorted(file.facts.marker_tokens, key=len, reverse=True)
    words = r" ?[^\W\d_]{1,9}|\d{1,3}|\n+| {1,4}|[^\w\s]{1,2}|."
    pattern = "|".join([*map(re.escape, markers), words])
    return (found.group() for found in re.finditer(pattern, text, re.DOTALL))


def _shown(piece: bytes) -> str:
    try:
        return piece.decode()
    except UnicodeDecodeError:
        return "".join(f"\\x{byte:02x}" for byte in piece)


def _units(text: str) -> list[int]:
    """UTF-16 units of the whole characters before each byte."""
    units, count = [0], 0
    for character in text:
        units += [count] * (len(character.encode()) - 1)
        count += 2 if ord(character) > 0xFFFF else 1
        units.append(count)
    return units


def _step(
    parser: Parser, reader: ArgumentReader, piece: str, deltas: list[Delta], end: int, emitted: int
) -> dict[str, Any]:
    step = {
        "piece": piece,
        "end": end,
        "emitted": emitted,
        "region": parser.region,
        "deltas": [_delta(delta) for delta in deltas],
        "arguments": [
            _fields(event, "call", "path", "kind", "text", "is_final") for event in reader.put(deltas)
        ],
        "held": None,
    }
    text, reason = parser.held
    if text:
        held = text.decode(errors="backslashreplace")
        step["held"] = {
            "text": held if len(held) <= _MAX_SHOWN else "…" + held[-_MAX_SHOWN:],
            "bytes": len(text),
            "reason": reason,
            "why": why_held(reason, parser.held_markers),
        }
    return step


def _delta(delta: Delta) -> dict[str, Any]:
    found: dict[str, Any] = {"kind": delta.kind, "text": delta.text, "wire": delta.to_openai() or None}
    for name in ("index", "id", "name", "status", "reason", "finish_reason"):
        value = getattr(delta, name)
        if value is not None and value != "":
            found[name] = value
    return found


def _fields(item: Any, *names: str) -> dict[str, Any]:
    return {name: getattr(item, name) for name in names}


def _message(message: Message) -> dict[str, Any]:
    return {
        "wire": {"message": message.to_openai(), "finish_reason": message.finish_reason},
        **_fields(message, "content", "reasoning", "finish_reason", "hint"),
        "calls": [
            {
                **_fields(call, "id", "name", "arguments", "status", "written_as"),
                "repairs": list(call.repairs),
            }
            for call in message.tool_calls
        ],
        "malformed": [_fields(item, "text", "reason", "index") for item in message.malformed],
        "dropped": [_fields(item, "text", "reason", "index") for item in message.dropped],
    }
