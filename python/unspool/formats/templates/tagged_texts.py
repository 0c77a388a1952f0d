"""Operations on rendered text: find common ends, cuts that split no tag, and repetitions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["TAG", "Repeat", "boundaries", "common_end", "common_start", "has_words", "repeats", "tag_start"]

TAG = re.compile(r"<[^<>]*>|\[/?\w[\w .:|-]*\]")
#: Maximum length of a tag, in letters.
_LONGEST_TAG = 400


@dataclass(frozen=True)
class Repeat:
    """The text around consecutive items: `before (open ITEM close separator)… after`."""

    before: str
    open: str
    separator: str
    close: str
    after: str


def common_start(left: str, right: str) -> str:
    """Return the common prefix."""
    count = min(len(left), len(right))
    return left[: next((i for i in range(count) if left[i] != right[i]), count)]


def common_end(left: str, right: str) -> str:
    """Return the common suffix."""
    return common_start(left[::-1], right[::-1])[::-1]


def has_words(text: str) -> bool:
    """Whether the text contains more than white space."""
    return bool(text.strip())


def boundaries(text: str) -> list[int]:
    """Return the places where the text can be cut without splitting a tag or a word."""
    inside = {place for tag in TAG.finditer(text) for place in range(tag.start() + 1, tag.end())}
    words = {i for i in range(1, len(text)) if text[i - 1].isalnum() and text[i].isalnum()}
    return [place for place in range(len(text) + 1) if place not in inside and place not in words]


def tag_start(text: str, place: int) -> int:
    """Return the place, or the start of the tag or word that a cut there would split."""
    begin = max(0, place - _LONGEST_TAG)
    near = text[begin : place + _LONGEST_TAG]
    return begin + max(cut for cut in boundaries(near) if cut <= place - begin)


def repeats(first: str, between: str, last: str) -> Iterator[Repeat]:
    """Yield the possible repetitions in the text before the first item, between two items, and after the last.

    The best come first: those in which nothing is left between a closer and the next opener, no part ends within a
    word, and a blank belongs to the opener.
    """
    closes = common_start(between, last)
    opens = common_end(between, first)
    cuts = boundaries(between)
    pairs = [
        (end, begin)
        for end in cuts
        if end <= len(closes)
        for begin in cuts
        if end <= begin and len(between) - begin <= len(opens)
    ]
    before_words = [first[: len(first) - len(between) + begin] for _, begin in pairs]
    words = {
        pair: _ends_in_word(before) + _ends_in_word(between[: pair[0]])
        for pair, before in zip(pairs, before_words, strict=True)
    }
    for end, begin in sorted(pairs, key=lambda pair: (pair[1] - pair[0], words[pair], pair[0])):
        opener, separator, closer = between[begin:], between[end:begin], between[:end]
        before, after = first[: len(first) - len(opener)], last[end:]
        if _cuts_tag(first, len(before)) or _cuts_tag(last, end):
            continue
        has_frame = has_words(before) and has_words(after)
        if has_words(opener + closer) or separator.strip() in (",", ";") or has_frame:
            yield Repeat(before, opener, separator, closer, after)


def _ends_in_word(text: str) -> bool:
    """Whether the text ends within a word, as in `<open>call|<end>`, where the next text begins with a tag."""
    return text.rstrip()[-1:].isalnum()


def _cuts_tag(text: str, place: int) -> bool:
    return tag_start(text, place) != place
