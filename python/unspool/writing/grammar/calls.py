"""The grammar of a format's calls, from the patterns of `call` and of `calls`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from unspool._core import Pattern
from unspool.core.format.forms import OBJECT, Form
from unspool.errors import ArgumentError, FormatError
from unspool.writing.grammar.arguments import Arguments, in_order
from unspool.writing.grammar.lexicon import closing, edge, split_end
from unspool.writing.grammar.marked_values import PYTHON
from unspool.writing.grammar.nodes import (
    GAP,
    Chars,
    JsonValue,
    Literal,
    Node,
    Repeat,
    Terminal,
    choice,
    optional,
    plus,
    sequence,
    star,
)
from unspool.writing.grammar.object_schema import object_schema
from unspool.writing.grammar.schema_rules import value_rules
from unspool.writing.grammar.tools import Tool

__all__ = ["Calls", "Unit"]

_DIGITS = Terminal(Repeat(Chars((("0", "9"),)), 1, 4))
_LETTERS = (("0", "9"), ("A", "Z"), ("a", "z"))
_ID = Terminal(Repeat(Chars((*_LETTERS, ("_", "_"))), 1, 40))
_PYTHON_NAME = re.compile(r"[A-Za-z_][\w.\-]*")


@dataclass(frozen=True)
class Unit:
    """Calls within an answer.

    Attributes:
        opener: The text that they begin with, as in the pattern.
        rest: The grammar after the opener.
        is_single: Whether it is one call; several are then written one after the other.
    """

    opener: str
    rest: Node
    is_single: bool


@dataclass(frozen=True)
class Calls:
    """Builds the grammar of calls to some tools."""

    arguments: Arguments
    tools: tuple[Tool, ...]
    parallel: bool
    has_headers: bool = False

    def units(self, form: Form) -> list[Unit]:
        """One call, or all calls if there is markup around them; a unit per tool if there is no common
        opener."""
        if form.section is None and form.call.has("key") and form.call.first and not form.call.first.strip():
            opener = form.call.first
            return [
                Unit(f"{opener}{tool.name}(", self._python_arguments(tool), True)
                for tool in self._python_tools()
            ]
        return [self._unit(form)]

    def _unit(self, form: Form) -> Unit:
        inner = self._unit_of_call(form)
        if form.section is None:
            return inner
        calls = self.repeated(sequence(edge(self._lexicon, inner.opener, after=False), inner.rest), inner)
        opener, space = split_end(form.section.first)
        return Unit(opener, sequence(space, calls, edge(self._lexicon, form.section.last)), False)

    def repeated(self, node: Node, unit: Unit) -> Node:
        """A unit, in the form of this node, repeated as often as calls may follow each other."""
        return plus(self.arguments.rules.add("call", node)) if unit.is_single and self.parallel else node

    @property
    def _lexicon(self) -> Any:
        return self.arguments.lexicon

    def _unit_of_call(self, form: Form) -> Unit:
        call = form.call
        if call.has("object"):
            return self._objects(call)
        if call.has("key"):
            return self._python(call)
        rest = choice(*(self._one(form, tool) for tool in self.tools))
        return Unit(call.first, rest, True)

    def _joined(self, call: Node, separator: Node) -> Node:
        """One call or, if several are allowed, several with separators."""
        if not self.parallel:
            return call
        named = self.arguments.rules.add("call", call)
        return sequence(named, star(sequence(separator, named)))

    def _one(self, form: Form, tool: Tool) -> Node:
        """One call of this tool after its opener, with its name outside the arguments."""
        call = form.call
        _check_name(tool.name, self._after_name(call))
        parts: list[Node] = []
        for place, hole in enumerate(call.holes):
            if hole.kind == "value":
                body = self.arguments.only_value(tool, call.before("value"), call.last)
                return sequence(*parts[:-1], body)
            parts += [self._hole(form, place, tool), self._text(call, place + 1)]
        return sequence(*parts)

    def _after_name(self, call: Pattern) -> str:
        if call.has("name"):
            return call.after("name")
        shape = next(iter(self.arguments.patterns.id), None)
        if shape is None or not shape.has("name"):
            raise FormatError("a call has neither ${name} nor an id that holds it")
        return shape.after("name")

    def _text(self, call: Pattern, place: int) -> Node:
        """A text between two holes: white space at the ends of a call and around JSON is optional."""
        text = call.texts[place]
        before = place == 0 or call.holes[place - 1].kind in ("arguments", "parameters")
        after = place == len(call.holes) or call.holes[place].kind in ("arguments", "parameters")
        if not text.strip():
            is_free = after and not (self.has_headers and not before)
            return GAP if is_free or before else Literal(text)
        return edge(self._lexicon, text, before, after)

    def _hole(self, form: Form, place: int, tool: Tool) -> Node:
        hole = form.call.holes[place]
        if hole.kind == "name":
            return Literal(tool.name)
        if hole.kind == "arguments":
            return self.arguments.json(tool)
        if hole.kind == "parameters":
            return self.arguments.parameters(tool, form.parameters)
        if hole.kind == "id":
            return self._id(tool)
        if hole.kind == "index":
            return _DIGITS
        if hole.kind == "_":
            return optional(Literal(tool.name))
        raise FormatError(f"a grammar cannot write the hole ${{{hole.kind}}} of a call")

    def _id(self, tool: Tool) -> Node:
        shape = next(iter(self.arguments.patterns.id), None)
        if shape is None:
            return _ID
        parts: list[Node] = [Literal(shape.first)]
        for hole, text in zip(shape.holes, shape.texts[1:], strict=True):
            count = next((int(option) for option in hole.options if option.isdigit()), 24)
            random = Terminal(Repeat(Chars(_LETTERS), count, count))
            made = {"name": Literal(tool.name), "index": _DIGITS, "random": random}
            parts += [made[hole.kind], Literal(text)]
        return sequence(*parts)

    # ${object}: in a list, with a separator, or each between its own markers
    def _objects(self, call: Pattern) -> Unit:
        shapes = self.arguments.patterns.object or (OBJECT,)
        one = choice(*(self._object(call, tool, shape) for tool in self.tools for shape in shapes))
        place = call.index("object")
        first, before, last = call.first, call.texts[place], call.last
        inner = self._joined(one, _separator(call.texts[call.index("...")])) if call.has("...") else one
        if before.rstrip().endswith("["):
            before = before.rstrip().removesuffix("[")
            inner = _bracketed(inner)
            last = last.lstrip().removeprefix("]")
        rest = sequence(inner, closing(self._lexicon, last))
        if place > 0:  # after a message's author
            names = optional(choice(*(Literal(tool.name) for tool in self.tools)))
            return Unit(first, sequence(names, edge(self._lexicon, before, before=False), rest), True)
        opener, space = split_end(before)
        return Unit(opener, sequence(space, rest), not call.has("..."))

    def _object(self, call: Pattern, tool: Tool, shape: Pattern) -> Node:
        schema = object_schema(tool, shape)
        if "python" not in call.options("object"):
            return JsonValue.of(schema)
        path, dropped = f"{tool.name}#", self.arguments.dropped
        return value_rules(self.arguments.rules, PYTHON, schema, schema, path, dropped)

    # name(key=value, ..): in a list, or each between its own markers
    def _python(self, call: Pattern) -> Unit:
        tools = self._python_tools()
        one = choice(*(sequence(Literal(f"{tool.name}("), self._python_arguments(tool)) for tool in tools))
        kinds = [hole.kind for hole in call.holes]
        first, last = call.first, call.last
        if kinds.count("...") < 2:
            return Unit(
                first, sequence(one, edge(self._lexicon, last.strip().removeprefix(")"))), bool(first)
            )
        inner = self._joined(one, _separator(call.texts[-2].removeprefix(")")))
        if first.rstrip().endswith("["):
            inner = _bracketed(inner)
            first, last = first.rstrip().removesuffix("["), last.lstrip().removeprefix("]")
        opener, space = split_end(first)
        return Unit(opener, sequence(space, inner, edge(self._lexicon, last)), False)

    def _python_tools(self) -> tuple[Tool, ...]:
        for tool in self.tools:
            for word in (tool.name, *tool.properties):
                if not _PYTHON_NAME.fullmatch(word):
                    raise ArgumentError(f"'{word}' is not a Python name, as this format requires; rename it")
        return self.tools

    def _python_arguments(self, tool: Tool) -> Node:
        rules, dropped, parts = self.arguments.rules, self.arguments.dropped, []
        for key, schema in tool.properties.items():
            if schema is not False:
                path = f"{tool.name}#/properties/{key}"
                value = value_rules(rules, PYTHON, schema, tool.schema, path, dropped)
                parts.append((sequence(Literal(f"{key}="), value), key in tool.required))
        return sequence(in_order(rules, parts, _separator(",")), Literal(")"))


def _bracketed(inner: Node) -> Node:
    return sequence(Literal("["), GAP, inner, GAP, Literal("]"))


def _separator(text: str) -> Node:
    sign = text.strip()
    return sequence(GAP, Literal(sign), GAP) if sign else GAP


def _check_name(name: str, after: str) -> None:
    sign = after.strip()[:1] or "\n"
    if sign in name or name != name.strip() or any(char in name for char in "\n<{"):
        raise ArgumentError(
            f"this format cannot write the tool name '{name}': it holds what ends a name; rename the tool"
        )
