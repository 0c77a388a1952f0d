"""The grammar of a format's calls."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from unspool._core import CallShape, Edge, FormShape, Hole, ObjectShape
from unspool.core.schema.schema import Listed, Nothing, ObjectOf, Schema, Text
from unspool.errors import ArgumentError, FormatError
from unspool.writing.grammar.arguments import Arguments
from unspool.writing.grammar.lexicon import closing, edge, split_end
from unspool.writing.grammar.marked_values import JSON, PYTHON
from unspool.writing.grammar.tools import Tool
from unspool.writing.rules.in_order import in_order
from unspool.writing.rules.nodes import (
    GAP,
    Chars,
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
from unspool.writing.schemas.schema_rules import value_rules

__all__ = ["Calls", "Unit"]

_DIGITS = Terminal(Repeat(Chars((("0", "9"),)), 1, 4))
_LETTERS = (("0", "9"), ("A", "Z"), ("a", "z"))
_ID = Terminal(Repeat(Chars((*_LETTERS, ("_", "_"))), 1, 40))
_SKIPPED = Terminal(Repeat(Chars((*_LETTERS, ("_", "_"), ("-", "-"), (".", "."))), 0, 40))
_PYTHON_NAME = re.compile(r"[A-Za-z_][\w.\-]*")


@dataclass(frozen=True)
class Unit:
    """Calls within an answer.

    Attributes:
        opener: The marker that the calls begin with.
        rest: The grammar after the opener.
        is_single: Whether the unit is one call; several calls are then several units in a row.
    """

    opener: Edge
    rest: Node
    is_single: bool


@dataclass(frozen=True)
class Calls:
    """Builds the grammar of calls to some tools."""

    arguments: Arguments
    tools: tuple[Tool, ...]
    parallel: bool
    has_headers: bool = False

    def units(self, form: FormShape) -> list[Unit]:
        """Return the units of a form: one call each, or all calls if there is markup around them. There is a unit
        for each tool if the calls have no common opener."""
        call = form.call
        is_line = call.open.is_blank and call.open.literal != "" and call.list_open is None
        if form.section is None and call.body == "pythonic" and is_line:
            return [
                Unit(Edge(f"{call.open.literal}{tool.name}("), self._python_arguments(tool), True)
                for tool in self._python_tools()
            ]
        return [self._unit(form)]

    def _unit(self, form: FormShape) -> Unit:
        inner = self._unit_of_call(form)
        if form.section is None:
            return inner
        calls = self.repeated(sequence(edge(self._lexicon, inner.opener, after=False), inner.rest), inner)
        opener, space = split_end(form.section.open)
        return Unit(opener, sequence(space, calls, edge(self._lexicon, form.section.close)), False)

    def repeated(self, node: Node, unit: Unit) -> Node:
        """`node`, which stands for the unit, repeated as often as calls may follow each other."""
        return plus(self.arguments.rules.add("call", node)) if unit.is_single and self.parallel else node

    @property
    def _lexicon(self) -> Any:
        return self.arguments.lexicon

    def _unit_of_call(self, form: FormShape) -> Unit:
        call = form.call
        if call.body == "json_call":
            return self._objects(call)
        if call.body == "pythonic":
            return self._python(call)
        rest = choice(*(self._one(form, tool) for tool in self.tools))
        return Unit(call.author or call.open, rest, True)

    def _joined(self, call: Node, separator: Node) -> Node:
        """One call or, if several are allowed, several with separators."""
        if not self.parallel:
            return call
        named = self.arguments.rules.add("call", call)
        return sequence(named, star(sequence(separator, named)))

    def _one(self, form: FormShape, tool: Tool) -> Node:
        """One call of this tool after its opener, with its name outside the arguments."""
        call = form.call
        _check_name(tool.name, call.name_stop)
        parts: list[Node] = []
        if call.author is not None:
            parts += [optional(Literal(tool.name)), self._text(call.open, None, call.inside[0])]
        for place, item in enumerate(call.inside):
            before, after = call.inside[place - 1] if place else None, (*call.inside, None)[place + 1]
            if isinstance(item, Edge):
                parts.append(self._text(item, before, after))
            elif isinstance(item, Hole) and item.kind == "value" and isinstance(before, Edge):
                only = self.arguments.only_value(tool, before, call.close, call.value_space)
                return sequence(*parts[:-1], only)
            elif isinstance(item, Hole):
                parts.append(self._hole(form, item, tool))
        return sequence(*parts, self._text(call.close, call.inside[-1], None))

    def _text(self, text: Edge, hole_before: Any, hole_after: Any) -> Node:
        """A text between two holes: white space at the ends of a call and around JSON is optional."""
        before, after = _is_body(hole_before), hole_after is None or _is_body(hole_after)
        if not text.is_blank:
            return edge(self._lexicon, text, before, after)
        is_free = after and not (self.has_headers and not before)
        return GAP if is_free or before else Literal(text.literal)

    def _hole(self, form: FormShape, hole: Hole, tool: Tool) -> Node:
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
            return _SKIPPED
        raise FormatError(f"a grammar cannot write the hole ${{{hole.kind}}} of a call")

    def _id(self, tool: Tool) -> Node:
        shape = next(iter(self.arguments.shape.ids), None)
        if shape is None:
            return _ID
        return sequence(
            *(
                _id_part(item, tool) if isinstance(item, Hole) else Literal(item.literal)
                for item in shape.items
            )
        )

    # ${object}: in a list, with a separator, or each between its own markers
    def _objects(self, call: CallShape) -> Unit:
        shapes = self.arguments.shape.objects
        node = choice(*(self._object(call, tool, shape) for tool in self.tools for shape in shapes))
        inner = self._list(call, node)
        rest = sequence(inner, closing(self._lexicon, call.close))
        if call.author is not None:
            names = optional(choice(*(Literal(tool.name) for tool in self.tools)))
            return Unit(
                call.author, sequence(names, edge(self._lexicon, call.open, before=False), rest), True
            )
        opener, space = split_end(call.open)
        return Unit(opener, sequence(space, rest), call.separator is None)

    def _list(self, call: CallShape, node: Node) -> Node:
        """The calls in one body, with the brackets around them."""
        inner = node if call.separator is None else self._joined(node, _separator(call.separator))
        if call.list_open is None or call.list_close is None:
            return inner
        return sequence(Literal(call.list_open.text), GAP, inner, GAP, Literal(call.list_close.text))

    def _object(self, call: CallShape, tool: Tool, shape: ObjectShape) -> Node:
        hole = call.inside[0]
        is_python = isinstance(hole, Hole) and "python" in hole.options
        written = self.arguments.written(tool, PYTHON if is_python else JSON)
        return value_rules(self.arguments.rules, written, _object_schema(tool, shape), tool.definitions)

    # name(key=value, ..): in a list, or each between its own markers
    def _python(self, call: CallShape) -> Unit:
        tools = self._python_tools()
        node = choice(*(sequence(Literal(f"{tool.name}("), self._python_arguments(tool)) for tool in tools))
        inner = self._list(call, node)
        if call.separator is None:
            closer = edge(self._lexicon, Edge(call.close.text))
            return Unit(call.open, sequence(inner, closer), bool(call.open.literal))
        opener, space = split_end(call.open)
        return Unit(opener, sequence(space, inner, edge(self._lexicon, call.close)), False)

    def _python_tools(self) -> tuple[Tool, ...]:
        for tool in self.tools:
            for word in (tool.name, *tool.properties):
                if not _PYTHON_NAME.fullmatch(word):
                    raise ArgumentError(f"'{word}' is not a Python name, as this format requires; rename it")
        return self.tools

    def _python_arguments(self, tool: Tool) -> Node:
        variants = tool.variants(self.arguments.dropped)
        return sequence(choice(*(self._python_members(tool, one) for one in variants)), Literal(")"))

    def _python_members(self, tool: Tool, arguments: ObjectOf) -> Node:
        rules, parts = self.arguments.rules, []
        for key, schema in arguments.members:
            if not isinstance(schema, Nothing):
                value = value_rules(rules, self.arguments.written(tool, PYTHON), schema, tool.definitions)
                parts.append((sequence(Literal(f"{key}="), value), key in arguments.required))
        return in_order(rules, parts, _separator(Edge(",")), arguments.fewest)


def _object_schema(tool: Tool, shape: ObjectShape) -> ObjectOf:
    """The schema of a call that is one object with name, arguments and, in some formats, id."""
    id = Text(pattern="^[A-Za-z0-9_-]{1,40}$")
    kinds: dict[str, Schema] = {"name": Listed((tool.name,)), "arguments": tool.schema, "id": id}
    members = (
        {tool.name: tool.schema} if shape.name_is_key else {key: kinds[kind] for key, kind in shape.keys}
    )
    return ObjectOf(tuple(members.items()), tuple(members), others=Nothing())


def _is_body(item: Any) -> bool:
    return isinstance(item, Hole) and item.kind in ("arguments", "parameters")


def _id_part(hole: Hole, tool: Tool) -> Node:
    count = hole.number or 24
    random = Terminal(Repeat(Chars(_LETTERS), count, count))
    return {"name": Literal(tool.name), "index": _DIGITS, "random": random}[hole.kind]


def _separator(separator: Edge) -> Node:
    return GAP if separator.is_blank else sequence(GAP, Literal(separator.text), GAP)


def _check_name(name: str, stop: str) -> None:
    if not stop:
        raise FormatError("a call has neither ${name} nor an id that holds it")
    if stop in name or name != name.strip() or any(char in name for char in "\n<{"):
        raise ArgumentError(
            f"this format cannot write the tool name '{name}': it holds what ends a name; rename the tool"
        )
