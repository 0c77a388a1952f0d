"""Calls that quote: how a format writes a call whose value is a text, and what became of it."""

from __future__ import annotations

import functools
import json
import zlib
from collections.abc import Iterable, Iterator
from typing import Any

from unspool import Message, get_format
from unspool.core.format.registry import sources
from unspool.testing import Case
from unspool.writing.render.render import write_text

from .laws import MODES, SPELLED, Mode, cases_of, is_drawn, read, untold
from .pattern_texts import keyless_values

WRITER = "write_file"
FILE = "notes.txt"
NEUTRAL = "Paris"
SPELLED_ONE_IN = 8
SPLIT_ONE_IN = 4
_STAND_IN = "⸿"  # for SPELLED, which Python's literals escape
# Those that are shipped: another test may register a format.
SHIPPED = tuple(source.name for source in sources())


def tool(name: str, *keys: str) -> dict[str, Any]:
    properties = {key: {"type": "string"} for key in keys}
    parameters = {"type": "object", "properties": properties, "required": list(keys)}
    return {"type": "function", "function": {"name": name, "parameters": parameters}}


@functools.cache
def is_keyless(format: str) -> bool:
    """Whether a call has one value and no key."""
    return bool(keyless_values(format))


def arguments_of(format: str, text: str) -> dict[str, str]:
    """The arguments of the call that holds the text."""
    return {"content": text} if is_keyless(format) else {"path": FILE, "content": text}


def tools_with(format: str, others: Iterable[Any] | None) -> tuple[dict[str, Any], ...]:
    """The tool that holds texts, and the others of a request."""
    writer = tool(WRITER, *arguments_of(format, ""))
    return writer, *(one for one in others or () if name_of(one) != WRITER)


def name_of(tool: Any) -> str:
    return str(tool.get("function", tool)["name"])


@functools.cache
def written(format: str, text: str, before: str = "", reasoning: str = "") -> str:
    """A call whose value is the text, after prose or reasoning, as the format's model writes it."""
    call = {"name": WRITER, "arguments": arguments_of(format, text.replace(SPELLED, _STAND_IN))}
    message = {"reasoning": reasoning, "content": before, "tool_calls": [call]}
    return write_text(get_format(format), message, continues=False).replace(_STAND_IN, SPELLED)


def without_ends(format: str, text: str) -> str:
    """The text with the ends of an answer spelled: as a token, such a marker ends the generation."""
    for end in get_format(format).facts.ends:
        text = text.replace(end, f"{SPELLED}{end}{SPELLED}")
    return text


def ways(thorough: bool, *seed: object) -> Iterator[tuple[Mode, bool, bool]]:
    """How a value is read: the mode, whether its markers are spelled by ids, and whether splits are tried too."""
    for mode in MODES:
        for is_spelled in (False, True):
            way = (*seed, mode, is_spelled)
            if is_spelled and (mode == "text" or not (thorough or is_drawn(SPELLED_ONE_IN, *way))):
                continue
            yield mode, is_spelled, thorough or is_drawn(SPLIT_ONE_IN, *way)


def text_of(message: Message) -> tuple[str, str]:
    return message.content, message.reasoning


def told(message: Message) -> object:
    """All that a message says, ids aside."""
    calls = [(call.name, call.arguments, call.status) for call in message.tool_calls]
    return text_of(message), calls, [(item.text, item.index) for item in message.malformed]


@functools.cache
def plain(format: str, mode: Mode, value: str, before: str, behind: str) -> Message | None:
    """The same output with an ordinary value; None if the format does not say it."""
    output = written(format, value, before) + behind
    message = read(Case(format, "plain", output, tools=tools_with(format, ())), output, mode)
    calls = [(call.name, call.is_complete) for call in message.tool_calls]
    return message if calls == [(WRITER, True)] and not message.malformed else None


def neutral(text: str) -> str:
    """An ordinary text with the white space of this one at its ends."""
    return text[: len(text) - len(text.lstrip())] + NEUTRAL + text[len(text.rstrip()) :]


def value_of(message: Message) -> str:
    return str(json.loads(message.tool_calls[0].arguments).get("content"))


def is_kept(format: str, mode: Mode, text: str, value: str, before: str, behind: str) -> bool:
    """Whether the value is the text; white space at its ends counts if the format keeps that of an ordinary text."""
    other = neutral(text)
    ordinary = plain(format, mode, other, before, behind)
    exact = bool(text.strip()) and ordinary is not None and value_of(ordinary) == other
    return value == text if exact else value.strip() == text.strip()


