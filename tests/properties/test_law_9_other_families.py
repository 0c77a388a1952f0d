"""Law 9: a call in another family's way is never read wrongly, and `also="any"` reads it.

Each format reads an output of every other one, whole and byte by byte.
"""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Iterator
from typing import Any

import unspool
from unspool.core.format.other_families import compile_others
from unspool.core.format.registry import sources
from unspool.testing import Case

from .laws import Trial, call_tuples, cases_of, known, shown

Calls = list[tuple[str, Any]]
# Those that are shipped, as `also="any"` prefers them: another test may register a format.
SHIPPED = sources()
ANY = compile_others("any").names  # type: ignore[union-attr]


def calls_of(message: unspool.Message) -> Calls:
    return [(call.name, json.loads(call.arguments)) for call in message.tool_calls if call.is_complete]


@functools.cache
def samples(format: str) -> tuple[tuple[Case, Calls], ...]:
    """Up to three cases with calls that fit their tools, and their calls."""
    found = []
    for case in cases_of(format):
        message = unspool.parse(case.input, format, case.tools or None, start_in="content")
        calls = calls_of(message)
        whole = calls and not message.malformed and not message.reasoning
        if case.options or not whole or len(calls) < len(message.tool_calls):
            continue
        tools = case.tools or tools_of(calls)
        if all(fits(name, arguments, tools) for name, arguments in calls):
            found.append((dataclasses.replace(case, tools=tools), calls))
    return tuple(found[:3])


def fits(name: str, arguments: Any, tools: Any) -> bool:
    bare = json.dumps({"name": name, "arguments": arguments})
    return bool(unspool.parse(bare, "hermes", tools, unmarked_calls=True).tool_calls)


def tools_of(calls: Calls) -> list[dict[str, Any]]:
    """Tools that these calls fit."""
    keys: dict[str, dict[str, Any]] = {name: {} for name, _ in calls}
    for name, arguments in calls:
        keys[name] |= {key: {} for key in arguments}
    return [
        {
            "type": "function",
            "function": {"name": name, "parameters": {"type": "object", "properties": found}},
        }
        for name, found in keys.items()
    ]


def read(case: Case, own: str, *, bytewise: bool, **options: Any) -> unspool.Message:
    parser = unspool.Parser(own, case.tools, start_in="content", audit=True, **options)
    for piece in case.input if bytewise else [case.input]:
        parser.parse_chunk(piece)
    return parser.finish()


def trials(own: str, _: bool) -> Iterator[Trial]:
    pairs = [pair for source in SHIPPED if source.name != own for pair in samples(source.name)]
    for case, wanted in pairs:
        for bytewise in (False, True):
            for options in ({}, {"also": ANY}):
                message = read(case, own, bytewise=bytewise, **options)
                problem = ""
                if "".join(text for _, text in message.audit) != case.input:
                    problem = f"lost: audit: {message.audit}"
                elif any(call not in wanted for call in calls_of(message)):
                    problem = f"wrong: {case.format}: wanted {wanted}, got {call_tuples(message)}"
                elif options and calls_of(message) != wanted:
                    problem = f"unread: {case.format}: wanted {wanted}, got {call_tuples(message)}, {message.content!r}"
                yield Trial(
                    case,
                    "text",
                    case.input,
                    "stop",
                    {"start_in": "content", **({"also": "any"} if options else {})},
                    problem,
                )


def test_law_9(format: str, thorough: bool) -> None:
    failures = [trial for trial in trials(format, thorough) if trial.problem]
    assert len(failures) == known(9, format), shown(failures)
