"""Values between markers; their strings do not contain these markers."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from unspool.core.regular.character_sets import ANY_TEXT
from unspool.writing.rules.free_text import Words, free_text
from unspool.writing.rules.nodes import Chars, Literal, Node, Repeat, Terminal, optional, sequence
from unspool.writing.rules.written_values import JSON_VALUES, PYTHON_VALUES, WrittenValues

__all__ = ["BARE_KEY", "JSON", "MAX_SPACE", "PYTHON", "MarkedJson", "QuotedValues"]

#: Maximum white space between two parts of a value: enough for indentation, but bounded.
MAX_SPACE = 40

_SPACE: Node = optional(Terminal(Repeat(Chars.of(" \n"), 1, MAX_SPACE)))
JSON = replace(JSON_VALUES, space=_SPACE)
PYTHON = replace(PYTHON_VALUES, space=_SPACE)
_CONTROLS = "".join(map(chr, range(32)))


@dataclass(frozen=True)
class MarkedJson(WrittenValues):
    """JSON that does not spell a marker.

    Attributes:
        words: The markers.
        without: Characters that no string may contain.
        drop: A function that is called for each string whose constraints are dropped.
    """

    words: tuple[str, ...]
    without: str
    drop: Callable[[], None]
    space: Node = _SPACE

    def string(self, content: Node) -> Node:
        """A string with its quotes."""
        if isinstance(content, Literal):
            spelled = [word[0] for word in self.words if word in content.text]
            escapes = {char: f"\\u{ord(char):04x}" for char in (*self.without, *spelled)}
            return replace(JSON, escapes={**JSON.escapes, **escapes}).string(content)
        if content != ANY_TEXT:
            self.drop()
        inner = free_text(
            Words(self.words), without='"\\' + _CONTROLS + self.without, other=JSON.every_escape
        )
        return Terminal(sequence(Literal('"'), inner.until('"')))


@dataclass(frozen=True)
class QuotedValues(WrittenValues):
    """Objects with bare keys and verbatim strings between special quotes.

    Attributes:
        quoted: Any string, with its quotes.
    """

    quoted: Node
    opener: Node
    closer: Node
    drop: Callable[[], None]
    space: Node = _SPACE

    def string(self, content: Node) -> Node:
        """A string with its quotes."""
        if isinstance(content, Literal):
            return sequence(self.opener, content, self.closer)
        if content != ANY_TEXT:
            self.drop()
        return self.quoted

    def key(self, content: Node) -> Node:
        """A key, without quotes if the parser accepts it so."""
        if not isinstance(content, Literal):
            return BARE_KEY
        return content if _PLAIN_KEY.fullmatch(content.text) else self.string(content)


_PLAIN_KEY = re.compile(r"[\w.$-]([\w.$ -]*[\w.$-])?")
_LETTERS = (("A", "Z"), ("_", "_"), ("a", "z"))
#: Any key that the schema does not name.
BARE_KEY: Node = Terminal(sequence(Chars(_LETTERS), Repeat(Chars((("0", "9"), *_LETTERS)), 0, 63)))
