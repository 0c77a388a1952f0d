"""Law 16: nothing between whole arguments and the call's own closer is content.

A second object is a second call of that name, and an equal one is an echo. Anything else is malformed and reported.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator

from unspool import Message, get_format
from unspool.testing import Case

from .laws import MODES, Trial, is_drawn, known, read, shown, untold
from .quoting import NEUTRAL, WRITER, arguments_of, has_tools, is_keyless, plain, told, tools_with, written

OTHER = "Tokyo"
TEXTS = {
    "a word": "hm",
    "a sentence": "I write the file now.",
    "an open object": '{"path": "x", ',
    "a string": '"x"',
    "a number": "3",
    "another closing brace": "}",
    "a list": '["x"]',
    "a comment": "// done",
}
SPACES = ("", "\n")
BEHIND = ("", "\nThe file is written.")
SPLIT_ONE_IN = 2


@functools.cache
def places(format: str) -> tuple[int, ...]:
    """Where the call's first closer begins in a written call, and where the white space before it does."""
    output = written(format, NEUTRAL)
    value_end = output.rindex(NEUTRAL) + len(NEUTRAL)
    closers = {text.strip() for call in get_format(format).facts.calls for text in call.closers} - {""}
    begins = [output.find(closer, value_end) for closer in closers if len(closer) > 1]
    found = min((begin for begin in begins if begin > value_end), default=None)
    if found is None:
        return ()
    return tuple(dict.fromkeys((len(output[:found].rstrip()), found)))


def second_object(format: str, value: str) -> str | None:
    """The arguments of a written call as they stand in it; None if they are no JSON object."""
    output = written(format, value)
    match = re.search(r"\{.*\}", output[: places_of(format, value)], re.S)
    return match.group() if match and is_json(match.group()) else None


def places_of(format: str, value: str) -> int:
    return places(format)[0] + len(written(format, value)) - len(written(format, NEUTRAL))


def is_json(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False


def trials(format: str, thorough: bool) -> Iterator[Trial]:
    if not has_tools(format) or is_keyless(format):  # there it is the value
        return
    output = written(format, NEUTRAL)
    inserted = [("text", kind, text) for kind, text in TEXTS.items()]
    if places(format):
        inserted += [
            (kind, kind, text)
            for kind, value in (("the same object", NEUTRAL), ("another object", OTHER))
            if (text := second_object(format, value))
        ]
        bare = json.dumps(arguments_of(format, OTHER))
        if all(text != bare for _, _, text in inserted):
            inserted.append(("arguments alone", "arguments alone", bare))
    for place in places(format):
        for kind, what, text in inserted:
            for space in SPACES:
                for behind in BEHIND:
                    for mode in MODES:
                        ordinary = plain(format, mode, NEUTRAL, "", behind)
                        if ordinary is None:
                            continue
                        made = output[:place] + space + text + output[place:] + behind
                        case = Case(format, what, made, tools=tools_with(format, ()))
                        message = read(case, made, mode)
                        problem = what_is_wrong(format, kind, text, message, ordinary)
                        problem = problem or untold(message, made)
                        if not problem and (thorough or is_drawn(SPLIT_ONE_IN, made, mode)):
                            bytewise = read(case, made, mode, whole=False)
                            if told(bytewise) != told(message):
                                problem = f"split: whole {told(message)}, by bytes {told(bytewise)}"
                        yield Trial(case, mode, made, "stop", {}, problem)


def what_is_wrong(format: str, kind: str, text: str, message: Message, ordinary: Message) -> str:
    calls = [(call.name, call.arguments, call.status) for call in message.tool_calls]
    got = f"{text!r}: {calls}, {message.content!r}, malformed {message.malformed}"
    said = message.content.strip().removesuffix(ordinary.content.strip())
    if said.strip():
        return f"{kind}, content: {got}"
    complete = [(call.name, json.loads(call.arguments)) for call in message.tool_calls if call.is_complete]
    one, other = (WRITER, arguments_of(format, NEUTRAL)), (WRITER, arguments_of(format, OTHER))
    if kind == "the same object" and complete == [one] and len(calls) == 1:
        return ""
    if kind in ("another object", "arguments alone") and complete == [one, other] and len(calls) == 2:
        return ""
    if any(call not in (one, other) for call in complete):
        return f"{kind}, another call runs: {got}"
    if kind == "the same object" and complete == [one, one]:
        return f"{kind}, runs twice: {got}"
    if not complete and calls:
        return ""  # malformed, or its value goes on and is incomplete
    if not message.malformed:
        return f"{kind}, not reported: {got}"
    if complete:
        return f"{kind}, reported though complete: {got}"
    return ""


def test_law_16(format: str, thorough: bool) -> None:
    failures = [trial for trial in trials(format, thorough) if trial.problem]
    assert len(failures) == known(16, format), shown(failures)
