"""Law 17: nothing complete holds a quote of another dialect.

Strings and keys are written with other quotes than the format's, or with none. A complete call has the arguments
that were meant; otherwise the call is malformed or incomplete.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator
from typing import Any

from unspool import get_format
from unspool.testing import Case
from unspool.writing.render.render import write_text

from .laws import MODES, Mode, Trial, is_drawn, known, read, shown, untold
from .quoting import has_tools, told
from .test_law_2_mentions import quotes

ARGUMENTS: dict[str, dict[str, Any]] = {
    "a string": {"data": "ds_1"},
    "two strings": {"data": "ds_1", "more": "ds_2"},
    "a list": {"refs": ["ds_1", "ds_2"]},
    "a list of one": {"refs": ["ds_1"]},
    "a comma in a list": {"refs": ["ds, x", "ds_2"]},
    "a brace": {"data": "ds}x", "more": "ds_2"},
    "an object": {"opts": {"inner": "ds_1"}},
    "a colon": {"data": "ds:x"},
    "two words": {"data": "ds one"},
    "an apostrophe": {"data": "ds's"},
}
TOOLS = (
    {
        "name": "analyze",
        "parameters": {
            "type": "object",
            "properties": {
                "data": {"type": "string"},
                "more": {"type": "string"},
                "refs": {"type": "array", "items": {"type": "string"}},
                "opts": {"type": "object", "properties": {"inner": {"type": "string"}}},
            },
        },
    },
)
OTHERS = {"single": "'", "double": '"', "backquote": "`", "none": "", "curly": "“”", "three": '"""'}
# No dialect has these as quotes: where bare text is a string, they are a part of the text.
TEXT_MARKS = str.maketrans("", "", "`“”")
SPLIT_ONE_IN = 2


@functools.cache
def quote_of(format: str) -> str | None:
    """The quote around strings within the format's arguments; None if strings have none."""
    output = text_of(format, {"data": "ds_1"})
    for quote in (*quotes(format), '"', "'"):
        if f"{quote}ds_1{quote}" in output:
            return quote
    return None


@functools.cache
def _text(format: str, arguments: str) -> str:
    call = {"name": "analyze", "arguments": json.loads(arguments)}
    return write_text(get_format(format), {"content": "", "tool_calls": [call]}, continues=False)


def text_of(format: str, arguments: dict[str, Any]) -> str:
    return _text(format, json.dumps(arguments))


def strings_of(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for one in value.values() for text in strings_of(one)]
    return [text for one in value for text in strings_of(one)] if isinstance(value, list) else [value]


def keys_of(value: Any) -> list[str]:
    if not isinstance(value, dict):
        return []
    return [*value, *(key for one in value.values() for key in keys_of(one))]


def requoted(format: str, output: str, texts: list[str], other: str, count: int | None) -> str:
    """The output with other quotes around the texts: around all of them, or the first."""
    quote = quote_of(format) or ""
    before, after = (other[: len(other) // 2], other[len(other) // 2 :]) if other == "“”" else (other, other)
    for text in texts[:count]:
        for written in {text, text.replace("'", "\\'")}:
            output = output.replace(f"{quote}{written}{quote}", f"{before}{text}{after}")
    return output


def with_keys(output: str, keys: list[str], other: str) -> str:
    """The output with other quotes around its keys, which have quotes or none."""
    before, after = (other[: len(other) // 2], other[len(other) // 2 :]) if other == "“”" else (other, other)
    for key in keys:
        output = re.sub(rf"(\"|'|\b){key}(\"|'|\b)(?=\s*[:=])", f"{before}{key}{after}", output)
    return output


def without_text_marks(arguments: Any) -> Any:
    return json.loads(json.dumps(arguments, ensure_ascii=False).translate(TEXT_MARKS))


def outputs(format: str) -> Iterator[tuple[str, dict[str, Any], str]]:
    """What is changed, the arguments that are meant, and the output."""
    own = quote_of(format)
    for kind, arguments in ARGUMENTS.items():
        output, texts, keys = text_of(format, arguments), strings_of(arguments), keys_of(arguments)
        for name, other in OTHERS.items():
            if other == own or (not other and any("," in text for text in texts)):
                continue  # without quotes, a comma separates
            for which, count in (("all", None), ("the first", 1)):
                changed = requoted(format, output, texts, other, count)
                if changed != output:
                    yield f"{name} quotes, {kind}, {which}", arguments, changed
            changed = with_keys(output, keys, other)
            if changed != output:
                yield f"{name} quotes around keys, {kind}", arguments, changed
            both = with_keys(requoted(format, output, texts, other, None), keys, other)
            if both not in (changed, output):
                yield f"{name} quotes around both, {kind}", arguments, both


def trials(format: str, thorough: bool) -> Iterator[Trial]:
    if not has_tools(format) or quote_of(format) is None:
        return
    options: tuple[dict[str, Any], ...] = ({}, {"repair": True})
    for kind, arguments, output in outputs(format):
        for tools in (TOOLS, None):
            for option in options:
                for mode in MODES:
                    yield attempt(format, kind, arguments, output, tools, option, mode, thorough)


def attempt(
    format: str,
    kind: str,
    arguments: dict[str, Any],
    output: str,
    tools: Any,
    options: dict[str, Any],
    mode: Mode,
    thorough: bool,
) -> Trial:
    case = Case(format, kind, output, tools=tools)
    message = read(case, output, mode, **options)
    problem = ""
    complete = [json.loads(call.arguments) for call in message.tool_calls if call.is_complete]
    if len(message.tool_calls) > 1:
        problem = "two calls"
    elif complete and without_text_marks(complete) != [arguments]:
        texts = [*strings_of(complete[0]), *keys_of(complete[0])]
        is_quoted = any(str(text)[:1] in set("'\"") or str(text)[-1:] in set("'\"") for text in texts)
        problem = "complete with a quote inside" if is_quoted else "complete and changed"
    if problem:
        name = kind.split(",", maxsplit=1)[0]
        problem = f"{problem}, {name}{', repair' * bool(options)}: {complete or told(message)}"
    problem = problem or untold(message, output)
    if not problem and (thorough or is_drawn(SPLIT_ONE_IN, kind, output, mode)):
        bytewise = read(case, output, mode, whole=False, **options)
        if told(bytewise) != told(message):
            problem = f"split: whole {told(message)}, by bytes {told(bytewise)}"
    return Trial(case, mode, output, "stop", options, problem)


def test_law_17(format: str, thorough: bool) -> None:
    failures = [trial for trial in trials(format, thorough) if trial.problem]
    assert len(failures) == known(17, format), shown(failures)