def judge(
    case: Case, mode: Mode, text: str, output: str, before: str, behind: str, split: bool
) -> str | None:
    """What is wrong with a call that holds the text: the most dangerous first; "" if nothing, None if it is no trial."""
    format = case.format
    ordinary = plain(format, mode, NEUTRAL, before, behind)
    if ordinary is None or value_of(ordinary) != NEUTRAL:
        return None
    message = read(case, output, mode)
    problem = what_is_wrong(case, mode, text, message, ordinary, before, behind) or untold(message, output)
    if not problem and split:
        bytewise = read(case, output, mode, whole=False)
        if told(bytewise) != told(message):
            problem = f"split: whole {told(message)}, by bytes {told(bytewise)}"
    return problem


def what_is_wrong(
    case: Case, mode: Mode, text: str, message: Message, ordinary: Message, before: str, behind: str
) -> str:
    calls = [(call.name, call.arguments, call.status) for call in message.tool_calls]
    got = f"{calls}, {message.content!r}"
    complete = [call for call in message.tool_calls if call.is_complete]
    others = [call for call in complete if call.name != WRITER]
    if others or len(complete) > 1:
        return f"another call runs: {got}"
    wanted = arguments_of(case.format, text)
    for call in complete:
        given = json.loads(call.arguments)
        value = given.pop("content", None)
        rest = {key: one for key, one in wanted.items() if key != "content"}
        if (
            given == rest
            and isinstance(value, str)
            and is_kept(case.format, mode, text, value, before, behind)
        ):
            continue
        is_cut = isinstance(value, str) and len(value.strip()) < len(text.strip())
        if is_cut and call.repairs:
            return f"complete and cut, in repairs: {call.repairs}, {got}"
        return f"complete and {'cut' if is_cut else 'changed'}: {got}"
    if not calls:
        return f"no call: {got}, malformed {message.malformed}"
    if len(calls) > 1:
        return f"another call shows: {got}"
    if not complete:
        return f"{calls[0][2]}: {got}, malformed {message.malformed}"
    if message.malformed:
        return f"reported though complete: {message.malformed}"
    if text_of(message) != text_of(ordinary):
        return f"content: wanted {text_of(ordinary)}, got {text_of(message)}"
    return ""


def others_of(format: str, count: int = 3) -> tuple[str, ...]:
    """Other formats, always the same ones for a format."""
    rest = [name for name in SHIPPED if name != format and cases_of(name)]
    return tuple(sorted(rest, key=lambda name: zlib.crc32(f"{format} {name}".encode()))[:count])


def has_tools(format: str) -> bool:
    return bool(get_format(format).has_tools)


@functools.cache
def spoken(format: str, content: str, reasoning: str = "") -> str:
    """An answer without calls, as the format's model writes it."""
    message = {
        "reasoning": reasoning.replace(SPELLED, _STAND_IN),
        "content": content.replace(SPELLED, _STAND_IN),
    }
    return write_text(get_format(format), message, continues=False).replace(_STAND_IN, SPELLED)


@functools.cache
def spoken_of(format: str, mode: Mode, content: str, reasoning: str = "") -> tuple[str, str] | None:
    """Content and reasoning of an answer that quotes nothing; None if the format does not say it."""
    output = spoken(format, content, reasoning)
    message = read(Case(format, "plain", output, tools=tools_with(format, ())), output, mode)
    return None if message.tool_calls or message.malformed else text_of(message)


@functools.cache
def examples(format: str) -> tuple[tuple[Case, str], ...]:
    """The format's cases, each with what it writes behind its reasoning."""
    return tuple((case, example(case)) for case in cases_of(format))


def example(case: Case) -> str:
    """What a case writes behind its reasoning: its text and its calls."""
    place = begin = 0
    for fate, text in read(case, case.input, "text", case.finish_reason).audit:
        place += len(text)
        if fate == "reasoning":
            begin = place
    rest = case.input[begin:].lstrip()
    facts = get_format(case.format).facts.reasoning
    closers = facts.closers if begin and facts else ()
    closer = max((text for text in closers if rest.startswith(text.strip())), key=len, default="")
    return rest.removeprefix(closer.strip()).strip()


def quotable(format: str, mode: Mode, text: str) -> str:
    """The text without what ends an answer and no call: by ids it is spelled, in text mode left out."""
    if mode != "text":
        return without_ends(format, text)
    facts = get_format(format).facts
    closers = {closer.strip() for call in facts.calls for closer in call.closers}
    for marker in sorted(facts.ends, key=len, reverse=True):
        if marker.strip() not in closers:
            text = text.replace(marker, "")
    return text.strip()


def opens_reasoning(format: str, text: str) -> bool:
    facts = get_format(format).facts.reasoning
    return facts is not None and any(opener.strip() in text for opener in facts.openers)
