"""How values are written: JSON, Python's literals, literals whose strings are quoted by tokens."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from unspool.grammar.free_text import Words, free_text
from unspool.grammar.nodes import (
    EMPTY,
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

__all__ = ["INTEGER", "NUMBER", "Dialect", "json_dialect", "python_dialect", "quoted_dialect", "space"]

#: How much white space may stand between two parts of a value: a model must not write it for ever.
MAX_SPACE = 40

_DIGIT = Chars((("0", "9"),))
_HEX = Chars((("0", "9"), ("a", "f"), ("A", "F")))
_CONTROLS = "".join(map(chr, range(32))) + "\x7f"
_WHOLE = choice(Literal("0"), Sequence((Chars((("1", "9"),)), Repeat(_DIGIT, 0, 14))))
INTEGER: Node = Terminal(sequence(optional(Literal("-")), _WHOLE))
NUMBER: Node = Terminal(
    sequence(
        optional(Literal("-")),
        _WHOLE,
        optional(sequence(Literal("."), Repeat(_DIGIT, 1, 14))),
        optional(sequence(Chars.of("eE"), optional(Chars.of("+-")), Repeat(_DIGIT, 1, 2))),
    )
)


@dataclass(frozen=True)
class Dialect:
    """The words and signs of a way to write values.

    Attributes:
        string: Any string, with its quotes.
        quotes: What opens and closes a string to the letter.
        marks: The quotes of a string with escapes.
        bare_keys: Whether keys have no quotes.
        space: What may stand around the signs.
    """

    string: Node
    quotes: tuple[Node, Node]
    true: str = "true"
    false: str = "false"
    null: str = "null"
    bare_keys: bool = False
    escapes: bool = True
    marks: str = '"'
    space: Node = EMPTY

    def text(self, text: str) -> Node:
        """A string that is known."""
        if not self.escapes:
            return sequence(self.quotes[0], Literal(text), self.quotes[1])
        return choice(*(Literal(_quoted(text, mark)) for mark in self.marks))

    def key(self, key: str) -> Node:
        """The key of an object."""
        return Literal(key) if self.bare_keys else self.text(key)

    @property
    def any_key(self) -> Node:
        """Any key of an object."""
        letters = Chars((("A", "Z"), ("a", "z"), ("_", "_")))
        return Terminal(sequence(letters, Repeat(_WORD, 0, 63))) if self.bare_keys else self.string


_WORD = Chars((("0", "9"), ("A", "Z"), ("a", "z"), ("_", "_")))


def space() -> Node:
    """White space, but not without an end."""
    return optional(Terminal(Repeat(Chars.of(" \n"), 1, MAX_SPACE)))


def json_dialect(words: Iterable[str] = (), without: str = "") -> Dialect:
    """JSON whose strings hold none of these words and characters."""
    escape = sequence(
        Literal("\\"), choice(Chars.of('"\\/bfnrt'), sequence(Literal("u"), Repeat(_unicode(), 1, 1)))
    )
    inner = free_text(Words(words), without='"\\' + _CONTROLS + without, other=escape)
    quote = Literal('"')
    return Dialect(Terminal(sequence(quote, inner, quote)), (quote, quote), space=space())


def _unicode() -> Node:
    """Four hexadecimal digits that are no surrogate."""
    digit = Chars((("0", "9"), ("a", "c"), ("A", "C"), ("e", "f"), ("E", "F")))
    after_d = Chars((("0", "7"),))
    return choice(sequence(digit, _HEX, _HEX, _HEX), sequence(Chars.of("dD"), after_d, _HEX, _HEX))


def python_dialect(words: Iterable[str] = ()) -> Dialect:
    """Python's literals."""
    escape = sequence(Literal("\\"), Chars.of("\\'\"nrt"))
    texts = []
    for mark in "'\"":
        inner = free_text(Words(words), without=mark + "\\" + _CONTROLS, other=escape)
        texts.append(sequence(Literal(mark), inner, Literal(mark)))
    quote = Literal('"')
    string = Terminal(Choice(tuple(texts)))
    return Dialect(string, (quote, quote), "True", "False", "None", marks="\"'", space=space())


def _quoted(text: str, mark: str) -> str:
    inner = json.dumps(text, ensure_ascii=False)[1:-1]
    return mark + (inner if mark == '"' else inner.replace('\\"', '"').replace("'", "\\'")) + mark


def quoted_dialect(string: Node, quotes: tuple[Node, Node]) -> Dialect:
    """Objects with bare keys, and strings to the letter between quotes that are tokens."""
    return Dialect(string, quotes, bare_keys=True, escapes=False, space=space())
