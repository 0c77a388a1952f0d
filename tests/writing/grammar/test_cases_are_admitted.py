"""Every case that a format's model writes as its template says is one that the grammar admits."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
import unspool
from llguidance import LLMatcher, LLTokenizer
from unspool.formats.format_file import FormatFile
from unspool.testing.cases import Case, shipped_cases
from unspool.writing.grammar.make_grammar import make_grammar

from ...outputs import render

BYTES = LLTokenizer("byte")
FORMATS = [file.name for file in unspool.formats() if file.has_tools]

#: Their cases have ids, authors, recipients or other keys than the writer writes.
NEVER_AS_WRITTEN = {"inkling", "internlm", "muse", "solar_open"}


def _schema_of(value: Any) -> dict[str, Any]:
    """A schema that this value fits."""
    if isinstance(value, dict):
        properties = {key: _schema_of(item) for key, item in value.items()}
        return {"type": "object", "properties": properties, "additionalProperties": False}
    if isinstance(value, list):
        schemas = {json.dumps(_schema_of(item)) for item in value}
        return {
            "type": "array",
            "items": {"anyOf": [json.loads(text) for text in schemas]} if schemas else {},
        }
    names = {bool: "boolean", int: "integer", float: "number", str: "string"}
    return {"type": names.get(type(value), "null")}


def tools_of(case: Case) -> list[dict[str, Any]] | None:
    """The case's tools, with a schema that fits its calls; None if two calls of one tool differ."""
    found: dict[str, dict[str, Any]] = {}
    for name, arguments, _ in case.calls:
        schema = _schema_of(json.loads(arguments))
        merged = found.setdefault(name, schema)
        for key, value in schema["properties"].items():
            if merged["properties"].setdefault(key, value) != value:
                return None
    return [{"name": name, "parameters": schema} for name, schema in found.items()]


def is_as_written(case: Case) -> bool:
    """Whether the input is what the format's template writes, but for white space, and mentions no marker."""
    if (
        any(status != "complete" for _, _, status in case.calls)
        or case.malformed
        or not case.calls
        or case.options.get("repair")
    ):
        return False
    file = unspool.get_format(case.format)
    words = file.free_text_words.value
    said = [
        case.content,
        case.reasoning,
        *(text for name, arguments, _ in case.calls for text in (name, arguments)),
    ]
    if any(word in text for word in words for text in said):
        return False
    calls = [(name, json.loads(arguments)) for name, arguments, _ in case.calls]
    styles = range(len(file.patterns["call"]))
    written = [render(file, case.reasoning, case.content, calls, style) for style in styles]
    if not case.reasoning:  # thinking was off: what would end it is not there
        empty = render(file, "", "", [])
        written = [text.removeprefix(empty) for text in written]
    given = without_end(case)
    if file.shape.header:  # white space counts in a header
        turn = (*file.shape.turn, "")[0]
        return given.removeprefix(turn).strip() in map(str.strip, written)
    if "parameter" in file.patterns:  # it counts in values
        return given.replace("\n", "") in (text.replace("\n", "") for text in written)
    if not any("'" in value or '\\"' in value for value in said):
        given, written = given.replace("'", '"'), [text.replace("'", '"') for text in written]
    return _compact(given) in map(_compact, written)


def without_end(case: Case) -> str:
    """The input without the tokens that end an answer: an engine stops there."""
    text = case.input
    for end in unspool.get_format(case.format).facts.ends:
        text = text.removesuffix(end)
    return text


def _compact(text: str) -> str:
    """The text without white space, and without ids that only the model knows."""
    return re.sub(r'"tool_call_id":"[^"]*"', "", "".join(text.split()))


def repeats_the_turn(file: FormatFile, text: str) -> bool:
    """Whether the text begins with the turn, or with its last word."""
    turns = file.patterns.get("turn", ())
    return any(text.startswith((turn, turn.split()[-1])) for turn in turns)


@pytest.mark.rest(but_one_in=5)
@pytest.mark.parametrize("name", FORMATS)
def test_cases_are_admitted(name: str) -> None:
    file = unspool.get_format(name)
    refused, count = [], 0
    for case in shipped_cases(name):
        tools = tools_of(case) if is_as_written(case) else None
        if tools is None:
            continue
        count += 1
        reasoning = None if case.reasoning else False
        prompt = case.options.get("prompt")
        if repeats_the_turn(file, case.input):
            prompt = "Hi"
        text = make_grammar(file, tools, prompt=prompt, reasoning=reasoning).text
        matcher = LLMatcher(BYTES, text)
        assert not matcher.is_error(), matcher.get_error()
        written = list(without_end(case).encode())
        taken = matcher.try_consume_tokens(written)
        if taken < len(written) or not matcher.is_accepting():
            refused.append((case.name, bytes(written[:taken]), bytes(written[taken:])))
    assert not refused
    assert count > 0 or name in NEVER_AS_WRITTEN, "no case is as the template writes it"
