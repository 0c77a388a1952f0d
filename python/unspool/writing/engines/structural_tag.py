"""Prints a grammar as xgrammar's structural tag: a JSON tree, with EBNF for what tags cannot express."""

from __future__ import annotations

import json
from typing import Any

from unspool.writing.engines.gbnf import to_ebnf
from unspool.writing.rules.nodes import (
    Chars,
    Choice,
    FreeText,
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

__all__ = ["to_structural_tag"]

_OF_TAGS = (Token, OtherTokens, FreeText)

#: Maximum number of levels of rules: xgrammar allows 100 levels of formats, and a rule needs several.
_MAX_LEVELS = 8


def to_structural_tag(rules: Rules) -> str:
    """Return the grammar as JSON text: `{"type": "structural_tag", "format": ...}`."""
    return json.dumps({"type": "structural_tag", "format": _Printer(rules).rule("start")}, ensure_ascii=False)


class _Printer:
    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._made: dict[Node, dict[str, Any]] = {}
        self._named: dict[str, list[str]] = {}

    def rule(self, name: str) -> dict[str, Any]:
        """Write out a rule; a rule that is recursive, or has many levels and no tokens, becomes EBNF."""
        node = self._rules.named[name]
        reached, level_count = self._reached(node)
        if name in reached or (
            level_count > _MAX_LEVELS and not any(map(self._has_tokens, (name, *reached)))
        ):
            return self._grammar(node if name == "start" else Reference(name))
        return self._part(node)

    def _part(self, node: Node) -> dict[str, Any]:
        """The tree of a node; equal nodes share a tree."""
        if node not in self._made:
            self._made[node] = self._grammar(node) if self._is_plain(node) else self._tree(node)
        return self._made[node]

    def _is_plain(self, node: Node) -> bool:
        """Whether EBNF is the best form for a node; free text is faster as `any_text`, and a literal is shorter."""
        parts = [
            *_parts(node),
            *(one for name in self._reached(node)[0] for one in _parts(self._rules.named[name])),
        ]
        return not isinstance(node, Literal) and not any(isinstance(one, _OF_TAGS) for one in parts)

    def _tree(self, node: Node) -> dict[str, Any]:
        if isinstance(node, Literal):
            return {"type": "const_string", "value": node.text}
        if isinstance(node, Token):
            return {"type": "token", "token": node.id}
        if isinstance(node, OtherTokens):
            return {"type": "any_tokens", "exclude_tokens": list(node.excluded)}
        if isinstance(node, Reference):
            return self.rule(node.name)
        if isinstance(node, FreeText):
            return _free_text(node)
        if isinstance(node, (Terminal, Chars)):
            return self._grammar(node)
        if isinstance(node, Repeat):
            return self._repeat(node)
        parts = node.parts if isinstance(node, (Sequence, Choice)) else ()
        elements = [self._part(part) for part in parts if part != Sequence(())]
        if isinstance(node, Choice):
            union = {"type": "or", "elements": elements}
            return {"type": "optional", "content": union} if len(elements) < len(parts) else union
        return (
            {"type": "sequence", "elements": elements} if elements else {"type": "const_string", "value": ""}
        )

    def _grammar(self, node: Node) -> dict[str, Any]:
        """EBNF for a node and the rules that it needs."""
        needed = Rules({"start": node})
        for name in self._reached(node)[0]:
            needed.named[name] = self._rules.named[name]
        return {"type": "grammar", "grammar": to_ebnf(needed)}

    def _reached(self, node: Node) -> tuple[dict[str, None], int]:
        """Return the rules that a node refers to, also indirectly, and the number of levels."""
        found: dict[str, None] = {}
        level, level_count = _references(node), 0
        while level:
            found.update(dict.fromkeys(level))
            level_count += 1
            level = [name for one in level for name in self._references_of(one) if name not in found]
            level = list(dict.fromkeys(level))
        return found, level_count

    def _references_of(self, name: str) -> list[str]:
        if name not in self._named:
            self._named[name] = _references(self._rules.named[name])
        return self._named[name]

    def _has_tokens(self, name: str) -> bool:
        return any(isinstance(one, (Token, OtherTokens)) for one in _parts(self._rules.named[name]))

    def _repeat(self, node: Repeat) -> dict[str, Any]:
        content = self._part(node.part)
        kinds = {(0, 1): "optional", (0, None): "star", (1, None): "plus"}
        kind = kinds.get((node.least, node.most))
        if kind is not None:
            return {"type": kind, "content": content}
        most = -1 if node.most is None else node.most
        return {"type": "repeat", "min": node.least, "max": most, "content": content}


def _free_text(node: FreeText) -> dict[str, Any]:
    text = {"type": "any_text", "excludes": list(node.words)}
    closer = {"type": "const_string", "value": node.closer}
    return {"type": "sequence", "elements": [text, closer]} if node.closer else text


def _references(node: Node) -> list[str]:
    """The rules that a node refers to, without duplicates."""
    return [one.name for one in _parts(node) if isinstance(one, Reference)]


def _parts(node: Node) -> list[Node]:
    """A node and all nodes in it, without duplicates."""
    nodes: dict[Node, None] = {node: None}
    waiting = [node]
    for parent in waiting:
        inner = parent.parts if isinstance(parent, (Sequence, Choice)) else ()
        inner += (parent.part,) if isinstance(parent, (Repeat, Terminal)) else ()
        new = [part for part in inner if part not in nodes]
        nodes.update(dict.fromkeys(new))
        waiting += new
    return list(nodes)
