"""Law 7: after a prompt that ends anywhere in an answer, the rest of the answer gives the rest of the message.

The rest has each call that the prompt has not closed, whole; and of content and reasoning what the prompt does not
have."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from unspool import Message, Parser, get_format
from unspool.testing import Case

from .laws import (
    MODES,
    Mode,
    Trial,
    call_tuples,
    cases_of,
    is_drawn,
    known,
    parser_of,
    read,
    shown,
    steps,
)


def history(case: Case) -> str:
    """What precedes the answer: a turn that holds calls, and the beginning of another."""
    given = case.options.get("prompt")
    turn = get_format(case.format).patterns.get("turn")
    return str(given) if given else f"{case.input}\n{turn[0] if turn else ''}"


def prompt_of(case: Case, mode: Mode, before: str) -> Any:
    return [id for _, id in steps(case.format, before)] if mode == "ids" else before


def pieces(case: Case, mode: Mode) -> list[str]:
    """What a prompt may end between: the characters of a text, or the tokens."""
    if mode == "text":
        return list(case.input)
    made: list[bytes] = [b""]
    for text, _ in steps(case.format, case.input):
        if len(text) == 1 and 0x80 <= text[0] < 0xC0:  # amid a character
            made[-1] += text
        else:
            made.append(text)
    return [text.decode() for text in made[1:]]


def fates(message: Message) -> list[tuple[str, str]]:
    """Each character and what it is. The white space around a marker is as good as the marker."""
    return [
        (char, "marker" if fate == "whitespace" else fate) for fate, text in message.audit for char in text
    ]


def ends(case: Case, mode: Mode, made: list[str]) -> list[tuple[int, int]]:
    """For each call the number of pieces after which it has ended, and after which its closer has been read."""
    before = prompt_of(case, mode, history(case))
    # A call that waits for what follows it has ended all the same.
    at_once = {"calls_in_fences": "call", "tool_calls_in_reasoning": "end"}
    whole = read(case, case.input, mode, case.finish_reason, prompt=before)
    now = read(case, case.input, mode, case.finish_reason, prompt=before, **at_once)
    options = at_once if call_tuples(now) == call_tuples(whole) else {}
    parser = parser_of(case, mode, prompt=before, **options)
    found: list[int] = []
    for number, piece in enumerate(made, 1):
        ids = [id for _, id in steps(case.format, piece)]
        deltas = parser.parse_chunk(None if mode == "ids" else piece, None if mode == "text" else ids)
        found += [number for delta in deltas if delta.kind == "tool_call_end"]
    message = parser.finish(case.finish_reason)
    told = fates(message)
    places = [0]
    for piece in made:
        places.append(places[-1] + len(piece))
    closed = []
    for end in found:
        last = end
        while last < len(made) and told[places[last]][1] == "marker":
            last += 1
        closed.append(last)
    return list(zip(found, closed, strict=True))


def trials(format: str, thorough: bool) -> Iterator[Trial]:
    for case in cases_of(format):
        if "start_in" in case.options:
            continue
        for mode in MODES:
            made = pieces(case, mode)
            before = history(case)
            whole = read(case, case.input, mode, case.finish_reason, prompt=prompt_of(case, mode, before))
            ended = ends(case, mode, made)
            for cut in range(len(made) + (mode == "text")):  # without any id, an output is text
                if not thorough and not is_drawn(7, case.name, mode, cut):
                    continue
                head, rest = "".join(made[:cut]), "".join(made[cut:])
                options = {"prompt": prompt_of(case, mode, before + head)}
                message = read(case, rest, mode, case.finish_reason, cut % 2 == 0, **options)
                first = sum(end <= cut for end, _ in ended)
                least = sum(closed <= cut for _, closed in ended)
                problem = _problem(message, whole, len(head), range(least, first + 1))
                yield Trial(case, mode, rest, case.finish_reason, options, problem)


def _problem(message: Message, whole: Message, begin: int, first: range) -> str:
    calls = call_tuples(whole)
    told, said = fates(message), fates(whole)[begin:]
    wanted = [calls[number:] for number in first]
    if all(fate not in ("tool_call", "malformed") for _, fate in said):
        wanted.append([])  # the last call may have waited for what follows it
    if call_tuples(message) not in wanted:
        return f"other calls: wanted {wanted}, got {call_tuples(message)}"
    if told != said:
        at = next(
            (n for n, pair in enumerate(zip(told, said, strict=False)) if pair[0] != pair[1]),
            min(len(told), len(said)),
        )
        return f"other fates: at {at}: wanted {said[at : at + 1]}, got {told[at : at + 1]}"
    return ""


def test_law_7(format: str, thorough: bool) -> None:
    failures = [trial for trial in trials(format, thorough) if trial.problem]
    assert len(failures) == known(7, format), shown(failures)


def test_calls_of_a_prompt_do_not_count(format: str) -> None:
    """With `max_calls`, after a prompt with whole calls and a part of one."""
    for case in cases_of(format)[:3]:
        turn = get_format(format).patterns.get("turn")
        whole = f"{turn[0] if turn else ''}{case.input}"
        for end in range(0, len(case.input), 3):
            options: dict[str, Any] = {"prompt": whole + case.input[:end], "id_seed": 1, "audit": True}
            free = Parser(format, case.tools, **options).parse(case.input[end:])
            limited = Parser(format, case.tools, **options, max_calls=1).parse(case.input[end:])
            assert limited.tool_calls == free.tool_calls[:1], options
            if len(free.tool_calls) <= 1:
                assert limited == free, options
