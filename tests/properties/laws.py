"""What the four laws share: an output as text, by ids and both; what is a marker or a piece of one; what was lost."""

from __future__ import annotations

import functools
import html
import json
import re
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from unspool import Message, Parser, Vocabulary, get_format
from unspool.core.stream.tool_schemas import compile_tools
from unspool.testing import Case, shipped_cases

from .pattern_texts import around, tagged_values, texts

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Mode = Literal["text", "ids", "both"]
MODES: tuple[Mode, ...] = ("text", "ids", "both")
SPELLED = "\ue000"  # stands around a mention: what is between two of them is spelled in ordinary tokens


@dataclass(frozen=True)
class Trial:
    """One output that a law was tried on; `problem` is "" where the law holds."""

    case: Case
    mode: Mode
    output: str
    finish: str
    options: dict[str, Any]
    problem: str

    @property
    def kind(self) -> str:
        """The class of the problem: what stands before the colon."""
        return self.problem.split(":", 1)[0]

    def __str__(self) -> str:
        options = {**self.case.options, **self.options}
        shown = "".join(f", {key}={value!r}" for key, value in options.items())
        output = self.output.replace(SPELLED, "")
        return (
            f"{self.case} [{self.mode}, {self.finish}]\n    {self.problem}\n"
            f"    parse({output!r}, {self.case.format!r}, TOOLS, finish_reason={self.finish!r}{shown})"
        )


Law = Callable[[str, bool], Iterator[Trial]]  # a format's name, whether all is tried


def is_drawn(every: int, *what: object) -> bool:
    """One in so many, and always the same ones."""
    return zlib.crc32(repr(what).encode()) % every == 0


def shown(trials: Iterable[Trial], most: int = 5) -> str:
    """The first failures of each kind, and how many there are."""
    failures = [trial for trial in trials if trial.problem]
    kinds = Counter(trial.kind for trial in failures)
    lines = []
    for kind, number in kinds.most_common():
        first = [trial for trial in failures if trial.kind == kind][:most]
        lines += [f"{kind}: {number}", *(f"  {trial}" for trial in first)]
    return "\n".join(lines)


@functools.cache
def _known() -> dict[str, dict[str, int]]:
    return tomllib.loads((Path(__file__).parent / "known_failures.toml").read_text(encoding="utf-8"))


def known(law: int, format: str) -> int:
    """How many trials fail today: the number may only fall, and is lowered when it does."""
    return _known().get(f"law_{law}", {}).get(format, 0)


@functools.cache
def cases_of(format: str) -> tuple[Case, ...]:
    return tuple(case for case in shipped_cases(format) if case.format == format)


@functools.cache
def markers(format: str) -> tuple[str, ...]:
    """Every text that opens or closes something, the longest first; white space alone is none."""
    found = {marker for marker in get_format(format).facts.markers if marker.strip()}
    return tuple(sorted(found, key=lambda marker: (-len(marker), marker)))


@functools.cache
def tokens(format: str) -> dict[str, int]:
    """The texts that a tokenizer for this format holds as one token each, with their ids."""
    found = get_format(format).facts.marker_tokens
    return {marker: 256 + number for number, marker in enumerate(found)}


@functools.cache
def telling(format: str) -> tuple[str, ...]:
    """The markers, and the tokens that they are made of, that no value holds by accident."""
    found = {marker.strip() for marker in markers(format)} | set(tokens(format))
    return tuple(sorted(marker for marker in found if len(marker) > 2 and marker[0] in "<[]◁"))


@functools.cache
def vocabulary(format: str) -> Vocabulary:
    """One id a byte, and one for each marker that is worth a token."""
    added = [(id, marker, marker, True) for marker, id in tokens(format).items()]
    return Vocabulary({bytes([byte]): byte for byte in range(256)}, added, is_bytes=True)


@functools.cache
def _pattern(texts: tuple[str, ...]) -> re.Pattern[str]:
    longest_first = sorted(texts, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, longest_first)) or r"(?!)")


def occurrences(format: str, text: str) -> list[tuple[int, int]]:
    """Where markers stand in a text: (begin, end) of each, the longest at its place."""
    return [match.span() for match in _pattern(markers(format)).finditer(text)]


