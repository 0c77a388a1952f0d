"""Law 4: reasoning that nothing closes stays reasoning, and a call at its end counts; a rehearsed call does not."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from unspool import Message, get_format
from unspool._core import ReasoningFacts
from unspool.testing import Case

from .laws import MODES, Mode, Trial, call_tuples, cases_of, occurrences, read, shown, telling, untold
from .pattern_texts import around, texts

THOUGHT = "I must look it up, I will call."


def calls_alone(format: str) -> list[tuple[Case, str]]:
    """The cases that end in complete calls and nothing else, with the text of these up to the turn's end."""
    found = []
    for case in cases_of(format):
        has_tools = get_format(format).has_tools
        text = text_of_calls(case) if has_tools and set(case.options) <= {"unknown_tools", "prompt"} else ""
        if text:
            found.append((replace(case, options={}), text))
    return found


def text_of_calls(case: Case) -> str:
    facts = get_format(case.format).facts
    written = re.split("|".join(map(re.escape, facts.ends)) or r"\Z", case.input)[0]
    openers = {opener for part in (*facts.calls, *facts.headers) for opener in part.openers}
    openers |= set(facts.section_openers)
    tags = tags_of(case.format)
    for begin, end in occurrences(case.format, written):
        text = written[begin:]
        if written[begin:end] not in openers or written[begin:end].strip() not in telling(case.format):
            continue
        if any(marker in text for marker in (*tags.openers, *tags.closers)):
            continue
        message = read(case, text, start_in="content")
        if message.content or message.reasoning or message.malformed or not message.tool_calls:
            continue
        if all(call.status == "complete" for call in message.tool_calls):
            return text
    return ""


def tags_of(format: str) -> ReasoningFacts:
    """The tags of a format that has reasoning."""
    tags = get_format(format).facts.reasoning
    assert tags
    return tags


def opener(format: str) -> str:
    """What opens reasoning, with the label and the white space that the template writes."""
    before, _ = around(texts(format, "reasoning")[0], "reasoning")
    return before[before.index(tags_of(format).openers[0]) :]


def openings(format: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """How an output gets into reasoning: what it begins with, and the parser's options."""
    yield opener(format), {}
    yield "", {"start_in": "reasoning"}
    for turn in texts(format, "turn")[:1]:
        begun = turn.rstrip().removesuffix(tags_of(format).openers[0])
        yield "", {"prompt": (turn if begun == turn.rstrip() else begun) + opener(format)}


def trials(format: str, thorough: bool) -> Iterator[Trial]:
    file = get_format(format)
    if not file.has_reasoning:
        return
    alone = calls_alone(format) if file.has_tools else []
    some = cases_of(format)[0]
    closer = next(iter(tags_of(format).closers), "")  # a call may end it
    is_kept = tags_of(format).tool_calls != "end"
    # A message of its own is never inside another one.
    has_headers = any(not header.is_inline and not header.names_tool for header in file.facts.headers)
    is_kept = is_kept and not has_headers
    for mode in MODES:
        for begin, options in openings(format):
            for finish in ("stop", "length"):
                case = Case(format, "no call", begin + THOUGHT)
                yield _trial(case, some, mode, begin + THOUGHT, finish, options, THOUGHT, "", [])
                for case, text in alone if thorough else alone[:6]:
                    calls = call_tuples(read(case, text, mode, finish, start_in="content"))
                    output = begin + THOUGHT + text
                    yield _trial(case, case, mode, output, finish, options, THOUGHT, "", calls)
                    # After a second call the first one counts.
                    is_rehearsed = is_kept and finish == "stop" and len(calls) == 1
                    for more in (" But wait.", "") if is_rehearsed else ():
                        rehearsed = THOUGHT + text + more
                        output = begin + rehearsed + closer + "It is 4."
                        yield _trial(case, case, mode, output, finish, options, rehearsed, "It is 4.", [])


def _trial(
    named: Case, case: Case, mode: Mode, output: str, finish: str, options: dict[str, Any],
    reasoning: str, content: str, calls: list[tuple[str, str, str]],
) -> Trial:  # fmt: skip
    message = read(case, output, mode, finish, **options)
    return Trial(named, mode, output, finish, options, _problem(message, output, reasoning, content, calls))


def _problem(
    message: Message, output: str, reasoning: str, content: str, calls: list[tuple[str, str, str]]
) -> str:
    kind = "a rehearsal" if content else "a call at the end" if calls else "no call"
    if call_tuples(message) != calls:
        return f"{kind}, calls: {call_tuples(message)} and not {calls}"
    if message.reasoning.strip() != reasoning.strip():
        return f"{kind}, reasoning: {message.reasoning!r} and not {reasoning!r}"
    if message.content.strip() != content:
        return f"{kind}, content: {message.content!r} and not {content!r}"
    return untold(message, output)


def test_law_4(format: str, thorough: bool) -> None:
    failures = [trial for trial in trials(format, thorough) if trial.problem]
    assert not failures, shown(failures)
