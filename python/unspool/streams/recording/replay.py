"""Parses a record again, with the current parser. A record may come from anyone, so nothing in it is trusted."""

from __future__ import annotations

import itertools
import json
import operator
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unspool._core import Vocabulary
from unspool.errors import ArgumentError
from unspool.formats.format_file import FormatFile
from unspool.streams.parser import Parser
from unspool.streams.recording.recorded_answer import message_data

__all__ = ["Replay", "load_record", "replay"]

MOST_BYTES = 64 << 20
_KINDS: dict[str, type | tuple[type, ...]] = {
    "format": str, "options": dict, "prompt": (str, type(None)), "tools": (list, type(None)), "markers": dict,
    "tokens": list, "message": dict,
}  # fmt: skip
_FIELDS: dict[str, type | tuple[type, ...]] = {
    "content": str, "reasoning": str, "calls": list, "malformed": list, "dropped": list,
    "finish_reason": (str, type(None)),
}  # fmt: skip


@dataclass(frozen=True)
class Replay:
    """One answer, parsed again.

    Attributes:
        format: The format's name.
        input: The output as text.
        recorded, found: The recorded message and the new one, as plain data.
        regions: (kind, text) for each part of the output, in order.
        tools, options: See `Parser`; the options include the prompt's end.
    """

    format: str
    input: str
    recorded: Mapping[str, Any]
    found: Mapping[str, Any]
    regions: tuple[tuple[str, str], ...]
    tools: list[Any] | None
    options: Mapping[str, Any]

    @property
    def differences(self) -> dict[str, tuple[Any, Any]]:
        """(recorded, found) for each field that differs, by its name."""
        return {
            name: (self.recorded[name], self.found[name])
            for name in _FIELDS
            if self.recorded[name] != self.found[name]
        }


def load_record(path: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """Read and check the answers in a record.

    Raises:
        ArgumentError: The file is not a record, or is larger than 64 MiB.
    """
    with Path(path).open("rb") as file:
        data = file.read(MOST_BYTES + 1)
    name = Path(path).name
    if len(data) > MOST_BYTES:
        raise ArgumentError(f"{name} is larger than {MOST_BYTES >> 20} MiB; no record is")
    try:
        record = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ArgumentError(f"{name} is no record: {error or 'it nests too deep'}") from None
    answers = record.get("answers") if isinstance(record, dict) and record.get("record") == 1 else None
    if not isinstance(answers, list) or not answers:
        raise ArgumentError(
            f"{name} is no record with answers; pass a file that 'unspool serve --record' wrote"
        )
    for at, answer in enumerate(answers):
        _check(answer, _KINDS, f"{name}: answers[{at}]")
        _check(answer["message"], _FIELDS, f"{name}: answers[{at}].message")
        for place, token in enumerate(answer["tokens"]):
            id, space, _ = token.partition(" ") if isinstance(token, str) else ("", "", "")
            if not space or (id != "-" and not (id.isascii() and id.isdecimal())):
                raise ArgumentError(
                    f"{name}: answers[{at}].tokens[{place}] is not an id (or -), a blank and a text"
                )
    return answers


def _check(value: Any, kinds: Mapping[str, Any], path: str) -> None:
    if not isinstance(value, dict):
        raise ArgumentError(f"{path} is no object")
    for name, kind in kinds.items():
        if not isinstance(value.get(name), kind):
            raise ArgumentError(f"{path}.{name} is missing or of the wrong type")


def replay(answer: Mapping[str, Any], format: str | FormatFile | None = None) -> Replay:
    """Parse a record's answer again, by token ids if it has them.

    Args:
        answer: An answer that `load_record` returned.
        format: The format to use instead of the recorded one, which may be a private file of the server.

    Raises:
        UnspoolError: The format does not exist, or an option is invalid.
        TypeError: An option does not exist.
    """
    options = {**answer["options"], "prompt": answer["prompt"]}
    pieces = [token.partition(" ")[::2] for token in answer["tokens"]]
    by_id = any(id != "-" for id, _ in pieces)
    vocabulary, ids = _vocabulary(answer["markers"], [text for _, text in pieces]) if by_id else (None, [])
    parser = Parser(
        answer["format"] if format is None else format, answer["tools"],
        **{**options, "tokenizer": vocabulary, "audit": True, "keep_message": True},
    )  # fmt: skip
    for place, (_, text) in enumerate(pieces):
        if parser.is_stopped:
            break
        parser.parse_chunk(*((None, ids[place]) if by_id else (text,)))
    reason = answer["message"]["finish_reason"]
    message = (
        parser.message if reason is None else parser.finish("stop" if reason == "tool_calls" else reason)
    )
    return Replay(
        format=answer["format"] if format is None else getattr(format, "name", str(format)),
        input=_bytes("".join(text for _, text in pieces)).decode("utf-8", "replace"),
        recorded=answer["message"],
        found=message_data(message),
        regions=tuple(
            (kind, "".join(text for _, text in parts))
            for kind, parts in itertools.groupby(message.audit, operator.itemgetter(0))
        ),
        tools=answer["tools"],
        options={name: value for name, value in options.items() if value not in (None, [], False)},
    )


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _vocabulary(markers: Mapping[str, Any], texts: list[str]) -> tuple[Vocabulary, list[list[int]]]:
    """Build a vocabulary in which each text is a token, and each marker an added token; also return each text's ids."""
    added = {text: at for at, text in enumerate(markers) if text}
    plain: dict[bytes, int] = {}
    ids = []
    for text in texts:
        id = added.get(text)
        if id is None and text:
            id = plain.setdefault(_bytes(text), len(markers) + len(plain))
        ids.append([] if id is None else [id])
    entries = [(id, text, text, bool(markers[text])) for text, id in added.items()]
    return Vocabulary(plain, entries, is_bytes=True), ids
