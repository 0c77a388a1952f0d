"""Law 8: after one slip or two, no complete call has another call's text, markup, or the name of no tool.

A slip is a character of the markup, or a marker, that is lost, doubled or swapped with the next. What names, keys
and values say stays as it was.
"""

from __future__ import annotations

import functools
import json
import random
import re
from collections.abc import Iterator

from unspool import Message, get_format
from unspool.testing import Case
from unspool.writing.render.render import write_text

from .laws import (
    Mode,
    Trial,
    cases_of,
    is_drawn,
    known,
    occurrences,
    read,
    scalars,
    shown,
    strings,
    untold,
    wrong_calls,
)

ONE_IN = 6  # of single slips
PAIRS = 24  # of a case and mode
THOROUGH = 20  # times as many

Slip = tuple[int, int, str]  # of the text from one place to another, what stands there instead

CALLS = [
    ("get_weather", {"city": "Kyoto", "days": 31}),
    ("send_mail", {"to": "Ruth", "body": "Bring bread."}),
]
TOOLS = tuple(
    {
        "name": name,
        "parameters": {
            "type": "object",
            "properties": {
                key: {"type": "integer" if isinstance(value, int) else "string"}
                for key, value in given.items()
            },
        },
    }
    for name, given in CALLS
)


def cases(format: str) -> Iterator[Case]:
    """The format's cases that call tools, and two calls that share no word."""
    if not get_format(format).has_tools:
        return
    calls = [{"function": {"name": name, "arguments": given}} for name, given in CALLS]
    output = write_text(get_format(format), {"role": "assistant", "content": "", "tool_calls": calls})
    yield Case(format, "two calls", output, tools=TOOLS)
    yield from cases_of(format)


def said(message: Message) -> list[set[str]]:
    """The words of each call that no other call has: names, keys, texts and numbers."""
    words = [
        {call.name, *strings(call.arguments), *(text for text in scalars(call.arguments) if len(text) > 1)}
        for call in message.tool_calls
    ]
    found = [set().union(*words[:i], *words[i + 1 :]) for i in range(len(words))]
    return [
        {text for text in own - others if len(text) > 1} for own, others in zip(words, found, strict=True)
    ]


def is_in(text: str, other: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(text)}(?!\w)", other) is not None


def merged(message: Message, original: Message) -> str:
    """A complete call with the words of two calls; "" where none is."""
    own = {(call.name, call.arguments) for call in original.tool_calls}
    words = said(original)
    for call in message.tool_calls:
        if call.status != "complete" or (call.name, call.arguments) in own:
            continue
        told = "\n".join([call.name, *strings(call.arguments), *scalars(call.arguments)])
        if sum(any(is_in(text, told) for text in each) for each in words) > 1:
            return f"complete, with another call's text: {call.name!r} {call.arguments!r}"
    return ""


def misnamed(case: Case, message: Message, original: Message) -> str:
    """A complete call of no tool; "" where none is."""
    if case.tools is None:
        return ""
    names = {str(tool.get("function", tool)["name"]) for tool in case.tools}
    names |= {call.name for call in original.tool_calls}
    for call in message.tool_calls:
        if call.status == "complete" and call.name not in names:
            return f"complete, a name of no tool: {call.name!r}"
    return ""


@functools.cache
def slips(format: str, output: str, texts: tuple[str, ...]) -> tuple[Slip, ...]:
    """All single slips of an output's markup: what stands around `texts`."""
    is_markup = [True] * len(output)
    for text in texts:
        written = {text, *(json.dumps(text, ensure_ascii=is_ascii)[1:-1] for is_ascii in (True, False))}
        spans = [m.span() for way in written for m in re.finditer(rf"(?<!\w){re.escape(way)}(?!\w)", output)]
        if not spans:
            return ()  # written in another way: what is markup is not known
        for begin, end in spans:
            is_markup[begin:end] = [False] * (end - begin)
    found: list[Slip] = []
    for at, char in enumerate(output):
        if not is_markup[at]:
            continue
        found += [(at, at + 1, ""), (at, at + 1, char * 2)]
        if at + 1 < len(output) and is_markup[at + 1] and output[at + 1] != char:
            found.append((at, at + 2, output[at + 1] + char))
    places = [(begin, end) for begin, end in occurrences(format, output) if all(is_markup[begin:end])]
    for number, (begin, end) in enumerate(places):
        marker = output[begin:end]
        found += [(begin, end, ""), (begin, end, marker * 2)]
        if number + 1 < len(places):
            begin_next, end_next = places[number + 1]
            next_marker = output[begin_next:end_next]
            if next_marker != marker:
                found.append((begin, end_next, next_marker + output[end:begin_next] + marker))
    return tuple(found)


def slipped(output: str, *made: Slip) -> str:
    for begin, end, text in sorted(made, reverse=True):
        output = output[:begin] + text + output[end:]
    return output


def outputs(case: Case, mode: Mode, original: Message, thorough: bool) -> Iterator[str]:
    """The case's output with one slip, and with two."""
    texts = [text for call in original.tool_calls for text in (call.name, *strings(call.arguments))]
    texts += [text for call in original.tool_calls for text in scalars(call.arguments)]
    texts += [original.content.strip(), original.reasoning.strip()]
    all = slips(case.format, case.input, tuple(dict.fromkeys(text for text in texts if text)))
    every = max(1, ONE_IN // THOROUGH) if thorough else ONE_IN
    yield from (slipped(case.input, slip) for slip in all if is_drawn(every, case.name, mode, slip))
    draw = random.Random(f"{case.format} {case.name} {mode}")
    for _ in range(PAIRS * THOROUGH if thorough else PAIRS) if all else ():
        first, second = sorted(draw.choices(all, k=2))
        if first[1] <= second[0]:
            yield slipped(case.input, first, second)


def trials(format: str, thorough: bool) -> Iterator[Trial]:
    for case in cases(format):
        for mode in MODES:
            original = read(case, case.input, mode, case.finish_reason)
            if not any(call.is_complete for call in original.tool_calls):
                continue
            for output in outputs(case, mode, original, thorough):
                message = read(case, output, mode, case.finish_reason)
                problem = (
                    misnamed(case, message, original)
                    or wrong_calls(format, message, original)
                    or merged(message, original)
                    or untold(message, output)
                )
                yield Trial(case, mode, output, case.finish_reason, {}, problem)


MODES: tuple[Mode, ...] = ("text", "ids")


def test_law_8(format: str, thorough: bool) -> None:
    failures = [trial for trial in trials(format, thorough) if trial.problem]
    assert len(failures) == known(8, format), shown(failures)