def steps(format: str, output: str) -> list[tuple[bytes, int]]:
    """The tokens of an output: what each writes, and its id. A mention (`SPELLED`) is written byte by byte."""
    made: list[tuple[bytes, int]] = []
    ids = tokens(format)
    for number, part in enumerate(output.split(SPELLED)):
        place = 0
        for match in () if number % 2 else _pattern(tuple(ids)).finditer(part):
            made += [(bytes([byte]), byte) for byte in part[place : match.start()].encode()]
            made.append((match.group().encode(), ids[match.group()]))
            place = match.end()
        made += [(bytes([byte]), byte) for byte in part[place:].encode()]
    return made


@functools.cache
def _tools(json_text: str) -> Any:
    return compile_tools(json.loads(json_text))


def parser_of(case: Case, mode: Mode, **options: Any) -> Parser:
    given = {**case.options, "id_seed": 1, "audit": True, **options}
    tokenizer = None if mode == "text" else vocabulary(case.format)
    tools = None if case.tools is None else _tools(json.dumps(case.tools))
    if mode != "text" and case.options.keys() & {"reasoning", "tool_choice"}:
        given["skip_special_tokens"] = False  # a tag that is no marker then is text
    if given.get("start_in"):
        given.pop("prompt", None)
    return Parser(case.format, tools, tokenizer=tokenizer, **given)


def read(
    case: Case, output: str, mode: Mode = "text", finish: str = "stop", whole: bool = True, **options: Any
) -> Message:
    """A case's output, or what was made of it, through a new parser: in one piece, or a token at a time."""
    parser = parser_of(case, mode, **options)
    if mode == "text":
        data = output.replace(SPELLED, "").encode()
        for piece in [data] if whole else [data[i : i + 1] for i in range(len(data))]:
            parser.parse_chunk(piece)
        return parser.finish(finish)
    made = steps(case.format, output)
    for chunk in [made] if whole else [[step] for step in made]:
        text = b"".join(text for text, _ in chunk) if mode == "both" else None
        parser.parse_chunk(text, [id for _, id in chunk])
    return parser.finish(finish)


_STRING = re.compile(r'"((?:[^"\\]|\\.)*)("?)', re.S)


def strings(json_text: str) -> list[str]:
    """The strings and keys of a JSON text, which may be cut: then the last one is as far as it goes."""
    found = []
    for match in _STRING.finditer(json_text):
        inner = match.group(1)
        if not match.group(2):
            inner = re.sub(r"(\\u[0-9a-fA-F]{0,3})\Z", "", inner)
        try:
            found.append(json.loads(f'"{inner}"', strict=False))
        except ValueError:
            found.append(inner)
    return found


def scalars(json_text: str) -> list[str]:
    """The numbers of a JSON text, as they are written."""
    return re.findall(r"[\w.+-]+", _STRING.sub(" ", json_text))


def is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False


def call_tuples(message: Message) -> list[tuple[str, str, str]]:
    return [(call.name, call.arguments, call.status) for call in message.tool_calls]


def texts_of(message: Message) -> list[str]:
    """Names, keys and string values of a message's calls."""
    return [text for call in message.tool_calls for text in (call.name, *strings(call.arguments))]


@functools.cache
def value_closers(format: str) -> tuple[str, ...]:
    """The closing tags that a value may hold: one counts only if the grammar continues after it."""
    return tuple(dict.fromkeys(closer.strip() for _, closer in tagged_values(format)))


@functools.cache
def value_openers(format: str) -> tuple[str, ...]:
    """What a value's closer may close: a value's or a parameter's opener, or a bare tag."""
    opens = {"<" + closer[2:] for closer in value_closers(format) if closer.startswith("</")}
    opens |= {before.strip() for before, _ in tagged_values(format)}
    for pattern in texts(format, "parameter"):
        if pattern.count("${key}") == 1 and "${value" in pattern:
            opens.add(around(pattern, "key")[0].strip())
    return tuple(opener for opener in opens if opener[:1] in tuple("<["))


