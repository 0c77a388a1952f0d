"""Constraints on an answer's content: a JSON Schema, listed texts, a regular expression, or a grammar."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from unspool.core.regular.match_pattern import Matcher
from unspool.core.regular.schema_patterns import parse_whole
from unspool.errors import ArgumentError
from unspool.writing.engines.printers import PRINTERS
from unspool.writing.grammar.json_answer import json_grammar
from unspool.writing.grammar_result import Grammar, Syntax
from unspool.writing.rules.free_text import Start
from unspool.writing.rules.marker_free import begun, restricted, without_words
from unspool.writing.rules.nodes import EMPTY, Node, Rules, Terminal
from unspool.writing.rules.nodes import Literal as Exactly
from unspool.writing.rules.nodes import choice as any_of
from unspool.writing.rules.read_grammar import MAX_LENGTH, read_grammar, read_regex

__all__ = ["Response", "read_text", "response_grammar", "text_node"]

MAX_CHOICES = 1_000


@dataclass(frozen=True)
class Response:
    """A constraint on an answer's content; exactly one kind is set.

    Attributes:
        schema: A JSON Schema.
        choice: Texts, one of which the content must equal.
        regex: A regular expression that must match the whole text.
        grammar: A grammar in Lark or GBNF.
        syntax: The grammar's syntax, "lark" or "gbnf". None: GBNF if it has "::=".
    """

    schema: Mapping[str, Any] | None = None
    choice: Sequence[str] | None = None
    regex: str | None = None
    grammar: str | None = None
    syntax: str | None = None

    @property
    def name(self) -> str:
        """The name of the attribute that is set."""
        return next(
            name for name in ("schema", "choice", "regex", "grammar") if getattr(self, name) is not None
        )

    def as_format(self) -> dict[str, Any]:
        """The constraint in the form of a `response_format`."""
        if self.schema is not None:
            return {"type": "json_schema", "json_schema": {"schema": dict(self.schema)}}
        made = {"type": self.name, self.name: getattr(self, self.name)}
        return made if self.syntax is None else {**made, "syntax": self.syntax}

    def admits(self, text: str) -> bool:
        """Whether a finished answer is one of the choices or matches the regex; not checked for a grammar."""
        if self.choice is not None:
            return text.strip() in {one.strip() for one in self.choice}
        return self.regex is None or Matcher(parse_whole(self.regex)).matches(text)

    @classmethod
    def of(
        cls,
        schema: Mapping[str, Any] | None = None,
        choice: Sequence[str] | None = None,
        regex: str | None = None,
        grammar: str | None = None,
        syntax: str | None = None,
    ) -> Response | None:
        """Build the constraint from the argument that is given; None: none is given.

        Raises:
            ArgumentError: More than one is given, or one has a wrong type.
        """
        arguments = {"a schema": schema, "choice": choice, "regex": regex, "grammar": grammar}
        names = [name for name, value in arguments.items() if value is not None]
        if not names:
            return None
        if len(names) > 1:
            raise ArgumentError(f"{' and '.join(names)} are given; an answer is kept to one of them")
        if choice is not None:
            _check_choice(choice)
        for name in ("regex", "grammar"):
            value = arguments[name]
            if value is not None and not isinstance(value, str):
                raise ArgumentError(f"{name} is of type {type(value).__name__}; pass a text")
        if syntax not in (None, "lark", "gbnf"):
            raise ArgumentError(f"the grammar's syntax is {syntax!r}; use 'lark' or 'gbnf'")
        return cls(schema, choice, regex, grammar, syntax)


def _check_choice(choice: Any) -> None:
    if isinstance(choice, (str, bytes)) or not isinstance(choice, Sequence):
        raise ArgumentError(f"choice is of type {type(choice).__name__}; pass a list of texts")
    if not 0 < len(choice) <= MAX_CHOICES:
        raise ArgumentError(f"choice has {len(choice)} texts; list 1 to {MAX_CHOICES:,}")
    if sum(len(text) for text in choice if isinstance(text, str)) > MAX_LENGTH:
        raise ArgumentError(f"choice has more than {MAX_LENGTH:,} characters; shorten it")
    for text in choice:
        if not isinstance(text, str) or not text:
            raise ArgumentError(f"choice holds {text!r}; list texts that are not empty")
        if any("\ud800" <= char <= "\udfff" for char in text):
            raise ArgumentError(f"choice holds {text!r}, which has a lone surrogate; no output can hold it")


def read_text(response: Response, rules: Rules) -> Node:
    """Return the node of the texts that a choice, regex or grammar allows; its rules are added to `rules`.

    Raises:
        ArgumentError: The regex or grammar cannot be parsed.
    """
    if response.choice is not None:
        return Terminal(any_of(*map(Exactly, response.choice)))
    if response.regex is not None:
        return read_regex(response.regex)
    assert response.grammar is not None
    return read_grammar(response.grammar, rules, response.syntax)


def response_grammar(response: Response, syntax: Syntax = "lark") -> Grammar:
    """Build the grammar of an answer that consists only of the constrained content.

    Raises:
        ArgumentError: As in `read_text` or `json_grammar`.
    """
    if response.schema is not None:
        return json_grammar(response.schema, syntax=syntax)
    rules = Rules({"start": EMPTY})
    rules.named["start"] = read_text(response, rules)
    return Grammar(syntax, PRINTERS[syntax](rules))


def text_node(response: Response, rules: Rules, words: Collection[str], start: Start | None) -> Node:
    """Return the same node as `read_text`, without texts that would be parsed as something other than content.

    Args:
        words: Markers that are recognized by their spelling.
        start: The rule for beginnings that content must not have, because calls have them.

    Raises:
        ArgumentError: The regex or grammar cannot be parsed, or its texts may be parsed as something else.
    """
    node = read_text(response, rules)
    for text in response.choice or ():
        word = next((word for word in words if word in text), None)
        if word is not None:
            raise ArgumentError(
                f"choice holds {text!r}, and '{word}' is a marker of the format; leave it out"
            )
        if start is not None and not start.admits(text):
            raise ArgumentError(
                f"choice holds {text!r}, which begins as a call of the format; leave it or the tools out"
            )
    if start is not None and isinstance(node, Terminal):
        part = restricted(node.part, start)
        word = "" if part is None else None
        node = node if part is None else Terminal(part)
    elif start is not None:
        word = begun(node, rules.named, start)
    else:
        word = None
    if word is not None:
        raise ArgumentError(
            f"what the {response.name} admits may begin as a call of the format; leave the tools out"
        )
    node = rules.add("response", node)
    word = without_words(node, rules, words)
    if word is not None:
        raise ArgumentError(
            f"what the {response.name} admits may hold '{word}', a marker of the format; pass a tokenizer that has it as a "
            "token, or admit less"
        )
    return node
