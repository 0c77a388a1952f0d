"""Proposes patterns for calls from renderings of one and two calls."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from unspool.formats.learning import holes
from unspool.formats.learning.forms import Core, cores
from unspool.formats.learning.parameters import with_types
from unspool.formats.templates.probe import CALLS
from unspool.formats.templates.tagged_texts import Repeat, has_words, repeats

__all__ = ["CallText", "Keys", "propose_calls"]

Keys = dict[str, tuple[str, ...]]
#: An id made of the name and the index.
_NAMED_ID = re.compile(rf"[^\s<>|]*{holes.NAME}[^\s<>|\w]{holes.INDEX}")
_TAG = r"<[^<>]*>"
_DIGITS = re.compile(r"(?<![\w.])\d(?![\w.])")


@dataclass(frozen=True)
class CallText:
    """A rendering that ends with calls.

    Attributes:
        text: The text, with holes for the ids.
        start: Where the calls' markup begins.
        count: The number of calls: 1 or 2.
    """

    text: str
    start: int
    count: int


def propose_calls(shown: CallText, typed: str) -> Iterator[Keys]:
    """Yield the keys that fit the rendering; `typed` shows arguments of other types."""
    for first in cores(shown.text, CALLS[0], 0, shown.start):
        before = shown.text[shown.start : first.begin].replace(CALLS[0].name, holes.NAME)
        if shown.count == 1:
            frames = _alone(before, first.pattern, shown.text[first.end :].replace(CALLS[0].name, holes.NAME))
        else:
            frames = _repeated(shown, first, before)
        for frame in frames:
            for keys in _typed(first.keys, typed):
                yield from _with_ids({**frame, **keys})
                if len(keys.get("parameter", ())) == len(frame["call"]) > 1:  # also without pairing
                    yield from _with_ids({**frame, **keys, "call": frame["call"][:1]})


def _alone(before: str, core: str, after: str) -> Iterator[Keys]:
    """Yield keys for a template that cannot write two calls."""
    yield {"call": (before + core + after,)}
    tags = list(re.finditer(_TAG, after))
    for tag in reversed(tags[1:]):  # the last tags may end the answer
        yield {"call": (before + core + after[: tag.start()],), "end": (tag[0],)}
    if len(tags) == 1 and has_words(before):
        yield {"call": (before + core + after[: tags[0].start()],), "end": (tags[0][0],)}


def _repeated(shown: CallText, first: Core, before: str) -> Iterator[Keys]:
    for second in cores(shown.text, CALLS[1], 1, first.end):
        pattern = _merged(first.pattern, second.pattern)
        if pattern is None or first.keys.keys() != second.keys.keys():
            continue
        between = shown.text[first.end : second.begin]
        for call in CALLS:
            between = between.replace(call.name, holes.NAME)
        after = shown.text[second.end :].replace(CALLS[1].name, holes.NAME)
        opener, between = _numbered(before, between)
        for repeat in repeats(opener, between, after):
            yield from _frames(repeat, pattern, begins=not has_words(shown.text[: shown.start]))


def _frames(repeat: Repeat, core: str, *, begins: bool) -> Iterator[Keys]:
    """Yield the keys for one interpretation of the repetition; `begins`: the calls begin the answer."""
    call = repeat.open + core + repeat.close
    is_blank = not repeat.separator.strip()
    if not has_words(repeat.open + repeat.close) or repeat.separator.strip() in (",", ";"):
        inner = repeat.close + repeat.separator + repeat.open
        listed = f"{repeat.before}{repeat.open}{core}{inner}{holes.MORE}{repeat.close}"
        ended: list[Keys] = [
            {"call": (listed + closer,), "end": (end,)}
            for end, closer in _ends(repeat.after)
            if has_words(closer)
        ]
        whole: Keys = {"call": (listed + repeat.after,)}
        yield from [*ended, whole] if len(ended) > 1 else [whole, *ended]  # one tag closes what another opens
    if not is_blank and repeat.separator.strip() not in (",", ";"):
        yield from _with_separator(repeat, core)
        return
    spaced = _spaced(repeat, call, begins=begins)
    if has_words(repeat.before) and has_words(repeat.after):
        for end, closer in _ends(repeat.after):
            if has_words(closer):
                yield {"calls": (repeat.before + holes.CALLS + closer,), "call": spaced, "end": (end,)}
        yield {"calls": (repeat.before + holes.CALLS + repeat.after,), "call": spaced}
    elif has_words(repeat.after):
        for end, closer in _ends(repeat.after):
            if not closer.strip():
                yield {"call": spaced, "end": (end,)}
        yield {"calls": (holes.CALLS + repeat.after,), "call": spaced}
    elif has_words(repeat.before):
        yield {"calls": (repeat.before + holes.CALLS,), "call": spaced}
        yield {"call": (repeat.before + call + repeat.separator,)}
    else:  # a blank before only the first call is markup too; the parser drops it as far as it is there
        yield {"call": tuple(repeat.before + call_pattern for call_pattern in spaced)}


def _spaced(repeat: Repeat, call: str, *, begins: bool) -> tuple[str, ...]:
    """Return the call with the blank that separates two calls, and also without it if a frame or content shows that it
    can be missing.

    There is no blank before a call that begins the answer.
    """
    blank = repeat.separator
    if not blank:
        return (call,)
    has_frame = has_words(repeat.before) or has_words(repeat.after)
    return (blank + call,) if begins and not has_frame else (call + blank, call)


def _with_separator(repeat: Repeat, core: str) -> Iterator[Keys]:
    """Yield keys for markup between two calls that is neither before the first nor after the last."""
    call = repeat.open + core + repeat.close
    if has_words(repeat.before) or has_words(repeat.after):
        return
    yield {"call": (call + repeat.separator, call)}
    yield {"call": (call, call + repeat.separator)}


def _ends(after: str) -> Iterator[tuple[str, str]]:
    """Yield each tag as a possible end of the answer, with the text before it, in order."""
    for tag in re.finditer(_TAG, after):
        yield tag[0], after[: tag.start()]


def _merged(first: str, second: str) -> str | None:
    """Return a pattern for both calls, with holes for their indices; None if they differ in more."""
    if first == second:
        return first
    if _DIGITS.sub("", first) != _DIGITS.sub("", second):
        return None
    pairs = list(zip(_DIGITS.findall(first), _DIGITS.findall(second), strict=False))
    marks = [_index_hole(left, right) for left, right in pairs]
    if None in marks:
        return None
    rest = iter(marks)
    return _DIGITS.sub(lambda _: next(rest) or "", first)


def _index_hole(left: str, right: str) -> str | None:
    if left == right:
        return left
    return {("0", "1"): holes.INDEX, ("1", "2"): holes.INDEX_1}.get((left, right))


def _numbered(before: str, between: str) -> tuple[str, str]:
    """Return both texts, with holes for the call's index if their ends differ only in it."""
    for size in range(min(len(before), len(between)), 0, -1):
        left, right = before[-size:], between[-size:]
        if left != right and (merged := _merged(left, right)) is not None and _DIGITS.match(right):
            return before[:-size] + merged, between[:-size] + merged
    return before, between


def _typed(keys: Keys, typed: str) -> Iterator[Keys]:
    if "parameter" not in keys:
        yield keys
        return
    for alternatives in with_types(keys["parameter"][0], typed):
        yield {**keys, "parameter": alternatives}


def _with_ids(keys: Keys) -> Iterator[Keys]:
    """Yield the keys unchanged and, if name and index are adjacent, with both as an id."""
    ids = {match[0] for text in keys["call"] for match in _NAMED_ID.finditer(text)}
    if len(ids) == 1:
        (id,) = ids
        yield {**keys, "call": tuple(text.replace(id, holes.ID) for text in keys["call"]), "id": (id,)}
    yield keys
