"""Law 11: with `repair`, a call that is restarted before its closer, and repeated to the letter, does not run twice."""

from __future__ import annotations

from collections.abc import Iterator

from unspool import Message, get_format
from unspool.testing import Case

from .laws import MODES, Mode, Trial, cases_of, known, read, shown
from .test_law_5_closers_twice import fate_at, is_clean


def complete_calls(message: Message) -> list[tuple[str, str]]:
    return [(call.name, call.arguments) for call in message.tool_calls if call.is_complete]


def restarts(case: Case, message: Message) -> Iterator[str]:
    """The outputs that begin the case's only call again where its closer stands."""
    for call in get_format(case.format).facts.calls:
        for opener in filter(None, map(str.strip, call.openers)):
            for closer in filter(None, map(str.strip, call.closers)):
                begin, end = case.input.find(opener), case.input.rfind(closer)
                if "```" in closer or case.input.count(opener) != 1 or end < begin:
                    continue
                if all(fate_at(message, at) in ("marker", "tool_call") for at in (begin, end)):
                    yield from (case.input[:end] + space + case.input[begin:] for space in ("", "\n"))


def trials(format: str, _: bool) -> Iterator[Trial]:
    options = {"repair": True}
    for case in cases_of(format):
        for mode in MODES:
            original = read(case, case.input, mode, case.finish_reason, **options)
            calls = original.tool_calls
            if is_clean(original) and len(calls) == 1 and not calls[0].repairs:
                for number, output in enumerate(restarts(case, original)):
                    yield one(case, mode, original, output, number % 2 == 0)


def one(case: Case, mode: Mode, original: Message, output: str, whole: bool) -> Trial:
    options = {"repair": True}
    message = read(case, output, mode, case.finish_reason, whole, **options)
    wanted, found = complete_calls(original), complete_calls(message)
    problem = "" if found == wanted else f"calls: wanted {wanted}, got {found}"
    return Trial(case, mode, output, case.finish_reason, options, problem)


def test_law_11(format: str, thorough: bool) -> None:
    failures = [trial for trial in trials(format, thorough) if trial.problem]
    assert len(failures) == known(11, format), shown(failures)
