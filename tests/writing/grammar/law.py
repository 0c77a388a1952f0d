"""The law: what a grammar admits is read, at every split, as complete and valid calls."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

import jsonschema
import unspool
from unspool.core.stream.message import Message
from unspool.formats.format_file import FormatFile

__all__ = ["faults", "faults_of_ids", "faults_of_message", "splits_differ"]

Tools = Sequence[dict[str, Any]]


def faults(
    file: FormatFile, text: bytes, tools: Tools, must_call: bool, dropped: bool = False, **options: Any
) -> list[str]:
    """What is wrong with the parser's reading of a text that the grammar admits.

    Args:
        must_call: Nothing but calls was admitted.
        dropped: The grammar left out a part of the schemas, so that arguments need not fit.
    """
    return faults_of_message(unspool.parse(text, file, tools=tools, **options), tools, must_call, dropped)


def faults_of_message(message: Message, tools: Tools, must_call: bool, dropped: bool = False) -> list[str]:
    """The same of a message."""
    found = []
    if message.malformed:
        found.append(f"malformed: {[(item.text, item.reason) for item in message.malformed]}")
    if must_call and message.content.strip():
        found.append(f"content: {message.content!r}")
    if must_call and not message.tool_calls:
        found.append("no call")
    for call in message.tool_calls:
        found += _faults_of_call(call, tools, dropped)
    return found


def _faults_of_call(call: Any, tools: Tools, dropped: bool) -> list[str]:
    schema = next((tool["parameters"] for tool in tools if tool["name"] == call.name), None)
    if schema is None:
        return [f"a call to '{call.name}'"]
    if call.status != "complete":
        return [f"the call to '{call.name}' is {call.status}: {call.arguments}"]
    if dropped:
        return []
    error = jsonschema.exceptions.best_match(
        _validator(json.dumps(schema)).iter_errors(json.loads(call.arguments))
    )
    return [] if error is None else [f"arguments of '{call.name}': {error.message}: {call.arguments}"]


@cache
def _validator(schema: str) -> Any:
    return jsonschema.Draft202012Validator(json.loads(schema))


def splits_differ(
    file: FormatFile, text: bytes, tools: Tools, rng: random.Random, count: int = 2, **options: Any
) -> str | None:
    """A split of the text at which the message is another one; None if there is none."""
    whole = _said(unspool.parse(text, file, tools=tools, **options))
    cuts = [list(range(1, len(text)))]
    cuts += [sorted(rng.sample(range(len(text) + 1), min(3, len(text)))) for _ in range(count)]
    for places in cuts:
        parser = unspool.Parser(file, tools=tools, **options)
        for begin, end in zip([0, *places], [*places, len(text)], strict=True):
            parser.parse_chunk(text[begin:end])
        said = _said(parser.finish("stop"))
        if said != whole:
            return f"split at {places}: {said}; whole: {whole}"
    return None


def faults_of_ids(
    file: FormatFile, ids: Sequence[int], tools: Tools, must_call: bool, vocabulary: unspool.Vocabulary,
    sizes: Iterable[int] = (1, 5, 10_000), **options: Any,
) -> list[str]:  # fmt: skip
    """What is wrong with the parser's reading of token ids, so many at a time."""
    found, said = [], []
    for size in sizes:
        parser = unspool.Parser(file, tools=tools, tokenizer=vocabulary, **options)
        for begin in range(0, len(ids), size):
            parser.parse_chunk(tokens=ids[begin : begin + size])
        message = parser.finish("stop")
        found += faults_of_message(message, tools, must_call)
        said.append(_said(message))
    return found + [
        f"{size} ids a chunk: {one}" for size, one in zip(sizes, said, strict=True) if one != said[0]
    ]


def _said(message: Message) -> tuple[Any, ...]:
    calls = [(call.name, call.arguments, call.status) for call in message.tool_calls]
    return message.content, message.reasoning, calls, [item.text for item in message.malformed]
