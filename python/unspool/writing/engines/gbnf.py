"""Prints a grammar as GBNF for llama.cpp, or as the nearly identical EBNF of xgrammar."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from unspool.core.regular.character_sets import LAST, characters, excluding, in_set, within
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

__all__ = ["to_ebnf", "to_gbnf"]

# llama.cpp ends an answer at tokens with these names, and allows them only where the grammar may end.
_ENDS = frozenset({
    "<|call|>", "<|calls|>", "<|flush|>", "<|return|>", "<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<end_of_turn>",
    "<|endoftext|>", "</s>",
})  # fmt: skip


def to_gbnf(rules: Rules) -> str:
    """Return the grammar as text; the rule `start` becomes `root`.

    Raises:
        ValueError: A node cannot be expressed in GBNF.
    """
    return _Printer(rules).text()


def to_ebnf(rules: Rules) -> str:
    """Return the grammar as text for xgrammar, which has another notation for tokens; as `to_gbnf` otherwise."""
    return _XgrammarPrinter(rules).text()


class _Printer:
    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._names = _names(rules.named)
        self._taken = set(self._names.values())
        self._texts: dict[Node, str] = {}  # each terminal becomes a shared rule
        self._automata: dict[Automaton, list[str]] = {}  # so does each state of an automaton
        self._printed: dict[tuple[Node, int], str] = {}

    def text(self) -> str:
        ordered = sorted(self._rules.items(), key=lambda rule: rule[0] != "start")
        lines = [f"{self._names[name]} ::= {self._rule(node)}\n" for name, node in ordered]
        texts, automata = 0, 0
        while texts < len(self._texts) or automata < len(self._automata):  # each may contain others
            for node, name in list(self._texts.items())[texts:]:
                lines.append(f"{name} ::= {self._part(node, 0)}\n")
                texts += 1
            for automaton, names in list(self._automata.items())[automata:]:
                lines += self._states(automaton, names)
                automata += 1
        return "".join(lines)

    def _states(self, automaton: Automaton, names: list[str]) -> Iterator[str]:
        """Write a rule for each state; it ends with the next state's rule or with the closer. Edges that several states
        share are rules too, since xgrammar prepares a mask for each place in a rule."""
        shared: dict[tuple[Node, int], str] = {}
        end = self._part(Literal(automaton.closer), 1)
        for name, (may_end, edges) in zip(names, automaton.states, strict=True):
            options = [end] if may_end else []
            for label, target in edges:
                if isinstance(label, Chars) and not label.negated:
                    options.append(f"{self._part(label, 1)} {names[target]}")
                    continue
                if (label, target) not in shared:
                    shared[label, target] = _new_name("text", self._taken)
                    parts = label.parts if isinstance(label, Choice) else (label,)
                    rule = " | ".join(f"{self._part(part, 1)} {names[target]}" for part in parts)
                    yield f"{shared[label, target]} ::= {rule}\n"
                options.append(shared[label, target])
            yield f"{name} ::= {' | '.join(options)}\n"

    def _rule(self, node: Node) -> str:
        return self._part(node.part if isinstance(node, Terminal) else node, 0)

    def _token(self, token: Token) -> str:
        return f"<[{token.id}]>" + ("?" if token.text in _ENDS else "")

    def _other_tokens(self, excluded: tuple[int, ...]) -> str:
        # GBNF can negate only one token. To exclude several, allow any text: text cannot spell a marker that is
        # a token.
        return f"!<[{excluded[0]}]>*" if len(excluded) == 1 else r"[^\x00]*"

    def _part(self, node: Node, depth: int) -> str:
        """A node as an expression. At depth 0 nothing needs brackets, at 1 choices do, and at 2 also sequences."""
        if (node, depth) not in self._printed:
            self._printed[node, depth] = self._expression(node, depth)
        return self._printed[node, depth]

    def _expression(self, node: Node, depth: int) -> str:
        if isinstance(node, Literal):
            return '"' + "".join(_character(char, _QUOTED) for char in node.text) + '"'
        if isinstance(node, Token):
            return self._token(node)
        if isinstance(node, OtherTokens):
            text = self._other_tokens(node.excluded)
            return f"({text})" if depth > 1 else text
        if isinstance(node, Reference):
            return self._names[node.name]
        if isinstance(node, Chars):
            return _characters(node)
        if isinstance(node, Terminal):
            return self._terminal(node.part, depth)
        if isinstance(node, Automaton):
            if node not in self._automata:
                self._automata[node] = [_new_name("text", self._taken) for _ in node.states]
            return self._automata[node][0]
        if isinstance(node, Repeat):
            return self._repeat(node)
        if isinstance(node, Choice):
            text = " | ".join(self._part(part, 1) for part in node.parts)
            return f"({text})" if depth else text
        if isinstance(node, Sequence):
            text = " ".join(self._part(part, 1) for part in node.parts) or '""'
            return f"({text})" if depth > 1 and len(node.parts) > 1 else text
        raise ValueError(f"GBNF has no form for {node!r}")

    def _terminal(self, part: Node, depth: int) -> str:
        if isinstance(part, (Literal, Chars)):
            return self._part(part, depth)
        if part not in self._texts:
            self._texts[part] = _new_name("text", self._taken)
        return self._texts[part]

    def _repeat(self, node: Repeat) -> str:
        """A repetition; an optional repetition has only one suffix."""
        part = node.part.part if isinstance(node.part, Terminal) else node.part
        if not isinstance(part, Repeat):
            return self._part(node.part, 2) + _times(node)
        if (node.least, node.most) == (0, 1) and part.least <= 1:
            return self._repeat(Repeat(part.part, 0, part.most))
        return f"({self._repeat(part)}){_times(node)}"


class _XgrammarPrinter(_Printer):
    def _token(self, token: Token) -> str:
        return f"Token({token.id})"

    def _other_tokens(self, excluded: tuple[int, ...]) -> str:
        return f"ExcludeToken({', '.join(map(str, excluded))})*"


def _names(rules: Iterable[str]) -> dict[str, str]:
    """A name for each rule, of letters, digits and hyphens."""
    names = {"start": "root"}
    taken = {"root"}
    for name in rules:
        if name != "start":
            stem = re.sub("[^A-Za-z0-9]", "-", name)
            names[name] = _new_name(stem if stem[:1].isalpha() else f"rule-{stem}", taken)
    return names


def _new_name(stem: str, taken: set[str]) -> str:
    made, count = stem, len(taken) if stem in taken else 1
    while made in taken:
        count += 1
        made = f"{stem}-{count}"
    taken.add(made)
    return made


def _characters(node: Chars) -> str:
    chars, is_negated = characters(*node.ranges), node.negated
    if not is_negated and chars.ranges[-1][1] == LAST:
        chars, is_negated = excluding(chars), True
    ranges = "".join(
        _character(first, _IN_CLASS) + (f"-{_character(last, _IN_CLASS)}" if last > first else "")
        for first, last in within(chars, excluding(characters("-"))).ranges
        if not "\ud800" <= first <= "\udfff"  # no text contains them
    )
    # A hyphen at the end of a class is literal in all readers; xgrammar has no escape for it.
    hyphen = "-" if in_set("-", chars) else ""
    return f"[{'^' if is_negated else ''}{ranges}{hyphen}]" if ranges or hyphen else r"[^\x00]"


_QUOTED = {'"': '\\"', "\\": "\\\\"}
_IN_CLASS = {"[": "\\[", "]": "\\]", "\\": "\\\\", "^": "\\x5E"}
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def _character(char: str, special: dict[str, str]) -> str:
    if char < " " or char == "\x7f":
        return _SHORT.get(char, f"\\x{ord(char):02X}")
    return special.get(char, char)


def _times(found: Repeat) -> str:
    """The repetition suffix."""
    known = {(0, None): "*", (1, None): "+", (0, 1): "?", (1, 1): ""}.get((found.least, found.most))
    if known is not None:
        return known
    if found.most is None:
        return f"{{{found.least},}}"
    return f"{{{found.least}}}" if found.least == found.most else f"{{{found.least},{found.most}}}"
