"""Law 15: a rehearsal is not a call. Calls stand in reasoning that goes on, closes, and is followed by the answer.

With `tool_calls_in_reasoning="end"`, the default of a few families, they are calls; even so the answer is not lost.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from unspool import Message, get_format
from unspool.testing import Case

from .laws import MODES, SPELLED, Mode, Trial, is_drawn, known, read, shown, untold
from .quoting import NEUTRAL, examples, has_tools, quotable, spoken, spoken_of, told, tools_with, written
from .test_law_14_examples import what_runs

ANSWER = "The answer follows: four."
GOES_ON = {
    "with prose between": "For example:\n\n{}\n\nI explain this in words.\n",
    "within lines": "I could write {} here. ",
    "on lines": "Maybe this:\n{}\nNo.\n",
    "one behind the other": "{}\n",
}
LAST = "So I answer."
AT_ONCE = "the closer at once"  # no prose between the last rehearsal and the closer
SPLIT_ONE_IN = 4
CASES_ONE_IN = 2
POLICIES = ("auto", "end")


def rehearsed(format: str) -> Iterator[tuple[Case, str]]:
    """What is rehearsed: a call, and what each case writes behind its reasoning."""
    one = written(format, NEUTRAL).strip()
    yield Case(format, "a written call", "", tools=tools_with(format, ())), one
    for case, text in examples(format):
        if text.strip():
            yield case, text


def trials(format: str, thorough: bool) -> Iterator[Trial]:
    facts = get_format(format).facts.reasoning
    if not has_tools(format) or facts is None or not facts.closers:
        return
    for source, text in rehearsed(format):
        for count in (1, 2, 3):
            for kind, sentence in (GOES_ON | {AT_ONCE: "{}\n"}).items():
                for mode in MODES:
                    seed = (format, str(source), count, kind, mode)
                    if source.input and not (thorough or is_drawn(CASES_ONE_IN, *seed)):
                        continue
                    for policy in POLICIES:
                        options = {} if policy == facts.tool_calls else {"tool_calls_in_reasoning": policy}
                        is_call = policy == "end"
                        yield from attempt(
                            format, source, text, count, kind, sentence, mode, options, is_call, thorough
                        )


def attempt(
    format: str,
    source: Case,
    text: str,
    count: int,
    kind: str,
    sentence: str,
    mode: Mode,
    options: dict[str, Any],
    is_call: bool,
    thorough: bool,
) -> Iterator[Trial]:
    text = quotable(format, mode, text)
    if any(closer.strip() in text for closer in get_format(format).facts.reasoning.closers):  # type: ignore[union-attr]
        return  # it closes the reasoning
    last = "" if kind == AT_ONCE else LAST
    said = (sentence.replace("{}", text) * count + last).strip()
    plain = (sentence.replace("{}", NEUTRAL) * count + last).strip()
    ordinary = spoken_of(format, mode, ANSWER, plain)
    if ordinary is None or ordinary[0].strip() != ANSWER or ordinary[1].strip() != plain:
        return
    output = spoken(format, ANSWER, said)
    tools = None if source.tools is None else tools_with(format, source.tools)
    case = Case(format, f"{count} of {source}", output, tools=tools)
    message = read(case, output, mode, **options)
    problem = (
        what_is_lost(message) if is_call else what_is_wrong(message, said.replace(SPELLED, ""))
    ) or untold(message, output)
    if not problem and (thorough or is_drawn(SPLIT_ONE_IN, format, str(source), count, kind, mode)):
        bytewise = read(case, output, mode, whole=False, **options)
        if told(bytewise) != told(message):
            problem = f"split: whole {told(message)}, by bytes {told(bytewise)}"
    if problem:
        name, _, rest = problem.partition(":")
        number = "one" if count == 1 else "two or three"
        problem = f"{name}, {number}{f', {AT_ONCE}' * (kind == AT_ONCE)}: {kind}:{rest}"
    yield Trial(case, mode, output, "stop", options, problem)


def what_is_wrong(message: Message, reasoning: str) -> str:
    problem = what_runs(message)
    if problem:
        return problem
    if message.content.strip() != ANSWER:
        return f"the answer: got {message.content!r}, reasoning {message.reasoning!r}"
    if message.reasoning.strip() != reasoning:
        return f"the reasoning: wanted {reasoning!r}, got {message.reasoning!r}"
    return ""


def what_is_lost(message: Message) -> str:
    """With "end", a rehearsal is a call; the answer stays the answer."""
    return "" if ANSWER in message.content else f"end, the answer is gone: {told(message)}"


def test_law_15(format: str, thorough: bool) -> None:
    failures = [trial for trial in trials(format, thorough) if trial.problem]
    assert len(failures) == known(15, format), shown(failures)
