"""Law 12: a value holds any text, also an output of the format itself: one call, and nothing in the value runs.

The texts are the inputs of the format's own cases, of three other formats', and a page of the documentation. By ids,
markers in a value are tokens, as models write them, or are spelled.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path

from unspool.testing import Case

from .laws import SPELLED, Mode, Trial, cases_of, is_drawn, known, shown
from .quoting import has_tools, judge, others_of, tools_with, ways, without_ends, written

PAGE = Path(__file__).parents[2] / "docs" / "formats-by-example.md"
PROSE = {
    "alone": ("", ""),
    "prose before": ("I write the file now.", ""),
    "prose behind": ("", "\nThe file is written."),
    "prose around": ("I write the file now.", "\nThe file is written."),
}
OTHERS_ONE_IN = 4


@functools.cache
def page() -> Case:
    return Case("none", "a page of the documentation", PAGE.read_text(encoding="utf-8"))


def quoted(format: str, thorough: bool) -> Iterator[Case]:
    """The cases whose input is the value."""
    yield from cases_of(format)
    for other in others_of(format):
        for case in cases_of(other):
            if thorough or is_drawn(OTHERS_ONE_IN, format, str(case)):
                yield case
    yield page()


def trials(format: str, thorough: bool) -> Iterator[Trial]:
    if not has_tools(format):
        return
    for quote in quoted(format, thorough):
        text = quote.input
        for prose, (before, behind) in PROSE.items():
            for mode, is_spelled, split in ways(thorough, format, str(quote), prose):
                is_short = len(text) < 2000
                trial = attempt(format, quote, mode, before, behind, is_spelled, split and is_short)
                if trial:
                    yield trial


def attempt(
    format: str, quote: Case, mode: Mode, before: str, behind: str, is_spelled: bool, split: bool
) -> Trial | None:
    value = f"{SPELLED}{quote.input}{SPELLED}" if is_spelled else without_ends(format, quote.input)
    output = written(format, value, before) + behind
    case = Case(format, f"a value quotes {quote}", output, tools=tools_with(format, quote.tools))
    problem = judge(case, mode, quote.input, output, before, behind, split)
    return None if problem is None else Trial(case, mode, output, "stop", {}, problem)


def test_law_12(format: str, thorough: bool) -> None:
    failures = [trial for trial in trials(format, thorough) if trial.problem]
    assert len(failures) == known(12, format), shown(failures)
