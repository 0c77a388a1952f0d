"""The text of a custom tool's call, inside a string or up to a closer."""

from __future__ import annotations

from unspool.core.regular.character_sets import in_set, within
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
    plus,
    sequence,
)
from unspool.writing.rules.written_values import EscapedValues

__all__ = ["Ended", "as_string"]


def as_string(text: Node, rules: Rules, written: EscapedValues) -> Node:
    """A string, with its quotes, whose decoded content matches `text`.

    A terminal whose characters may be escaped is split at the escapes, because lexers do not backtrack: a `\\` may be
    the beginning of an escaped line break.
    """
    return choice(
        *(
            sequence(Literal(mark), _Escaped(rules, written, mark).of(text), Literal(mark))
            for mark in written.quotes
        )
    )


class _Rewritten:
    """Copies a part of a grammar with a change to each part of it; rules are copied when they are referenced."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._copies: dict[str, Reference] = {}

    def of(self, part: Node) -> Node:
        """Return the changed part."""
        if isinstance(part, Reference):
            if part.name not in self._copies:
                rule = self._copies[part.name] = self._rules.reserve("text")
                self._rules.named[rule.name] = self.of(self._rules.named[part.name])
            return self._copies[part.name]
        return self.changed(part)

    def changed(self, part: Node) -> Node:
        raise NotImplementedError


class _Escaped(_Rewritten):
    def __init__(self, rules: Rules, written: EscapedValues, mark: str) -> None:
        super().__init__(rules)
        self._written, self._mark = written, mark

    def changed(self, part: Node) -> Node:
        if isinstance(part, Terminal):
            content = self.of(part.part)
            return content if _is_split(content) else Terminal(content)
        if isinstance(part, Literal):
            return Literal("".join(self._written.character(char, self._mark) for char in part.text))
        if isinstance(part, Chars):
            return self._characters(part)
        if isinstance(part, Repeat):
            inner = self.of(part.part)
            if (
                isinstance(part.part, Chars)
                and isinstance(inner, Choice)
                and part.most is None
                and part.least < 2
            ):
                # Several unescaped characters form one terminal, so that a matcher need not parse each of them.
                plain, escape = inner.parts
                return Repeat(choice(Terminal(plus(plain)), escape), part.least)
            return Repeat(inner, part.least, part.most)
        assert isinstance(part, (Sequence, Choice))
        return (sequence if isinstance(part, Sequence) else choice)(*map(self.of, part.parts))

    def _characters(self, found: Chars) -> Node:
        plain = within(found, self._written.unescaped(self._mark))
        escaped = [char for char in self._written.escaped(self._mark) if in_set(char, found)]
        if not escaped:
            return plain
        escape = Terminal(choice(*(Literal(self._written.character(char, self._mark)) for char in escaped)))
        return choice(plain, escape) if plain.ranges else escape


def _is_split(part: Node) -> bool:
    """Whether a part contains a terminal."""
    if isinstance(part, Terminal):
        return True
    if isinstance(part, Repeat):
        return _is_split(part.part)
    return isinstance(part, (Sequence, Choice)) and any(map(_is_split, part.parts))


class Ended(_Rewritten):
    """Appends a closer to texts. The closer and the last piece of a text form one terminal, because a lexer would
    otherwise read the beginning of the closer as text, and lexers do not backtrack."""

    def __init__(self, rules: Rules, closer: Literal) -> None:
        super().__init__(rules)
        self._closer = closer

    def changed(self, part: Node) -> Node:
        if isinstance(part, (Terminal, Chars)):
            return Terminal(sequence(part.part if isinstance(part, Terminal) else part, self._closer))
        if isinstance(part, Literal):
            return Terminal(sequence(part, self._closer))
        if isinstance(part, Choice):
            return choice(*map(self.of, part.parts))
        if isinstance(part, Repeat):
            most = None if part.most is None else part.most - 1
            before = EMPTY if most == 0 else Repeat(part.part, max(part.least - 1, 0), most)
            last = sequence(before, self.of(part.part))
            return last if part.least else choice(last, self._closer)
        assert isinstance(part, Sequence)
        if not part.parts:
            return self._closer
        *first, last = part.parts
        options = [sequence(*first, self.of(last))]
        if first and self._may_be_empty(last, frozenset()):
            options.append(self.of(sequence(*first)))
        return choice(*options)

    def _may_be_empty(self, part: Node, opened: frozenset[str]) -> bool:
        if isinstance(part, Reference):
            return part.name not in opened and self._may_be_empty(
                self._rules.named[part.name], opened | {part.name}
            )
        if isinstance(part, Repeat):
            return part.least == 0 or self._may_be_empty(part.part, opened)
        if isinstance(part, (Sequence, Choice)):
            return (all if isinstance(part, Sequence) else any)(
                self._may_be_empty(inner, opened) for inner in part.parts
            )
        return isinstance(part, Terminal) and self._may_be_empty(part.part, opened)
