"""Prints a grammar as Lark in llguidance's dialect, which xgrammar also reads."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from unspool.writing.rules.nodes import (
    Automaton,
    Chars,
    Choice,
    Literal,
    Node,
    OtherTokens,
    Reference,
    Repeat,
    Rules,
    Sequence,
    Terminal,
    Token,
)

__all__ = ["to_lark"]


def to_lark(rules: Rules) -> str:
    """Return the grammar as text; its start rule is `start`."""
    return _Printer(rules).text()


class _Printer:
    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._terminals: dict[Node, str] = {}
        self._automata: dict[Automaton, list[str]] = {}

    def text(self) -> str:
        regexes = _Regexes()
        lines = [f"{name}: {self._rule(node, 0)}" for name, node in self._rules.items()]
        for automaton, names in self._automata.items():
            lines += self._states(automaton, names)
        lines += [f"{name}: /{regexes.write(node)}/" for node, name in self._terminals.items()]
        return "\n".join(lines) + "\n"

    def _rule(self, node: Node, depth: int) -> str:
        """A node as an expression. `depth` sets what needs no brackets: 0: anything; 1: a sequence; 2: only a single
        part."""
        if isinstance(node, Literal):
            return _literal(node.text, depth)
        if isinstance(node, Token):
            return f"<[{node.id}]>"
        if isinstance(node, OtherTokens):
            return f"<[^{_ranges(node.excluded)}]>*"
        if isinstance(node, Reference):
            return node.name
        if isinstance(node, Automaton) and node.part is None:
            if node not in self._automata:
                number = len(self._automata) + 1
                self._automata[node] = [f"state_{number}_{index}" for index in range(len(node.states))]
            return self._automata[node][0]
        if isinstance(node, (Terminal, Chars)):
            part = node.part if isinstance(node, Terminal) else node
            return self._terminals.setdefault(part, f"TEXT_{len(self._terminals) + 1}")
        if isinstance(node, Repeat):
            return self._rule(node.part, 2) + _count(node)
        if isinstance(node, Choice):
            text = " | ".join(self._rule(part, 1) for part in node.parts)
            return f"({text})" if depth else text
        assert isinstance(node, Sequence)
        if not node.parts:
            return '""'
        text = " ".join(self._rule(part, 1) for part in node.parts)
        return f"({text})" if depth > 1 and len(node.parts) > 1 else text

    def _states(self, automaton: Automaton, names: list[str]) -> Iterator[str]:
        """Write a rule for each state; it ends with the next state's rule or with the closer."""
        for name, (may_end, edges) in zip(names, automaton.states, strict=True):
            options = [f"{self._rule(label, 1)} {names[target]}" for label, target in edges]
            yield f"{name}: {' | '.join([*options, _literal(automaton.closer, 1)] if may_end else options)}"


def _ranges(ids: tuple[int, ...]) -> str:
    """Ascending ids; consecutive ones are written as a range."""
    rows: list[list[int]] = []
    for id in ids:
        if rows and id == rows[-1][1] + 1:
            rows[-1][1] = id
        else:
            rows.append([id, id])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in rows)


def _literal(text: str, depth: int) -> str:
    """A text, split at tags. A lexer may read another text with the same beginning, and lexers do not backtrack."""
    pieces = re.split(r"(?<=>)(?=.)|(?<=.)(?=<)", text, flags=re.DOTALL) or [""]
    joined = " ".join(json.dumps(piece, ensure_ascii=False) for piece in pieces)
    return f"({joined})" if depth > 1 and len(pieces) > 1 else joined


def _count(node: Repeat) -> str:
    signs = {(0, 1): "?", (0, None): "*", (1, None): "+"}
    most = "" if node.most is None else str(node.most)
    return signs.get((node.least, node.most)) or f"{{{node.least},{most}}}"


_PLAIN = frozenset(" <>=:;,'\"!#%@_`")
_ESCAPED = frozenset("\\/.+*?()|[]{}^$-")


def _char(char: str, plain: frozenset[str] = _PLAIN) -> str:
    if char.isalnum() or char in plain or ord(char) > 126:
        return char
    if char in _ESCAPED:
        return "\\" + char
    return {"\n": "\\n", "\t": "\\t", "\r": "\\r"}.get(char, f"\\u{ord(char):04X}")


class _Regexes:
    """Nodes as regular expressions in Rust's syntax. A repeated node is written once."""

    def __init__(self) -> None:
        self._written: dict[tuple[Node, int], str] = {}

    def write(self, node: Node, depth: int = 0) -> str:
        """Write a node. `depth` sets what needs no brackets: 0: anything; 1: a sequence; 2: only a single part."""
        if (node, depth) not in self._written:
            self._written[node, depth] = self._expression(node, depth)
        return self._written[node, depth]

    def _expression(self, node: Node, depth: int) -> str:
        if isinstance(node, Literal):
            text = "".join(map(_char, node.text))
            return f"({text})" if depth > 1 and len(node.text) > 1 else text
        if isinstance(node, Chars):
            ranges = "".join(_char(a) if a == b else f"{_char(a)}-{_char(b)}" for a, b in node.ranges)
            if len(node.ranges) == 1 and len(ranges) == 1 and not node.negated:
                return ranges
            if node.negated and not ranges:
                return "(.|\\n)"
            return f"[{'^' * node.negated}{ranges}]"
        if isinstance(node, Repeat):
            return self.write(node.part, 2) + _count(node)
        if isinstance(node, Choice):
            parts = [part for part in node.parts if part != Sequence(())]
            text = "|".join(self.write(part, 1) for part in parts)
            optional = len(parts) < len(node.parts)
            return f"({text})?" if optional else f"({text})" if depth else text
        if isinstance(node, (Automaton, Terminal)):
            assert node.part is not None, "only its states describe the text"
            return self.write(node.part, depth)
        assert isinstance(node, Sequence)
        text = "".join(self.write(part, 1) for part in node.parts)
        return f"({text})" if depth > 1 else text
