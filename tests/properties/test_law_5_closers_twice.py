"""Law 5: a closer that is written twice, with only white space between, is read as one."""

from __future__ import annotations

import functools
from collections.abc import Iterator

from unspool import Message, get_format
from unspool.testing import Case

from .laws import (
    MODES,
    Mode,
    Trial,
    call_tuples,
    cases_of,
    known,
    read,
    shown,
    texts_of,
    untold,
    value_closers,
    value_openers,
)
from .pattern_texts import around, texts

SPACES = ("", "\n")


@functools.cache
def closers(format: str) -> tuple[str, ...]:
    """The closers of calls, sections, values, keys and reasoning; a fence is none, for it opens a block too."""
    facts = get_format(format).facts
    found = [*facts.section_closers, *value_closers(format)]
    found += [text for call in facts.calls for text in call.closers]
    found += facts.reasoning.closers if facts.reasoning else ()
    for pattern in texts(format, "parameter"):
        if pattern.count("${key") == 1:
            after_key, _, _ = around(pattern, "key")[1].partition("><")
            found.append(after_key + ">" if after_key.startswith("</") else "")
    return tuple({text.strip(): None for text in found if len(text.strip()) > 2 and "```" not in text})


def is_clean(message: Message) -> bool:
    return not message.malformed and all(call.is_complete for call in message.tool_calls)


def told(message: Message) -> object:
    """What the closer may not change; white space around it is another matter."""
    return message.content.strip(), message.reasoning.strip(), call_tuples(message)


def fate_at(message: Message, offset: int) -> str:
    end = 0
    for fate, text in message.audit:
        end += len(text)
        if offset < end:
            return fate
    return ""


def closes_value(format: str, closer: str, said: str) -> bool:
    """Whether a second closer is a value's text: the value has opened what it closes (law 12)."""
    return closer in value_closers(format) and any(opener in said for opener in value_openers(format))


def trials(format: str, _: bool) -> Iterator[Trial]:
    for case in cases_of(format):
        for mode in MODES:
            original = read(case, case.input, mode, case.finish_reason)
            if not is_clean(original):
                continue
            said = "\n".join([original.content, original.reasoning, *texts_of(original)])
            for closer in closers(format):
                if closer in said or closes_value(format, closer, said):
                    continue
                at = case.input.find(closer)
                while at >= 0:
                    if fate_at(original, at) in ("marker", "tool_call"):
                        yield from twice(case, mode, original, at + len(closer), closer)
                    at = case.input.find(closer, at + len(closer))


def twice(case: Case, mode: Mode, original: Message, end: int, closer: str) -> Iterator[Trial]:
    for space in SPACES:
        output = case.input[:end] + space + closer + case.input[end:]
        for whole in (True, False):
            message = read(case, output, mode, case.finish_reason, whole)
            problem = untold(message, output)
            if message.malformed:
                problem = f"malformed: {closer!r}: {message.malformed}"
            elif told(message) != told(original):
                problem = f"changed: {closer!r}: wanted {told(original)}, got {told(message)}"
            yield Trial(case, mode, output, case.finish_reason, {}, problem)


def test_law_5(format: str, thorough: bool) -> None:
    failures = [trial for trial in trials(format, thorough) if trial.problem]
    assert len(failures) == known(5, format), shown(failures)