def piece_of_marker(format: str, text: str) -> str:
    """A marker in a name, a key or a value, or a piece of one at its edge; "" where there is none.

    A value's own closing tag is none: that it may stand in a value is law 2's, and nothing distinguishes the two.
    """
    text = _pattern(value_closers(format)).sub(" ", text)
    for marker in telling(format):
        if marker in text:
            return marker
    for marker in telling(format):
        for size in range(len(marker) - 1, 2, -1):
            if text.endswith(marker[:size]) or (size > 3 and text.startswith(marker[-size:])):
                return marker[:size] if text.endswith(marker[:size]) else marker[-size:]
    return ""


def wrong_calls(format: str, message: Message, original: Message, removed: str = "") -> str:
    """Law 1: what a complete call that was not in the original must not be; "" where none is."""
    known = {(call.name, call.arguments) for call in original.tool_calls}
    originals = texts_of(original)
    for text in list(originals) if removed else ():
        places = [match.start() for match in re.finditer(re.escape(removed), text)]
        originals += [text[:place] + text[place + len(removed) :] for place in places]
    for call in message.tool_calls:
        if call.status != "complete":
            continue
        if not is_object(call.arguments):
            return f"complete, no object: {call.name!r} {call.arguments!r}"
        if (call.name, call.arguments) in known:
            continue
        if re.search(r"[\s{]", call.name) and call.name not in originals:
            return f"complete, no name: {call.name!r}"
        for text in (call.name, *strings(call.arguments)):
            new = text
            for mentioned in originals:
                if len(mentioned) > 2:
                    new = new.replace(mentioned, " ")
            piece = piece_of_marker(format, new)
            if piece and not any(text in other for other in originals):
                return f"complete, with a marker in it: {piece!r} in {text!r}"
    return ""


def visible(message: Message, calls: bool = True) -> str:
    """All that a message contains."""
    told = [message.content, message.reasoning]
    told += [item.text for item in (*message.malformed, *message.dropped) if item not in in_content(message)]
    if calls:
        for call in message.tool_calls:
            told += [call.name, *strings(call.arguments), *scalars(call.arguments)]
    return "\n".join(told)


def in_content(message: Message) -> list[Any]:
    """What is malformed and belongs to no call: content has it too."""
    return [item for item in message.malformed if item.in_content]


def cut_call(message: Message) -> str:
    """The text of the call that the end of the output cut: its status says that not all of it was read."""
    if not message.tool_calls or message.tool_calls[-1].status != "incomplete":
        return ""
    said = next((text for fate, text in reversed(message.audit) if fate == "tool_call"), "")
    return "\n".join([said, *strings(message.tool_calls[-1].arguments)])


_WORD = re.compile(r"[A-Za-z0-9]{2,}")
_SYNTAX = {
    "true",
    "false",
    "null",
    "none",
    "name",
    "arguments",
    "parameters",
    "function",
    "type",
    "id",
    "index",
}


@functools.cache
def _syntax(format: str) -> frozenset[str]:
    """Words that are the format's own: keys, attributes, types, literals."""
    file = get_format(format)
    said = _WORD.findall(repr((file.patterns, file.facts)))
    return frozenset(word.lower() for word in (*said, *_SYNTAX))


def lost(case: Case, message: Message, original: Message) -> str:
    """A word or a call that the original message has and this one does not; "" if nothing is gone."""
    now, before = visible(message) + cut_call(message), visible(original)
    written = _pattern(markers(case.format)).sub(" ", html.unescape(case.input))
    for word, count in Counter(_WORD.findall(written)).items():
        if word.lower() not in _syntax(case.format) and now.count(word) < min(count, before.count(word)):
            return f"text is gone: {word!r}"
    rest = visible(message, calls=False) + cut_call(message)
    names = [call.name for call in message.tool_calls]
    for name, count in Counter(call.name for call in original.tool_calls).items():
        word = re.escape(name) if len(name) > 1 else rf"\b{re.escape(name)}"
        told = sum(name in other for other in names) + len(re.findall(word, rest))
        if told < count:
            return f"a call is gone: {name!r}"
    return ""


def untold(message: Message, output: str) -> str:
    """Where the joined audit is not the output; "" where it is."""
    joined = "".join(text for _, text in message.audit)
    output = output.replace(SPELLED, "")
    return "" if joined == output else f"the audit is not the output: {joined!r}"
