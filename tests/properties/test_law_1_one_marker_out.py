"""Law 1: with one marker taken out, nothing wrong is called, and nothing is gone without a report."""

from __future__ import annotations

from collections.abc import Iterator

from .laws import MODES, Trial, cases_of, known, lost, occurrences, read, shown, untold, wrong_calls


def trials(format: str, _: bool) -> Iterator[Trial]:
    for case in cases_of(format):
        for mode in MODES:
            original = read(case, case.input, mode, case.finish_reason)
            yield Trial(case, mode, case.input, case.finish_reason, {}, untold(original, case.input))
            for begin, end in occurrences(format, case.input):
                output = case.input[:begin] + case.input[end:]
                message = read(case, output, mode, case.finish_reason)
                removed = case.input[begin:end]
                problem = wrong_calls(format, message, original, removed) or untold(message, output)
                if not problem and not message.malformed:
                    problem = lost(case, message, original)
                yield Trial(case, mode, output, case.finish_reason, {}, problem)


def test_law_1(format: str, thorough: bool) -> None:
    failures = [trial for trial in trials(format, thorough) if trial.problem]
    assert len(failures) == known(1, format), shown(failures)
