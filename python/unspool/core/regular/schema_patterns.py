"""Parses JSON Schema's regular expressions (ECMA 262), so that they mean the same to every matcher.

A schema's pattern may match anywhere in a string. Matchers differ in that, in the meaning of `\\d` and `.`, and
in the treatment of quotes. Therefore each pattern is parsed, converted to a pattern for the whole string, and
printed with plain ranges only.
"""

from __future__ import annotations

import re
from typing import Any

from unspool.core.regular.character_sets import ANY_TEXT, characters, excluding
from unspool.core.regular.expressions import (
    Chars,
    Choice,
    Literal,
    Node,
    Reference,
    Repeat,
    Sequence,
    choice,
    sequence,
)

__all__ = ["PatternError", "parse_pattern", "parse_whole", "size_of"]

MAX_REPETITION = 1_000
MAX_SIZE = 10_000
MAX_DEPTH = 40
MAX_LENGTH = 5_000

_DIGIT = characters("09")
_WORD = characters("09", "AZ", "az", "_")
# Characters that both ECMA 262 and Python count as white space; `\S` excludes what either counts.
_SPACE = characters(
    "\t\r", " ", "\u00a0", "\u1680", "\u2000\u200a", "\u2028\u2029", "\u202f", "\u205f", "\u3000"
)
_ANY_SPACE = characters(*_SPACE.ranges, "\x1c\x1f", "\x85", "\ufeff")
_CLASSES = {
    "d": _DIGIT,
    "D": excluding(_DIGIT),
    "w": _WORD,
    "W": excluding(_WORD),
    "s": _SPACE,
    "S": excluding(_ANY_SPACE),
}
_CONTROLS = {"n": "\n", "r": "\r", "t": "\t", "f": "\f", "v": "\v", "0": "\0"}
_DOT = excluding(characters("\n", "\r", "\u2028\u2029"))


class PatternError(ValueError):
    """A pattern is not regular, is too large, or is invalid."""


# Anchors are references in the tree until they are resolved.
_START = Reference("^")
_END = Reference("$")
_QUANTIFIER = re.compile(r"[*+?]|\{(\d{1,9})(,(\d{1,9})?)?\}")
_GROUP = re.compile(r"\(\?(?::|P?<([A-Za-z_]\w*)>)")
_HEX = re.compile(r"u\{([0-9A-Fa-f]{1,6})\}|u([0-9A-Fa-f]{4})|x([0-9A-Fa-f]{2})")
_LOW_SURROGATE = re.compile(r"\\u([Dd][C-Fc-f][0-9A-Fa-f]{2})")


def parse_pattern(pattern: Any) -> Node:
    """Parse a pattern into an expression for the whole string.

    Raises:
        PatternError: The pattern has look-around or backreferences, is too large, or is invalid.
    """
    return _bounded(_whole(_Reader(_checked(pattern)).read(), ANY_TEXT))


def parse_whole(pattern: Any, dot: Chars | None = None) -> Node:
    """Parse a pattern that must match the whole string, with or without anchors.

    Args:
        dot: The meaning of "."; None: any character except line terminators.

    Raises:
        PatternError: As in `parse_pattern`.
    """
    return _bounded(_whole(_Reader(_checked(pattern), dot or _DOT).read(), sequence()))


def _checked(pattern: Any) -> str:
    if not isinstance(pattern, str):
        raise PatternError(f"a pattern is a string; got {type(pattern).__name__}")
    if len(pattern) > MAX_LENGTH:
        raise PatternError(f"the pattern is longer than {MAX_LENGTH:,} characters")
    return pattern


def _bounded(whole: Node) -> Node:
    if size_of(whole) > MAX_SIZE:
        raise PatternError(f"the pattern repeats more than {MAX_SIZE:,} characters")
    return whole


def _whole(node: Node, around: Node) -> Node:
    """An expression for the whole string: on a side without an anchor, `around` may surround the match."""
    if isinstance(node, Choice):
        return choice(*(_whole(part, around) for part in node.parts))
    parts = list(node.parts) if isinstance(node, Sequence) else [node]
    before, after = [around], [around]
    while parts and parts[0] == _START:
        parts, before = parts[1:], []
    while parts and parts[-1] == _END:
        parts, after = parts[:-1], []
    if any(_has_anchor(part) for part in parts):
        raise PatternError("the pattern has ^ or $ inside a group or in the middle")
    if around == ANY_TEXT and before and after and all(map(_may_be_empty, parts)):
        return around
    return sequence(*before, *parts, *after)


def _may_be_empty(part: Node) -> bool:
    if isinstance(part, Repeat):
        return part.least == 0 or _may_be_empty(part.part)
    if isinstance(part, Sequence):
        return all(map(_may_be_empty, part.parts))
    return isinstance(part, Choice) and any(map(_may_be_empty, part.parts))


def _has_anchor(part: Node) -> bool:
    if isinstance(part, Repeat):
        return _has_anchor(part.part)
    if isinstance(part, (Sequence, Choice)):
        return any(map(_has_anchor, part.parts))
    return isinstance(part, Reference)


def size_of(part: Node) -> int:
    """The number of characters in the expression with its repetitions written out."""
    if isinstance(part, Repeat):
        return 1 + size_of(part.part) * max(part.least, part.most or 1)
    if isinstance(part, (Sequence, Choice)):
        return sum(map(size_of, part.parts))
    return len(part.text) if isinstance(part, Literal) else 1


