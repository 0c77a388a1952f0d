"""Parses a client's grammar, in Lark or in GBNF, into this package's rules, which every printer can write.

Both notations have rules with alternatives, groups and repetitions, in different syntax. Lark's terminals are regular
expressions, which a lexer reads as one piece; GBNF has no terminals and reads characters.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import NamedTuple

from unspool.core.regular.character_sets import ANY_CHARACTER, characters, excluding
from unspool.core.regular.schema_patterns import MAX_REPETITION, MAX_SIZE, PatternError, parse_whole, size_of
from unspool.errors import ArgumentError
from unspool.writing.rules.nodes import (
    EMPTY,
    Chars,
    Choice,
    Literal,
    Node,
    Reference,
    Repeat,
    Rules,
    Sequence,
    Terminal,
    choice,
    optional,
    sequence,
    star,
)

__all__ = ["MAX_LENGTH", "read_grammar", "read_regex"]

MAX_LENGTH = 50_000
MAX_DEPTH = 50
#: Maximum number of parts in all rules; each character of a terminal counts.
MAX_PARTS = 20_000

_LARK = re.compile(
    r"""(?P<skip>\s+|//[^\n]*|\#[^\n]*|->\s*\w+)
    |(?P<text>"(?:\\.|[^"\\\n])*"i?)|(?P<regex>/(?![*/])(?:\\.|[^/\\\n])+/[a-z]*)
    |(?P<head>[!?]?\w+(?:\.-?\d+)?\s*:(?!:))|(?P<word>%\w+)|(?P<name>\w+)|(?P<sign>\.\.|[.()\[\]|*+?~{},])""",
    re.X,
)
_GBNF = re.compile(
    r"""(?P<skip>\s+|\#[^\n]*)|(?P<text>"(?:\\.|[^"\\\n])*")|(?P<regex>\[(?:\\.|[^\]\\\n])*\]|\.)
    |(?P<head>[\w-]+\s*::=)|(?P<name>[A-Za-z_][\w-]*)|(?P<sign>[()|*+?{},]|\d+)""",
    re.X,
)
#: The meaning of "." in Lark's engines.
_DOT = excluding(characters("\n"))
_COMMON = {
    "CR": r"\r", "LF": r"\n", "NEWLINE": r"(\r?\n)+", "WS": r"[ \t\f\r\n]+", "WS_INLINE": r"[ \t]+", "DIGIT": "[0-9]",
    "HEXDIGIT": "[0-9A-Fa-f]", "INT": "[0-9]+", "SIGNED_INT": "[+-]?[0-9]+", "DECIMAL": r"[0-9]+\.[0-9]*|\.[0-9]+",
    "FLOAT": r"[0-9]+[eE][+-]?[0-9]+|([0-9]+\.[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?",
    "NUMBER": r"[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]+)?|\.[0-9]+([eE][+-]?[0-9]+)?",
    "SIGNED_NUMBER": r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?", "LCASE_LETTER": "[a-z]",
    "UCASE_LETTER": "[A-Z]", "LETTER": "[A-Za-z]", "WORD": "[A-Za-z]+", "CNAME": r"[A-Za-z_]\w*",
    "ESCAPED_STRING": r'"([^"\\\n]|\\[^\n])*"',
}  # fmt: skip


class _Piece(NamedTuple):
    kind: str
    text: str
    line: int


def read_regex(pattern: str) -> Node:
    """Parse a regular expression, which must match a whole text, into one terminal.

    Raises:
        ArgumentError: The expression is not regular, too large or malformed.
    """
    try:
        return Terminal(parse_whole(pattern))
    except PatternError as error:
        raise ArgumentError(f"the regex cannot be read: {error}") from None


def read_grammar(text: str, rules: Rules, syntax: str | None = None) -> Node:
    """Parse a grammar; return the node of a text that it matches, and add its rules to `rules` under new names.

    Args:
        syntax: "lark" or "gbnf". None: GBNF if the text has "::=", as in vLLM.

    Raises:
        ArgumentError: The grammar is malformed, too large, matches no text, or has a feature that the supported engines
            do not have.
    """
    if not isinstance(text, str) or not text.strip():
        raise ArgumentError("the grammar is empty; write its rules as text")
    if len(text) > MAX_LENGTH:
        raise ArgumentError(f"the grammar is longer than {MAX_LENGTH:,} characters; shorten it")
    is_gbnf = syntax == "gbnf" or (syntax is None and "::=" in text)
    try:
        return (_Gbnf if is_gbnf else _Lark)(text, rules).read()
    except (PatternError, RecursionError) as error:
        raise ArgumentError(f"the grammar cannot be read: {error}") from None


class _Reader:
    """A recursive-descent parser. A rule is parsed at its first reference, so that unused rules cost nothing."""

    words: re.Pattern[str]
    start: str

    def __init__(self, text: str, rules: Rules) -> None:
        self._rules = rules
        self._pieces = self._split(text)
        self._at = 0
        self._depth = 0
        self._parts = 0
        self._bodies: dict[str, int] = {}
        self._made: dict[str, Reference] = {}
        self._waiting: list[str] = []

    def read(self) -> Node:
        self._find_rules()
        if self.start not in self._bodies:
            raise ArgumentError(f"the grammar has no rule '{self.start}', with which it begins; name it so")
        whole = self._rule(self.start)
        while self._waiting:
            name = self._waiting.pop()
            self._at = self._bodies[name]
            self._rules.named[self._made[name].name] = self._body()
        self._check_productive()
        self._rules.spend(self._parts)
        return whole

    def _split(self, text: str) -> list[_Piece]:
        pieces, at, line = [], 0, 1
        while at < len(text):
            match = self.words.match(text, at)
            if match is None or not match[0]:
                raise ArgumentError(f"the grammar cannot be read in line {line}: {text[at : at + 20]!r}")
            if match.lastgroup != "skip":
                pieces.append(_Piece(str(match.lastgroup), match[0], line))
            line += match[0].count("\n")
            at = match.end()
        return [*pieces, _Piece("end", "", line)]

    def _find_rules(self) -> None:
        while self._next.kind != "end":
            piece = self._take()
            if piece.kind == "head":
                name = re.split(r"[\s:.]", piece.text.lstrip("!?"))[0]
                if name in self._bodies:
                    raise self._wrong(piece, f"a second rule '{name}'")
                self._bodies[name] = self._at
            elif piece.kind == "word":
                self._statement(piece)
            elif not self._bodies:
                raise self._wrong(piece, "no rule before it")

    def _statement(self, piece: _Piece) -> None:
        raise self._wrong(piece, "a statement that is not supported")

    @property
    def _next(self) -> _Piece:
        return self._pieces[self._at]

    def _take(self) -> _Piece:
        piece = self._next
        self._at += piece.kind != "end"
        return piece

    def _takes(self, sign: str) -> bool:
        is_there = self._next.kind == "sign" and self._next.text == sign
        self._at += is_there
        return is_there

    def _expect(self, sign: str) -> None:
        if not self._takes(sign):
            raise self._wrong(self._next, f"no '{sign}' before it")

    def _wrong(self, piece: _Piece, what: str) -> ArgumentError:
        shown = piece.text[:40] or "the end"
        return ArgumentError(f"the grammar cannot be read: line {piece.line} has {what}, at {shown!r}")

    def _rule(self, name: str) -> Node:
        if name not in self._made:
            self._made[name] = self._rules.reserve("text")
            self._waiting.append(name)
        return self._made[name]

    def _body(self) -> Node:
        found = self._alternatives()
        if self._next.kind not in ("head", "word", "end"):
            raise self._wrong(self._next, "what no rule can hold")
        return found

    def _alternatives(self) -> Node:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self._wrong(self._next, f"groups deeper than {MAX_DEPTH}")
        self._takes("|")
        options = [self._sequence()]
        while self._takes("|"):
            options.append(self._sequence())
        self._depth -= 1
        return choice(*options)

    def _sequence(self) -> Node:
        parts = []
        while self._next.kind in ("text", "regex", "name") or self._next.text in ("(", "["):
            parts.append(self._repeated(self._atom()))
            self._parts += _weight(parts[-1])
            if self._parts > MAX_PARTS:
                raise ArgumentError(
                    f"the grammar has more than {MAX_PARTS:,} parts and characters; shorten it"
                )
        return sequence(*parts)

    def _atom(self) -> Node:
        piece = self._take()
        if piece.kind == "name":
            return self._named(piece)
        if piece.kind == "text":
            return self._text(piece)
        if piece.kind == "regex":
            return self._regex(piece)
        inner = self._alternatives()
        self._expect(")" if piece.text == "(" else "]")
        return inner if piece.text == "(" else optional(inner)

    def _named(self, piece: _Piece) -> Node:
        if piece.text not in self._bodies:
            raise self._wrong(piece, f"no rule '{piece.text}'")
        return self._rule(piece.text)

    def _text(self, piece: _Piece) -> Node:
        raise NotImplementedError

    def _regex(self, piece: _Piece) -> Node:
        raise NotImplementedError

    def _repeated(self, part: Node) -> Node:
        while self._next.kind == "sign" and self._next.text in "*+?~{":
            sign = self._take()
            bounds: tuple[int, int | None] = {"*": (0, None), "+": (1, None), "?": (0, 1)}.get(
                sign.text, (0, 0)
            )
            if sign.text == "~":
                least = self._number()
                bounds = (least, self._number() if self._takes("..") else least)
            elif sign.text == "{":
                least = 0 if self._next.text == "," else self._number()
                bounds = (least, least)
                if self._takes(","):
                    bounds = (least, None if self._next.text == "}" else self._number())
                self._expect("}")
            if bounds[1] is not None and bounds[1] < bounds[0]:
                raise self._wrong(sign, "a repetition whose bounds are the wrong way round")
            part = optional(part) if bounds == (0, 1) else Repeat(part, *bounds)
            if size_of(part) > MAX_SIZE:
                raise self._wrong(sign, f"a repetition of more than {MAX_SIZE:,} parts")
        return part

    def _number(self) -> int:
        piece = self._take()
        if not piece.text.isdecimal() or len(piece.text) > 6 or int(piece.text) > MAX_REPETITION:
            raise self._wrong(piece, f"no number up to {MAX_REPETITION:,}")
        return int(piece.text)

    def _check_productive(self) -> None:
        """Raise ArgumentError if the grammar matches only endless texts: a model would run out of allowed tokens."""
        rules = {rule.name: self._rules.named[rule.name] for rule in self._made.values()}
        ending: set[str] = set()
        while found := {name for name in rules.keys() - ending if _may_end(rules[name], ending)}:
            ending |= found
        if self._made[self.start].name not in ending:
            raise ArgumentError("no text ends the grammar: its rules lead to one another without end")


class _Lark(_Reader):
    words = _LARK
    start = "start"

    def __init__(self, text: str, rules: Rules) -> None:
        super().__init__(text, rules)
        self._terminals: dict[str, Node] = {}
        self._opened: list[str] = []  # names of the terminals that are being parsed
        self._ignored: list[_Piece | int] = []
        self._gap: Node = EMPTY

    def read(self) -> Node:
        self._find_rules()
        gaps = []
        for place in self._ignored:
            self._at = place if isinstance(place, int) else self._at
            gaps.append(self._in_terminal("%ignore", self._alternatives))
        self._gap = star(Terminal(choice(*gaps))) if gaps else EMPTY
        self._at = len(self._pieces) - 1
        return sequence(self._gap, super().read())

    def _find_rules(self) -> None:
        if not self._bodies:
            super()._find_rules()

    def _statement(self, piece: _Piece) -> None:
        if piece.text == "%ignore":
            self._ignored.append(self._at)
        elif piece.text == "%import" and self._take().text == "common" and self._takes("."):
            listed = self._takes("(")
            names = [self._take()] if not listed else []
            while listed and not self._takes(")"):
                names.append(self._take())
                if names[-1].kind != "name":
                    raise self._wrong(names[-1], "no name to import")
                self._takes(",")
            for name in names:
                if name.text not in _COMMON:
                    raise self._wrong(name, "no terminal of Lark's module 'common'")
                self._terminals[name.text] = parse_whole(_COMMON[name.text])
        else:
            raise self._wrong(piece, "a statement that is not supported; use %ignore, or %import of common")

    def _named(self, piece: _Piece) -> Node:
        if not piece.text.strip("_").isupper():
            if self._opened:
                raise self._wrong(piece, "a rule in a terminal")
            return super()._named(piece)
        part = self._terminal(piece)
        return part if self._opened else sequence(Terminal(part), self._gap)

    def _terminal(self, piece: _Piece) -> Node:
        name = piece.text
        if name not in self._terminals:
            if name not in self._bodies or name in self._opened:
                raise self._wrong(
                    piece, "a terminal that holds itself" if name in self._opened else f"no '{name}'"
                )
            at, self._at = self._at, self._bodies[name]
            self._terminals[name] = self._in_terminal(name, self._body)
            self._at = at
        return self._terminals[name]

    def _in_terminal(self, name: str, read: Callable[[], Node]) -> Node:
        self._opened.append(name)
        part = read()
        self._opened.pop()
        if size_of(part) > MAX_SIZE:
            raise ArgumentError(
                f"the terminal '{name}' repeats more than {MAX_SIZE:,} characters; shorten it"
            )
        return part

    def _text(self, piece: _Piece) -> Node:
        text = _unescaped(piece, self._wrong)
        part: Node = Literal(text)
        if self._takes(".."):
            last = _unescaped(self._take(), self._wrong)
            if len(text) != 1 or len(last) != 1 or last < text:
                raise self._wrong(piece, "a range whose ends do not fit")
            part = characters(text + last)
        if piece.text.endswith("i"):
            part = _any_case(part)
        return part if self._opened else sequence(part, self._gap)

    def _regex(self, piece: _Piece) -> Node:
        pattern, _, flags = piece.text[1:].rpartition("/")
        if set(flags) - set("imsux"):
            raise self._wrong(piece, "an unknown flag")
        if "x" in flags:
            raise self._wrong(piece, "the flag x; write the expression without white space")
        part = parse_whole(pattern, ANY_CHARACTER if "s" in flags else _DOT)
        part = _any_case(part) if "i" in flags else part
        return part if self._opened else sequence(Terminal(part), self._gap)


class _Gbnf(_Reader):
    words = _GBNF
    start = "root"

    def _text(self, piece: _Piece) -> Node:
        return Literal(_unescaped(piece, self._wrong))

    def _regex(self, piece: _Piece) -> Node:
        if piece.text == ".":
            return ANY_CHARACTER
        found = parse_whole(piece.text)
        if isinstance(found, Chars) and found.ranges:
            return found
        raise self._wrong(piece, "a class without characters")


def _weight(part: Node) -> int:
    if isinstance(part, (Sequence, Choice)):
        return sum(map(_weight, part.parts))
    if isinstance(part, Repeat):
        return 1 + _weight(part.part)
    return size_of(part.part) if isinstance(part, Terminal) else 1


def _unescaped(piece: _Piece, wrong: Callable[[_Piece, str], ArgumentError]) -> str:
    """Return the text of a string in quotes."""
    try:
        text: str = ast.literal_eval(piece.text.removesuffix("i"))
        text.encode()
    except (SyntaxError, ValueError, AttributeError):
        raise wrong(piece, "no string") from None
    return text


def _any_case(part: Node) -> Node:
    """Return a part that matches in upper and lower case; letters beyond ASCII keep their case."""
    if isinstance(part, Literal):
        return sequence(
            *(_any_case(characters(char)) if char.isascii() else Literal(char) for char in part.text)
        )
    if isinstance(part, Chars):
        ranges = [*part.ranges]
        for first, last in part.ranges:
            for low, high, shift in (("a", "z", -32), ("A", "Z", 32)):
                start, end = max(first, low), min(last, high)
                if start <= end:
                    ranges.append((chr(ord(start) + shift), chr(ord(end) + shift)))
        return characters(*ranges)
    if isinstance(part, Repeat):
        return Repeat(_any_case(part.part), part.least, part.most)
    assert isinstance(part, (Sequence, Choice))
    return (sequence if isinstance(part, Sequence) else choice)(*map(_any_case, part.parts))


def _may_end(part: Node, ending: set[str]) -> bool:
    """Whether the part matches a finite text, assuming that the rules in `ending` do."""
    if isinstance(part, Reference):
        return part.name in ending
    if isinstance(part, Repeat):
        return part.least == 0 or _may_end(part.part, ending)
    if isinstance(part, Sequence):
        return all(_may_end(inner, ending) for inner in part.parts)
    if isinstance(part, Choice):
        return any(_may_end(inner, ending) for inner in part.parts)
    if isinstance(part, Terminal):
        return _may_end(part.part, ending)
    return not isinstance(part, Chars) or bool(part.ranges)
