"""Random walks through a grammar's mask, without a model, and what the parser makes of them."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jsonschema
import unspool
from llguidance import LLMatcher, LLTokenizer
from unspool.format_files import FormatFile
from unspool.message import Message

BYTES = LLTokenizer("byte")
_LETTERS = [ord(char) for char in "abc xyz0123456789.,:;\"'\\{}[]()<>/=|_-\n&%é"]

#: A tool of everything that a schema may say, and smaller ones.
TOOLS: list[dict[str, Any]] = [
    {
        "name": "get_weather",
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string"},
                "days": {"type": "integer"},
                "unit": {"type": "string", "enum": ["C", "F", "kelvin or so"]},
                "exact": {"type": "boolean"},
                "factor": {"type": ["number", "null"]},
            },
            "required": ["city", "unit"],
        },
    },
    {"name": "now", "parameters": {"type": "object", "properties": {}, "additionalProperties": False}},
    {
        "name": "plan",
        "parameters": {
            "type": "object",
            "properties": {
                "steps": {"type": "array", "items": {"$ref": "#/$defs/step"}, "maxItems": 2},
                "note": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
                "place": {
                    "type": "object",
                    "properties": {
                        "ä b": {"type": "string"},
                        "at": {"type": "array", "items": {"type": "number"}},
                    },
                    "required": ["at"],
                    "additionalProperties": False,
                },
            },
            "required": ["place"],
            "$defs": {
                "step": {
                    "type": "object",
                    "properties": {
                        "do": {"type": "string"},
                        "then": {"anyOf": [{"$ref": "#/$defs/step"}, {"type": "null"}]},
                    },
                    "required": ["do"],
                    "additionalProperties": False,
                }
            },
        },
    },
]
#: What every format can write: names that are Python names, and no objects in elements.
PLAIN_TOOLS = [TOOLS[0], TOOLS[1]]
ONE_PARAMETER = [
    {
        "name": "run",
        "parameters": {"type": "object", "properties": {"code": {"type": "string"}}, "required": ["code"]},
    },
    TOOLS[1],
]


def tools_for(file: FormatFile) -> list[dict[str, Any]]:
    """The tools that a format's calls can name: one whose only parameter has no key takes no more."""
    is_keyless = any("${value}" in text and "${key}" not in text for text in file.patterns["call"])
    if is_keyless:
        return ONE_PARAMETER
    is_python = any("${key}=" in text for text in file.patterns["call"])
    return PLAIN_TOOLS if is_python else TOOLS


def fragments_of(file: FormatFile, tools: Sequence[dict[str, Any]]) -> list[bytes]:
    """What may tempt a value to end early: the format's markers, its patterns' texts, names."""
    texts = [*file.facts.markers]
    for key in ("turn", "reasoning", "content", "calls", "call", "parameter"):
        for pattern in file.patterns.get(key, ()):
            texts += re.split(r"\$\{[^}]*\}", pattern.replace("\\n", "\n"))
    for tool in tools:
        texts += [tool["name"], *tool["parameters"].get("properties", ())]
    texts += ["true", "null", "{}", "[]", "\\u00e9", "&lt;", "]]>", '"}', "')", "12", "\n\n", "```json\n{"]
    return sorted({text.encode() for text in texts if text})


@dataclass
class Walker:
    """Walks through one grammar, over bytes."""

    text: str
    fragments: Sequence[bytes]
    rng: random.Random

    def walk(self, size: int = 120, limit: int = 3000) -> bytes | None:
        """One text that the grammar admits; None if none was found within the limit.

        After `size` bytes it takes what may lead to the end.
        """
        matcher = LLMatcher(BYTES, self.text)
        if matcher.is_error():
            raise ValueError(matcher.get_error())
        out = bytearray()
        while len(out) < limit:
            is_late = len(out) > size
            if matcher.is_accepting() and self.rng.random() < (0.6 if is_late else 0.1):
                break
            allowed = [id for id, bias in enumerate(matcher.compute_logit_bias()) if bias and id < 256]
            if not allowed:
                break
            step = self._step(matcher, allowed, is_late)
            if not matcher.consume_tokens(list(step)):
                raise ValueError(matcher.get_error())
            out += step
        return bytes(out) if matcher.is_accepting() or matcher.is_stopped() else None

    def _step(self, matcher: LLMatcher, allowed: list[int], is_late: bool) -> bytes:
        if len(allowed) > 1 and self.rng.random() < (0.5 if is_late else 0.2):
            found = self._fragment(matcher, self.rng.sample(self.fragments, 6))
            if is_late and not found:
                found = self._fragment(matcher, sorted(self.fragments, key=len, reverse=True)[:40])
            if found:
                return found
        if is_late and len(allowed) > 1:
            ends = [id for id in allowed if id in b"\"'}])<,:\n"]
            if ends and self.rng.random() < 0.5:
                return bytes([self.rng.choice(ends)])
        plain = [id for id in allowed if id in _LETTERS] or allowed
        return bytes([self.rng.choice(plain if self.rng.random() < 0.97 else allowed)])

    def _fragment(self, matcher: LLMatcher, candidates: Sequence[bytes]) -> bytes:
        for text in candidates:
            taken = matcher.validate_tokens(list(text))
            if taken == len(text) or (taken > 0 and self.rng.random() < 0.3):
                return text[:taken]
        return b""


def faults(
    file: FormatFile, text: bytes, tools: Sequence[dict[str, Any]], must_call: bool, dropped: bool = False,
    **options: Any,
) -> list[str]:  # fmt: skip
    """What is wrong with the parser's reading of a text that the grammar admits."""
    message = unspool.parse(text, file, tools=tools, **options)
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


def _faults_of_call(call: Any, tools: Sequence[dict[str, Any]], dropped: bool) -> list[str]:
    schema = next((tool["parameters"] for tool in tools if tool["name"] == call.name), None)
    if schema is None:
        return [f"a call to '{call.name}'"]
    if call.status != "complete":
        return [f"the call to '{call.name}' is {call.status}: {call.arguments}"]
    try:
        jsonschema.validate(json.loads(call.arguments), schema)
    except jsonschema.ValidationError as error:
        return [] if dropped else [f"arguments of '{call.name}': {error.message}: {call.arguments}"]
    return []


def splits_differ(
    file: FormatFile, text: bytes, tools: Sequence[dict[str, Any]], rng: random.Random, count: int = 2,
    **options: Any,
) -> str | None:  # fmt: skip
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


def _said(message: Message) -> tuple[Any, ...]:
    calls = [(call.name, call.arguments, call.status) for call in message.tool_calls]
    return message.content, message.reasoning, calls, [item.text for item in message.malformed]
