"""Law 3: an output that is cut anywhere shows no piece of a closer, no call that is none, and no silent repair."""

from __future__ import annotations

from collections.abc import Iterator

from unspool import Message
from unspool.testing import Case

from .laws import (
    Trial,
    call_tuples,
    cases_of,
    is_drawn,
    is_object,
    occurrences,
    read,
    shown,
    steps,
    strings,
    texts_of,
    untold,
)

REASONS = ("stop", "length", "error")


def cut_values(message: Message) -> list[str]:
    return [text for call in message.tool_calls for text in strings(call.arguments)]


def trials(format: str, thorough: bool) -> Iterator[Trial]:
    for case in cases_of(format):
        data = case.input.encode()
        original = texts_of(read(case, case.input, "text", case.finish_reason))
        inside = {
            len(case.input[:place].encode()): case.input[begin:place]
            for begin, end in occurrences(format, case.input)
            for place in range(begin + 1, end)
        }
        for cut in range(len(data) + 1):
            for finish in REASONS:
                if thorough or is_drawn(2, case.name, cut, finish):
                    text = data[:cut].decode(errors="ignore")
                    yield from _both_ways(case, text, finish, original, inside.get(cut, ""), thorough)
        yield from _by_tokens(case, original, thorough)


def _both_ways(
    case: Case, output: str, finish: str, original: list[str], piece: str, thorough: bool
) -> Iterator[Trial]:
    plain = read(case, output, "text", finish)
    mended = read(case, output, "text", finish, repair=True)
    for message, repair in ((plain, False), (mended, True)):
        options = {"repair": True} if repair else {}
        problem = _problem(message, original, piece) or untold(message, output)
        if repair and not problem:
            problem = _silent_repair(plain, mended)
        if not problem and is_drawn(4 if thorough else 8, case.name, output, finish, repair):
            problem = _difference(message, read(case, output, "text", finish, whole=False, **options))
        yield Trial(case, "text", output, finish, options, problem)


def _by_tokens(case: Case, original: list[str], thorough: bool) -> Iterator[Trial]:
    made = steps(case.format, case.input)
    for cut in range(len(made) + 1):
        mode = "ids" if is_drawn(2, case.name, cut) else "both"
        if not thorough and not is_drawn(4, case.name, cut, "ids"):
            continue
        output = b"".join(text for text, _ in made[:cut]).decode(errors="ignore")
        finish = REASONS[cut % 3]
        message = read(case, output, mode, finish)
        problem = _problem(message, original, "")
        problem = problem or _difference(message, read(case, output, mode, finish, whole=False))
        yield Trial(case, mode, output, finish, {}, problem)


def _problem(message: Message, original: list[str], piece: str) -> str:
    for call in message.tool_calls:
        if call.status == "complete" and not is_object(call.arguments):
            return f"complete, no object: {call.name!r} {call.arguments!r}"
    if piece:
        for text in cut_values(message):
            if text.endswith(piece) and not any(other.startswith(text) for other in original):
                return f"a piece of a closer in a value: {piece!r} in {text!r}"
    return ""


def _silent_repair(plain: Message, mended: Message) -> str:
    before = call_tuples(plain)
    for number, call in enumerate(mended.tool_calls):
        now = (call.name, call.arguments, call.status)
        if call.is_complete and not call.repairs and (number >= len(before) or before[number] != now):
            told = before[number] if number < len(before) else None
            return f"a silent repair: {told} became {now}"
    return ""


def _difference(whole: Message, pieces: Message) -> str:
    for name in ("content", "reasoning", "tool_calls", "malformed", "dropped", "finish_reason"):
        one, other = getattr(whole, name), getattr(pieces, name)
        if one != other:
            return f"the split matters: {name}: {one!r} whole, {other!r} in pieces"
    return ""


def test_law_3(format: str, thorough: bool) -> None:
    failures = [trial for trial in trials(format, thorough) if trial.problem]
    assert not failures, shown(failures)
