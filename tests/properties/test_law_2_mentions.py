"""Law 2: a marker that is only mentioned stays where it is, and what follows is read as if it were not there.

By ids a mention is spelled in ordinary tokens: it counts for nothing. In text mode it stays wherever what
follows does not read as a call; left out there, since they mean what they say wherever they stand:
the end of a turn, markup that the format drops, the opener of reasoning, what closes the region or the quoted
value that the mention is in, and in a block of calls its openers and closers. A comma ends a bare value.
A value that its schema forbids is no place: with a marker in it, its call is malformed (`test_slips.py`).
"""

from __future__ import annotations

import functools
import html
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from unspool import Message, get_format
from unspool.testing import Case

from .laws import (
    MODES,
    SPELLED,
    Mode,
    Trial,
    call_tuples,
    cases_of,
    known,
    markers,
    occurrences,
    read,
    shown,
    steps,
    telling,
    untold,
    value_openers,
)
from .pattern_texts import around, texts


@dataclass(frozen=True)
class Place:
    """Where a mention may stand: its offset in the input, in the content or the reasoning, or in which value."""

    kind: str  # "before", "content", "fence", "reasoning", "value"
    offset: int
    inner: int = 0
    value: str = ""


@functools.cache
def plain_markup(format: str) -> tuple[str, ...]:
    """The markers that the format drops."""
    return get_format(format).facts.dropped


@functools.cache
def excluded(format: str, kind: str) -> frozenset[str]:
    """The markers that mean what they say in this kind of place, in text mode."""
    facts = get_format(format).facts
    opens, closes = (facts.reasoning.openers, facts.reasoning.closers) if facts.reasoning else ((), ())
    found = {*facts.ends, *plain_markup(format)}
    if facts.headers or kind in ("before", "content", "fence"):
        found |= set(opens)  # with headers, a whole one
    if kind == "reasoning":
        found |= set(closes)
    elif kind == "value":
        found |= set(quotes(format))
    return frozenset(found)


@functools.cache
def quotes(format: str) -> tuple[str, ...]:
    """The markers around strings, of formats that have some."""
    return tuple({text for pattern in texts(format, "string") for text in around(pattern, "value")})


@functools.cache
def call_closers(format: str) -> frozenset[str]:
    return frozenset(marker for call in get_format(format).facts.calls for marker in call.closers)


@functools.cache
def block_markers(format: str) -> tuple[frozenset[str], frozenset[str]]:
    """What opens a call or a block of calls, and what closes one."""
    facts = get_format(format).facts
    opens = {*facts.section_openers, *(marker for call in facts.calls for marker in call.openers)}
    return frozenset(opens), call_closers(format) | set(facts.section_closers)


def is_in_block(case: Case, offset: int) -> bool:
    """Whether a block of calls is open there."""
    opens, closes = block_markers(case.format)
    before = case.input[:offset]
    return sum(map(before.count, opens)) > sum(map(before.count, closes))


def is_spelled(format: str, marker: str) -> bool:
    """Whether the marker is made of tokens, so that its spelling is ordinary text."""
    return all(id > 255 for _, id in steps(format, marker))


def dialects(format: str) -> set[str]:
    return {call.body for call in get_format(format).facts.calls}


def written(case: Case, place: Place, text: str) -> str | None:
    """A text as a value of this case holds it; None where that is not sure."""
    marks = quotes(case.format)
    is_bare = bool(marks) and not case.input[: place.offset - 1].endswith(marks)
    if is_bare and any(byte in text for byte in ",{}[]"):
        return None
    if dialects(case.format) <= {"json_call", "json_arguments"}:
        return json.dumps(text, ensure_ascii=False)[1:-1]
    if any(quote in text for quote in "\"'\\&"):
        return None
    has_entities = any(re.search(r"\$\{value:[^}]*xml", text) for text in texts(case.format, "parameter"))
    return html.escape(text) if has_entities and "<![CDATA[" not in case.input else text


def places(case: Case, original: Message) -> Iterator[Place]:
    """One place of each kind, in the middle of a word."""
    begins: dict[str, tuple[int, int]] = {}
    sums: dict[str, int] = {}
    at = 0
    for fate, text in original.audit:
        told = sums.get(fate, 0)
        for inner in range(1, len(text)):
            if (
                fate in ("content", "reasoning")
                and fate not in begins
                and text[inner - 1 : inner + 1].isalnum()
                and not any(begin < at + inner < end for begin, end in occurrences(case.format, case.input))
            ):
                begins[fate] = (at + inner, told + inner)
        sums[fate] = told + len(text)
        at += len(text)
    if "content" in begins:
        yield Place("content", *begins["content"])
        yield Place("fence", *begins["content"])
    if "reasoning" in begins:
        yield Place("reasoning", *begins["reasoning"])
    opens = case.input.lstrip().startswith(telling(case.format))
    opens = opens and original.audit[0][0] in ("marker", "tool_call")
    opens = opens and not case.input.lstrip().startswith(plain_markup(case.format))
    if opens and original.tool_calls and not original.reasoning and "prompt" not in case.options:
        yield Place("before", 0)
    for call in original.tool_calls:
        forbidden = {violation.path.split("/")[1] for violation in call.violations if "/" in violation.path}
        arguments = json.loads(call.arguments).items()
        values = [value for key, value in arguments if isinstance(value, str) and key not in forbidden]
        for value in values:
            if len(value) > 1 and value.isalnum() and case.input.count(value) == 1:
                yield Place("value", case.input.index(value) + 1, 1, value)
                return