class _Reader:
    """A recursive-descent parser for one pattern."""

    def __init__(self, pattern: str, dot: Chars = _DOT) -> None:
        self.text = pattern
        self.dot = dot
        self.at = 0
        self.depth = 0

    def read(self) -> Node:
        found = self.alternatives()
        if self.at < len(self.text):
            raise PatternError("the pattern has a ) without its (")
        return found

    def alternatives(self) -> Node:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise PatternError(f"the pattern nests deeper than {MAX_DEPTH} groups")
        options = [self.sequence()]
        while self.text.startswith("|", self.at):
            self.at += 1
            options.append(self.sequence())
        self.depth -= 1
        return choice(*options)

    def sequence(self) -> Node:
        parts: list[Node] = []
        while self.at < len(self.text) and self.text[self.at] not in "|)":
            parts.append(self.quantified(self.atom()))
        return sequence(*parts)

    def quantified(self, item: Node) -> Node:
        match = _QUANTIFIER.match(self.text, self.at)
        if match is None:
            return item
        if item in (_START, _END):
            raise PatternError("the pattern repeats an anchor")
        self.at = match.end()
        if self.text.startswith("?", self.at):
            self.at += 1  # lazy: matches the same strings
        minimum, maximum = {"*": (0, None), "+": (1, None), "?": (0, 1)}.get(match[0], (0, 0))
        if match[1] is not None:
            minimum = int(match[1])
            maximum = minimum if match[2] is None else int(match[3]) if match[3] else None
        if max(minimum, maximum or 0) > MAX_REPETITION:
            raise PatternError(f"the pattern repeats more than {MAX_REPETITION:,} times")
        if maximum is not None and maximum < minimum:
            raise PatternError("the pattern has a repetition whose bounds are the wrong way round")
        return Repeat(item, minimum, maximum)

    def atom(self) -> Node:
        char = self.text[self.at]
        if char == "(":
            return self.group()
        if char == "[":
            return self.bracket()
        self.at += 1
        if char in "*+?":
            raise PatternError("the pattern repeats nothing")
        if char == "\\":
            return self.escape(in_bracket=False)
        return {"^": _START, "$": _END, ".": self.dot}.get(char) or Literal(char)

    def group(self) -> Node:
        opening = _GROUP.match(self.text, self.at)
        if opening is None and self.text.startswith("(?", self.at):
            raise PatternError("the pattern looks ahead or behind, or sets a flag")
        self.at = opening.end() if opening else self.at + 1
        found = self.alternatives()
        if not self.text.startswith(")", self.at):
            raise PatternError("the pattern has a ( without its )")
        self.at += 1
        return found

    def bracket(self) -> Chars:
        self.at += 1
        negated = self.text.startswith("^", self.at)
        self.at += negated
        ranges: list[tuple[str, str]] = []
        while not self.text.startswith("]", self.at):
            first = self.bracket_item()
            is_range = self.text.startswith("-", self.at) and not self.text.startswith("-]", self.at)
            if is_range and _is_single(first):
                self.at += 1
                last = self.bracket_item()
                if not _is_single(last) or last.ranges[0][0] < first.ranges[0][0]:
                    raise PatternError("the pattern has a range whose ends do not fit")
                ranges.append((first.ranges[0][0], last.ranges[0][0]))
            else:
                ranges.extend((_ANY_SPACE if negated and first == _SPACE else first).ranges)
        self.at += 1
        chars = characters(*ranges)
        return excluding(chars) if negated else chars

    def bracket_item(self) -> Chars:
        if self.at >= len(self.text):
            raise PatternError("the pattern has a [ without its ]")
        char = self.text[self.at]
        self.at += 1
        return self.escape(in_bracket=True) if char == "\\" else characters(char)

    def escape(self, *, in_bracket: bool) -> Chars:
        """The characters that a backslash escape stands for."""
        char = self.text[self.at : self.at + 1]
        code = _HEX.match(self.text, self.at)
        if code is not None:
            self.at = code.end()
            return self.code_point(int(code[1] or code[2] or code[3], 16))
        self.at += 1
        if char in _CLASSES and char:
            return _CLASSES[char]
        if char == "b" and in_bracket:
            char = "\b"
        elif char in _CONTROLS and char and not self.text[self.at : self.at + 1].isdigit():
            char = _CONTROLS[char]
        elif not char or char.isalnum():
            raise PatternError(f"the pattern has \\{char}, which no grammar can express")
        return characters(char)

    def code_point(self, code: int) -> Chars:
        """A character by its code; a pair of escaped surrogates is one character."""
        low = _LOW_SURROGATE.match(self.text, self.at) if 0xD800 <= code < 0xDC00 else None
        if low is not None:
            self.at = low.end()
            code = 0x10000 + ((code - 0xD800) << 10) + (int(low[1], 16) - 0xDC00)
        if code > 0x10FFFF:
            raise PatternError("the pattern has a character above U+10FFFF")
        return characters(chr(code))


def _is_single(found: Chars) -> bool:
    return len(found.ranges) == 1 and found.ranges[0][0] == found.ranges[0][1]
