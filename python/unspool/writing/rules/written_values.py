"""Notations for values: JSON, and Python literals."""

from __future__ import annotations

import copy
import functools
import json
from dataclasses import dataclass

from unspool.core.regular.character_sets import ANY_CHARACTER, ANY_TEXT, characters, excluding, in_set, within
from unspool.writing.rules.nodes import (
    Automaton,
    Chars,
    Choice,
    Literal,
    Node,
    Repeat,
    Sequence,
    Terminal,
    choice,
    optional,
    sequence,
)

__all__ = ["JSON_VALUES", "PYTHON_VALUES", "EscapedValues", "WrittenValues"]

MAX_SPACE = 8
_MAX_STATES = 64
_SPACE = optional(Terminal(Repeat(characters(" ", "\n"), 1, MAX_SPACE)))


class WrittenValues:
    """The words and punctuation of a notation.

    Attributes:
        true: The word for true; likewise `false` and `null`.
        space: The white space that is allowed around punctuation.
    """

    true: str = "true"
    false: str = "false"
    null: str = "null"
    space: Node

    def string(self, content: Node) -> Node:
        """A string with its quotes; `content` is the expression for its characters."""
        raise NotImplementedError

    def key(self, content: Node) -> Node:
        """An object's key with its quotes; `content` is the expression for its characters."""
        return self.string(content)

    @functools.cached_property
    def any_string(self) -> Node:
        """A string with any characters."""
        return self.string(ANY_TEXT)


def counted(label: Node, least: int, most: int | None) -> Automaton:
    """An automaton that repeats a label, with a state for each count."""
    last = least if most is None else most
    states = [(count >= least, ((label, count + 1),)) for count in range(last)]
    end = (True, ((label, last),) if most is None else ())
    return Automaton(Repeat(label, least, most), (*states, end))


@dataclass(frozen=True)
class EscapedValues(WrittenValues):
    """Strings in quotes, with escapes for some characters."""

    quotes: str
    """The possible quotation marks."""
    escapes: dict[str, str]
    """The escapes of characters that `plain` does not contain."""
    any_escape: Node
    """One of these escapes, or an escaped quote."""
    every_escape: Node
    """One escape of the notation, including escapes of characters that need none."""
    plain: Chars
    true: str = "true"
    false: str = "false"
    null: str = "null"
    space: Node = _SPACE

    def with_string(self, any_string: Node) -> EscapedValues:
        """Return a copy with another node for strings of any characters."""
        made = copy.copy(self)
        made.__dict__["any_string"] = any_string
        return made

    def string(self, content: Node) -> Node:
        """A string with its quotes, as one terminal."""
        return Terminal(
            choice(*(sequence(Literal(mark), self._closed(content, mark)) for mark in self.quotes))
        )

    def _closed(self, content: Node, mark: str) -> Node:
        """A string's characters and the quote at its end."""
        if isinstance(content, Repeat) and isinstance(content.part, Chars):
            label = self._characters(content.part, mark)
            if max(content.least, content.most or 0) <= _MAX_STATES:
                return counted(label, content.least, content.most).until(mark)
        return sequence(self._escaped(content, mark), Literal(mark))

    def _escaped(self, content: Node, mark: str) -> Node:
        if isinstance(content, Chars):
            return self._characters(content, mark)
        if isinstance(content, Literal):
            return Literal("".join(self.character(char, mark) for char in content.text))
        if isinstance(content, Sequence):
            return sequence(*(self._escaped(part, mark) for part in content.parts))
        if isinstance(content, Choice):
            return choice(*(self._escaped(part, mark) for part in content.parts))
        assert isinstance(content, Repeat)
        return Repeat(self._escaped(content.part, mark), content.least, content.most)

    def unescaped(self, mark: str) -> Chars:
        """The characters that need no escape between these quotation marks."""
        return characters(*(char for char in self.quotes if char != mark), *self.plain.ranges)

    def escaped(self, mark: str) -> tuple[str, ...]:
        """The characters that need an escape between these quotation marks."""
        return (*self.escapes, mark)

    def _characters(self, found: Chars, mark: str) -> Node:
        """The characters that need no escape, as one class, and an escape for each of the others."""
        own = self.unescaped(mark)
        plain = within(found, own)
        escaped = [char for char in self.escaped(mark) if in_set(char, found) and not in_set(char, own)]
        if len(escaped) > len(self.escapes):
            return choice(plain, self.every_escape if found == ANY_CHARACTER else self.any_escape)
        escapes = [Literal(self.character(char, mark)) for char in escaped]
        return choice(*([plain] if plain.ranges else []), *escapes)

    def character(self, char: str, mark: str) -> str:
        """A character as it is written between these quotation marks."""
        if char == mark:
            return f"\\{mark}"
        if char in self.escapes:
            return self.escapes[char]
        return char if in_set(char, self.plain) or char in self.quotes else json.dumps(char)[1:-1]


_BACKSLASH = Literal("\\")
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\"}
_CONTROLS = {chr(code): f"\\u{code:04x}" for code in range(32)}
_CONTROL = sequence(Literal("u00"), characters("01"), characters("09", "af"))
_HEX = characters("09", "AF", "af")
_D = characters(*"Dd")
# Only whole pairs: half of a surrogate pair is not text.
_ESCAPED_PAIR = sequence(
    _D, characters("89", "AB", "ab"), _HEX, _HEX, Literal("\\u"), _D, characters("CF", "cf"), _HEX, _HEX
)
_ANY_CODE = choice(
    sequence(characters("09", "AC", "EF", "ac", "ef"), _HEX, _HEX, _HEX),
    sequence(_D, characters("07"), _HEX, _HEX),
    _ESCAPED_PAIR,
)
_SIMPLE = choice(characters(*'"\\/bfnrt'), sequence(Literal("u"), _ANY_CODE))

JSON_VALUES = EscapedValues(
    '"',
    {**_CONTROLS, **_SHORT, "\b": "\\b", "\f": "\\f"},
    sequence(_BACKSLASH, choice(characters(*'"\\bfnrt'), _CONTROL)),
    sequence(_BACKSLASH, Terminal(_SIMPLE)),  # a rule, which all characters of a string share
    excluding(characters("\0\x1f", '"', "\\", "\ud800\udfff")),
)
_PYTHON_ESCAPE = sequence(_BACKSLASH, characters(*"\\'\"nrt"))
PYTHON_VALUES = EscapedValues(
    "'\"",
    _SHORT,
    _PYTHON_ESCAPE,
    _PYTHON_ESCAPE,
    excluding(characters("\0\x1f", '"', "'", "\\", "\ud800\udfff")),
    true="True",
    false="False",
    null="None",
)
