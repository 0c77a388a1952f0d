"""Law 14: an example is text. It stands in a fence, in backquotes, in a list or in a block quote, and prose follows.

A call in a fence that ends the answer, or that only other calls follow, is a call.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from typing import Any

from unspool import Message, get_format
from unspool.core.format.other_families import compile_others
from unspool.testing import Case

from .laws import MODES, SPELLED, Mode, Trial, is_drawn, known, markers, read, shown, untold
from .quoting import (
    NEUTRAL,
    WRITER,
    arguments_of,
    examples,
    has_tools,
    opens_reasoning,
    others_of,
    quotable,
    spoken,
    spoken_of,
    told,
    tools_with,
    written,
)
from .test_unmarked_ways import ways

ANY = compile_others("any").names  # type: ignore[union-attr]
PLACES = {
    "fenced": "A call looks like this:\n\n```xml\n{}\n```\n\nShall I run it?",
    "fenced, no language": "A call looks like this:\n```\n{}\n```\nShall I run it?",
    "fenced with tildes": "A call looks like this:\n\n~~~\n{}\n~~~\n\nShall I run it?",
    "fenced with tildes and a language": "A call looks like this:\n~~~json\n{}\n~~~\nShall I run it?",
    "in a list and fenced": "Two steps:\n\n- Write this:\n\n  ```\n  {}\n  ```\n\n- Run it.\n",
    "in a list": "Two steps:\n\n- Write {}\n- Run it.\n",
    "in a numbered list and backquotes": "1. Write `{}`\n2. Run it.\n",
    "in backquotes": "A call is `{}`, as the page says.",
    "in two backquotes": "A call is ``{}``, as the page says.",
    "in a block quote": "The page says:\n\n> {}\n\nShall I run it?",
    "twice": "Either\n```\n{0}\n```\nor\n```\n{0}\n```\nShall I run one?",
}
LAST = {
    "a fence at the end": "I call it.\n\n```xml\n{}\n```",
    "a fence without a language at the end": "I call it.\n```\n{}\n```\n",
    "a fence with tildes at the end": "I call it.\n\n~~~\n{}\n~~~\n",
    "two fences": "I call it.\n```xml\n{0}\n```\n```xml\n{0}\n```\n",
}
SPLIT_ONE_IN = 4
OPTIONS_ONE_IN = 6


def group_of(kind: str) -> str:
    """The class of a place."""
    return next((word for word in ("fence", "backquotes", "list", "block quote") if word in kind), kind)


def holds(format: str, text: str) -> str:
    """What an example holds besides calls, that a class of failures may come of."""
    facts = get_format(format).facts
    headers = [
        one for header in facts.headers if not header.is_inline for one in (*header.openers, *header.closers)
    ]
    answer, call = spoken(format, "Four."), written(format, NEUTRAL)
    if any(one.strip() and one in text for one in headers):
        return "a header in it"
    if opens_reasoning(format, text):
        return "reasoning in it"
    wraps = [one for one in markers(format) if one not in call and (one in answer or one in facts.dropped)]
    if any(one in text for one in wraps):
        return "an answer's markup in it"
    return ""


def placed(kind: str, place: str, text: str) -> str | None:
    """The text in its place; None if Markdown does not let it stand there."""
    fence = "~~~" if "~~~" in place else "```"
    if "fence" in kind or kind.startswith(("twice", "two")):
        if fence in text:
            return None
    elif "`" in place and ("`" in text or "\n\n" in text):
        return None
    if "\n  ```" in place:
        text = text.replace("\n", "\n  ")
    elif "\n> " in place:
        text = text.replace("\n", "\n> ")
    elif place.startswith("Two steps"):
        text = text.replace("\n", "\n  ")
    return place.replace("{0}", "{}").replace("{}", text)


def quoted(format: str) -> Iterator[tuple[Case, str]]:
    """The cases, each with the example: without its reasoning, and whole."""
    for case, text in examples(format):
        yield case, text
        if opens_reasoning(format, case.input):
            yield case, case.input


def trials(format: str, thorough: bool) -> Iterator[Trial]:
    if not has_tools(format):
        return
    options: list[dict[str, Any]]
    for source, text in quoted(format):
        for mode in MODES:
            for kind, place in PLACES.items():
                seed = (format, str(source), mode, kind)
                options = [{}]
                if thorough or is_drawn(OPTIONS_ONE_IN, *seed):
                    options += [{"unmarked_calls": True}, {"also": ANY}]
                for option in options:
                    yield from text_stays(format, source, text, mode, kind, place, option, thorough)
    for mode in MODES:
        for kind, place in PLACES.items():
            for way in ways(format):
                source = Case(format, "a call without its markers", way, tools=UNMARKED_TOOLS)
                yield from text_stays(
                    format, source, way, mode, kind, place, {"unmarked_calls": True}, thorough
                )
            for other in others_of(format):
                for source, text in examples(other)[:3]:
                    yield from text_stays(format, source, text, mode, kind, place, {"also": ANY}, thorough)
    for source, text in examples(format):
        for mode in MODES:
            yield from calls_stay(format, source, quotable(format, mode, text), mode)


UNMARKED_TOOLS = tuple(
    {
        "name": name,
        "parameters": {
            "type": "object",
            "properties": {key: {"type": kind} for key, kind in keys.items()},
        },
    }
    for name, keys in {
        "get_weather": {"city": "string", "days": "integer"},
        "bash": {"command": "string"},
    }.items()
)


def text_stays(
    format: str,
    source: Case,
    text: str,
    mode: Mode,
    kind: str,
    place: str,
    options: dict[str, Any],
    thorough: bool,
) -> Iterator[Trial]:
    text = quotable(format, mode, text)
    said, plain = placed(kind, place, text), placed(kind, place, NEUTRAL)
    is_fence_a_marker = any(marker.strip().startswith("```") for marker in markers(format))
    if not text.strip() or said is None or plain is None or (is_fence_a_marker and "```" in place):
        return
    ordinary = spoken_of(format, mode, plain)
    if ordinary is None or NEUTRAL not in ordinary[0]:
        return
    output = spoken(format, said)
    case = Case(format, f"an example of {source}", output, tools=tools_with(format, source.tools))
    message = read(case, output, mode, **options)
    problem = what_runs(message)
    wanted = ordinary[0].replace(plain.strip(), said.strip().replace(SPELLED, ""))
    if not problem and (message.content.strip(), message.reasoning) != (wanted.strip(), ordinary[1]):
        problem = f"content: wanted {wanted!r}, got {message.content!r}, {message.reasoning!r}"
    problem = problem or untold(message, output)
    seed = (format, str(source), mode, kind, sorted(options))
    if not problem and (thorough or is_drawn(SPLIT_ONE_IN, *seed)):
        bytewise = read(case, output, mode, whole=False, **options)
        if told(bytewise) != told(message):
            problem = f"split: whole {told(message)}, by bytes {told(bytewise)}"
    if problem:
        name, _, rest = problem.partition(":")
        group = holds(format, text) or group_of(kind)
        problem = f"{name}, {group}: {kind}:{rest}"
    shown_options = {key: "any" if key == "also" else value for key, value in options.items()}
    yield Trial(case, mode, output, "stop", shown_options, problem)


def what_runs(message: Message) -> str:
    calls = [(call.name, call.arguments, call.status) for call in message.tool_calls]
    if any(call.is_complete for call in message.tool_calls):
        return f"a call runs: {calls}, {message.content!r}"
    return f"a call shows: {calls}, {message.content!r}" if calls else ""


@functools.cache
def called(format: str) -> list[tuple[str, Any]]:
    """The call that follows a fence."""
    return [(WRITER, arguments_of(format, NEUTRAL))]


def complete(message: Message) -> list[tuple[str, Any]]:
    return [(call.name, json.loads(call.arguments)) for call in message.tool_calls if call.is_complete]


def calls_stay(format: str, source: Case, text: str, mode: Mode) -> Iterator[Trial]:
    """A call in a fence is a call if the answer ends there, or if another call follows."""
    tools = None if source.tools is None else tools_with(format, source.tools)
    alone = read(Case(format, "", text, tools=tools), text, mode, start_in="content")
    is_text = alone.content or alone.reasoning or alone.malformed or alone.dropped
    if is_text or not alone.tool_calls or not all(call.is_complete for call in alone.tool_calls):
        return
    behind = {"": [], "\n" + written(format, NEUTRAL): called(format)}
    for after, calls in behind.items():
        among = f"I call it.\n\n{text}{after or chr(10) + 'Done.'}"
        message = read(Case(format, "", among, tools=tools), among, mode, start_in="content")
        if complete(message) != complete(alone) + calls:
            return  # its end is the end of the answer, or it needs a header
        yield from fenced(format, source, text, mode, after, complete(alone), calls, tools)


def fenced(
    format: str,
    source: Case,
    text: str,
    mode: Mode,
    after: str,
    calls: list[Any],
    others: list[Any],
    tools: Any,
) -> Iterator[Trial]:
    for kind, place in LAST.items():
        said = placed(kind, place, text)
        if said is None:
            continue
        output = said + after
        case = Case(format, f"a fence with {source}", output, tools=tools)
        message = read(case, output, mode, start_in="content")
        wanted = calls * (2 if "{0}" in place else 1) + others
        problem = untold(message, output)
        if complete(message) != wanted or len(message.tool_calls) != len(wanted):
            problem = f"not called{', another behind it' * bool(after)}: {kind}: wanted {wanted}, got {told(message)}"
        yield Trial(case, mode, output, "stop", {"start_in": "content"}, problem)


def test_law_14(format: str, thorough: bool) -> None:
    failures = [trial for trial in trials(format, thorough) if trial.problem]
    assert len(failures) == known(14, format), shown(failures)
