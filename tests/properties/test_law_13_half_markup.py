"""Law 13: half markup in a value: the value is whole to the letter, or its call is malformed and reported.

It is never complete and cut, never silently shorter, and nothing else runs. A closer that is dropped because it is
written twice is in `repairs`, and the value opened nothing that it closes.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator

from unspool import get_format
from unspool.testing import Case

from .laws import SPELLED, Mode, Trial, known, markers, shown, value_closers, value_openers
from .pattern_texts import around, tagged_values, texts
from .quoting import WRITER, has_tools, judge, tools_with, ways, without_ends, written

BEHIND = ("", "\nThe file is written.")
ONE_PLACE = {
    "the whole value": "{0}",
    "within a line": "a {0} b",
    "at the beginning": "{0} is a tag.",
    "at the end": "This is {0}",
    "at the end, on a line": "x = 1\n{0}",
    "on a line": "x = 1\n{0}\ny = 2",
    "in a literal": "print('{0}')\nx = 1",
    "doubled": "a {0}{0} b",
    "doubled on lines": "a\n{0}\n{0}\nb",
    "doubled at the end": "x = 1{0}{0}",
}
TWO_PLACES = {
    "in order": "a {0} b {1} c",
    "in order on lines": "{0}\n  <hello></hello>\n{1}",
    "in wrong order": "a {1} b {0} c",
    "in wrong order on lines": "x\n{1}\n{0}\ny",
}


@functools.cache
def openers_and_closers(format: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What opens and what closes a call, a section or a value; with a name where one belongs to it."""
    facts = get_format(format).facts
    opens, closes = list(facts.section_openers), [*facts.section_closers, *value_closers(format)]
    for call in facts.calls:
        opens += call.openers
        closes += call.closers
    for pattern in texts(format, "call"):
        if pattern.count("${name}") == 1:
            before, after = around(pattern, "name")
            opens.append(f"{before.strip()}{WRITER}{after.strip()}")
    for before, _ in tagged_values(format):
        opens.append(before.strip())
    for pattern in texts(format, "parameter"):
        if pattern.count("${key}") == 1 and "${value" in pattern:
            before, after = around(pattern, "key")
            opens.append(f"{before.strip()}content{after.strip()}")
    return tuple(dict.fromkeys(filter(None, opens))), tuple(dict.fromkeys(filter(None, closes)))


def values(format: str) -> Iterator[tuple[str, str]]:
    """Values, each with what it holds."""
    opens, closes = openers_and_closers(format)
    for marker in dict.fromkeys([*markers(format), *opens, *closes]):
        for place, text in ONE_PLACE.items():
            yield text.format(marker), f"{marker!r} {place}"
    for opener in opens:
        for closer in closes:
            for place, text in TWO_PLACES.items():
                yield text.format(opener, closer), f"{opener!r}, {closer!r} {place}"


def trials(format: str, thorough: bool) -> Iterator[Trial]:
    if not has_tools(format):
        return
    for text, what in dict(values(format)).items():
        for behind in BEHIND:
            for mode, is_spelled, split in ways(thorough, format, text, behind):
                trial = attempt(format, what, text, mode, behind, is_spelled, split)
                if trial:
                    yield trial


def attempt(
    format: str, what: str, text: str, mode: Mode, behind: str, is_spelled: bool, split: bool
) -> Trial | None:
    value = f"{SPELLED}{text}{SPELLED}" if is_spelled else without_ends(format, text)
    output = written(format, value) + behind
    case = Case(format, f"a value holds {what}", output, tools=tools_with(format, ()))
    problem = judge(case, mode, text, output, "", behind, split)
    if problem is None:
        return None
    return Trial(case, mode, output, "stop", {}, "" if is_allowed(format, text, problem) else problem)


def is_allowed(format: str, text: str, problem: str) -> bool:
    """Whether the call is malformed and says so, is not complete, or says that it left out a closer."""
    if problem.startswith("complete and cut, in repairs"):
        return not any(opener in text for opener in value_openers(format))
    if problem.startswith("incomplete:"):  # the value is open, and has all of the text
        return True
    return problem.startswith("malformed:") and not problem.endswith("malformed ()")


def test_law_13(format: str, thorough: bool) -> None:
    failures = [trial for trial in trials(format, thorough) if trial.problem]
    assert len(failures) == known(13, format), shown(failures)