def mention(place: Place, marker: str) -> str:
    if place.kind == "before":
        return f"The tag {marker} starts a call."
    if place.kind == "fence":
        return f":\n```\n{marker}\n```\n"
    return f" {marker} tags{'' if place.kind == 'value' else ', so'} "


def expected(original: Message, place: Place, said: str) -> tuple[str, str, list[tuple[str, object, str]]]:
    content, reasoning = original.content, original.reasoning
    if place.kind == "before":
        content = said + content
    elif place.kind in ("content", "fence"):
        content = content[: place.inner] + said + content[place.inner :]
    elif place.kind == "reasoning":
        reasoning = reasoning[: place.inner] + said + reasoning[place.inner :]
    calls = []
    for name, arguments, status in call_tuples(original):
        values = json.loads(arguments)
        if place.kind == "value":
            new = place.value[:1] + said + place.value[1:]
            values = {key: new if value == place.value else value for key, value in values.items()}
        calls.append((name, values, status))
    return content, reasoning, calls


def found(message: Message) -> tuple[str, str, list[tuple[str, object, str]]]:
    calls = []
    for name, arguments, status in call_tuples(message):
        try:
            calls.append((name, json.loads(arguments), status))
        except ValueError:
            calls.append((name, arguments, status))
    return message.content, message.reasoning, calls


def trials(format: str, _: bool) -> Iterator[Trial]:
    names = [
        marker for marker in markers(format) if len(marker) > 2 and marker != "```"
    ]  # fences come in pairs
    for case in cases_of(format):
        original = read(case, case.input, "text", case.finish_reason)
        if original.malformed or original.dropped or any(c.status != "complete" for c in original.tool_calls):
            continue
        for place in places(case, original):
            for marker in names:
                for mode in MODES:
                    trial = attempt(case, mode, original, place, marker)
                    if trial:
                        yield trial


def attempt(case: Case, mode: Mode, original: Message, place: Place, marker: str) -> Trial | None:
    is_free = mode != "text" and is_spelled(case.format, marker)
    if not is_free and marker in excluded(case.format, place.kind):
        return None
    in_block = place.kind in ("content", "fence") and is_in_block(case, place.offset)
    if not is_free and in_block and any(marker in markers for markers in block_markers(case.format)):
        return None
    owed = len(original.tool_calls) - sum(case.input.count(closer) for closer in call_closers(case.format))
    if place.kind in ("content", "fence") and (owed > 0) == (marker in call_closers(case.format)) and owed:
        return None  # a closer that is still owed, or an opener before one that closes nothing
    said = mention(place, marker)
    text = said
    if place.kind == "value":
        if marker in value_openers(case.format) and any(call.repairs for call in original.tool_calls):
            return None  # a closer is written twice: the mention opens what the second one closes
        escaped = written(case, place, said)
        if escaped is None:
            return None
        text = escaped
    options = {"start_in": "content"} if place.kind == "before" else {}
    plain = read(case, case.input, mode, case.finish_reason, **options)
    if plain.malformed or found(plain) != found(original):
        return None  # the input itself spells a marker that is a token, or closes a reasoning from before
    output = f"{case.input[: place.offset]}{SPELLED}{text}{SPELLED}{case.input[place.offset :]}"
    message = read(case, output, mode, case.finish_reason, **options)
    problem = untold(message, output)
    wanted, got = expected(original, place, said), found(message)
    if wanted != got:
        problem = (
            f"{place.kind} ({'text' if mode == 'text' else 'ids'}): {marker!r}: wanted {wanted}, got {got}"
        )
    elif any(item.index is not None for item in message.malformed):
        problem = f"{place.kind} malformed: {marker!r}: {message.malformed}"
    return Trial(case, mode, output, case.finish_reason, options, problem)


def test_law_2(format: str, thorough: bool) -> None:
    failures = [trial for trial in trials(format, thorough) if trial.problem]
    assert len(failures) == known(2, format), shown(failures)
