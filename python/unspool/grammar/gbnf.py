"""Prints a grammar as GBNF, for llama.cpp; and as the EBNF of xgrammar, which is nearly the same."""

from __future__ import annotations

from dataclasses import dataclass

from unspool.grammar.nodes import (
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


def to_gbnf(rules: Rules) -> str:
    """The grammar as text; its entry is `root`. JSON values must be rules already."""
    return _Printer(rules, _LlamaTokens()).text()


def to_ebnf(rules: Rules) -> str:
    """The same for xgrammar, which names tokens in another way."""
    return _Printer(rules, _XgrammarTokens()).text()


class _LlamaTokens:
    @staticmethod
    def token(id: int) -> str:
        return f"<[{id}]>"

    @staticmethod
    def others(excluded: tuple[int, ...]) -> str:
        # GBNF negates one token only: of all others only text is left, in which no marker is spelled by a token.
        return f"!<[{excluded[0]}]>*" if len(excluded) == 1 else "[^\\u0000]*"


class _XgrammarTokens:
    @staticmethod
    def token(id: int) -> str:
        return f"Token({id})"

    @staticmethod
    def others(excluded: tuple[int, ...]) -> str:
        return f"ExcludeToken({', '.join(map(str, excluded))})*"


@dataclass
class _Printer:
    rules: Rules
    tokens: _LlamaTokens | _XgrammarTokens

    def text(self) -> str:
        self._texts: dict[Node, str] = {}
        names = {name: "root" if name == "start" else _name(name) for name in self.rules.named}
        lines = [f"{names[name]} ::= {self._part(node, 0)}" for name, node in self.rules.items()]
        done = 0
        while done < len(self._texts):  # a terminal may hold more of them
            node, name = list(self._texts.items())[done]
            lines.append(f"{name} ::= {self._part(node, 0)}")
            done += 1
        return "\n".join(lines) + "\n"

    def _part(self, node: Node, depth: int) -> str:
        """A node as an expression; `depth` says what needs no brackets: 0 all, 1 a sequence, 2 one part."""
        if isinstance(node, Literal):
            return f'"{"".join(_char(char, _IN_TEXT) for char in node.text)}"'
        if isinstance(node, Token):
            return self.tokens.token(node.id)
        if isinstance(node, OtherTokens):
            text = self.tokens.others(node.excluded)
            return f"({text})" if depth > 1 else text
        if isinstance(node, Reference):
            return _name(node.name)
        if isinstance(node, Terminal):
            return self._texts.setdefault(node.part, f"text-{len(self._texts) + 1}")
        if isinstance(node, Chars):
            ranges = (
                _char(a, _IN_CLASS) if a == b else f"{_char(a, _IN_CLASS)}-{_char(b, _IN_CLASS)}"
                for a, b in node.ranges
            )
            return f"[{'^' * node.negated}{''.join(ranges)}]" if node.ranges else "[^\\u0000]"
        if isinstance(node, Repeat):
            return self._part(node.part, 2) + _count(node)
        if isinstance(node, Choice):
            text = " | ".join(self._part(part, 1) for part in node.parts)
            return f"({text})" if depth else text
        assert isinstance(node, Sequence)
        text = " ".join(self._part(part, 1) for part in node.parts) or '""'
        return f"({text})" if depth > 1 and len(node.parts) > 1 else text


def _name(name: str) -> str:
    return name.replace("_", "-")


def _count(node: Repeat) -> str:
    signs = {(0, 1): "?", (0, None): "*", (1, None): "+"}
    most = "" if node.most is None else str(node.most)
    return signs.get((node.least, node.most)) or f"{{{node.least},{most}}}"


_IN_TEXT = frozenset('"\\')
_IN_CLASS = frozenset("\\]^-[")


def _char(char: str, signs: frozenset[str]) -> str:
    if char in signs or (ord(char) < 32 and char not in "\n\r\t") or ord(char) == 127:
        return f"\\u{ord(char):04X}"
    return {"\n": "\\n", "\t": "\\t", "\r": "\\r"}.get(char, char)
