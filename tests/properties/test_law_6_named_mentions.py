"""Law 6: an opener that is mentioned with a tool's name is text, and a call behind it is read.

Only where the mention is ordinary text. A token of the vocabulary opens what it opens.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator

from unspool.testing import Case

from .laws import MODES, SPELLED, Mode, Trial, call_tuples, cases_of, known, read, shown, untold
from .pattern_texts import around, texts

MENTIONS = {
    "prose": "I write {} and go on. ",
    "quoted": "I write `{}` and go on. ",
    "line": "I write\n{} and go on. ",
    "twice": "I write `{}` or `{}` there. ",
    "parts": "I write `{}` first.\n\nThen I go on. ",
}
CALLS = "The answer follows.\n"


@functools.cache
def openers(format: str) -> tuple[str, ...]:
    """What stands before a call's name and after it; "%" stands for the name."""
    found = []
    for pattern in texts(format, "call"):
        if pattern.count("${name") != 1 or "${object" in pattern:
            continue
        before, after = around(pattern, "name")
        if len(before.strip()) > 2:
            found.append(f"{before.strip()}%{after.strip()}")
    return tuple(dict.fromkeys(found))


def inputs(case: Case) -> Iterator[tuple[str, str]]:
    """What follows the mention: nothing, or the whole output of a case that begins with its call."""
    yield "alone", ""
    if not case.options and case.input.lstrip().startswith(
        tuple(o.split("%")[0] for o in openers(case.format))
    ):
        yield "a call behind it", CALLS + case.input


def trials(format: str, _: bool) -> Iterator[Trial]:
    case = next((case for case in cases_of(format) if case.tools), None)
    if case is None or not openers(format):
        return
    cases = [case, *(each for each in cases_of(format) if each is not case and len(list(inputs(each))) > 1)]
    for each in cases[:4]:
        for behind, output in inputs(each):
            for kind, sentence in MENTIONS.items():
                for opener in openers(format):
                    said = sentence.replace("{}", opener.replace("%", name_of(each)))
                    for mode in MODES:
                        trial = attempt(each, mode, f"{kind}, {behind}", said, output)
                        if trial:
                            yield trial
    for opener in openers(format):
        for mode in MODES:
            said = "I write " + opener.replace("%", name_of(case))
            trial = attempt(case, mode, "end", said, "")
            if trial:
                yield trial


def name_of(case: Case) -> str:
    return str(case.tools[0].get("function", case.tools[0])["name"])


def attempt(case: Case, mode: Mode, kind: str, said: str, output: str) -> Trial | None:
    after = read(case, output, mode, "stop", start_in="content")
    if after.malformed or any(not call.is_complete for call in after.tool_calls):
        return None
    text = f"{SPELLED}{said}{SPELLED}{output}" if mode != "text" else said + output
    message = read(case, text, mode, "stop", start_in="content")
    problem = untold(message, text)
    wanted = " ".join((said + after.content).split())
    if " ".join(message.content.split()) != wanted:
        problem = f"{kind}: content: wanted {wanted!r}, got {message.content!r}, {call_tuples(message)}"
    elif call_tuples(message) != call_tuples(after):
        problem = f"{kind}: calls: wanted {call_tuples(after)}, got {call_tuples(message)}"
    elif any(item.index is not None for item in message.malformed):
        problem = f"{kind}: malformed: {message.malformed}"
    return Trial(case, mode, text, "stop", {"start_in": "content"}, problem)


def test_law_6(format: str, thorough: bool) -> None:
    failures = [trial for trial in trials(format, thorough) if trial.problem]
    assert len(failures) == known(6, format), shown(failures)
