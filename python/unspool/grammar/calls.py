"""A format's calls: from each pattern of `call`, and of `calls` around them, to a grammar."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from unspool.errors import ArgumentError, FormatError
from unspool.grammar.arguments import Arguments
from unspool.grammar.dialects import python_dialect
from unspool.grammar.lexicon import closing, edge, is_structural, split_end
from unspool.grammar.nodes import (
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
from unspool.grammar.tools import Tool
from unspool.grammar.values import Values
from unspool.patterns import Pattern

__all__ = ["Calls", "Form", "Unit", "forms_of"]

_DIGITS = Terminal(Repeat(Chars((("0", "9"),)), 1, 4))
_LETTERS = (("0", "9"), ("A", "Z"), ("a", "z"))
_ID = Terminal(Repeat(Chars((*_LETTERS, ("_", "_"))), 1, 40))
_PYTHON_NAME = re.compile(r"[A-Za-z_][\w.\-]*")


@dataclass(frozen=True)
class Form:
    """One way to write calls.

    Attributes:
        section: What stands around all of them, if anything does.
        is_bare: Whether nothing opens them.
    """

    call: Pattern
    section: Pattern | None
    parameters: tuple[Pattern, ...]

    @property
    def is_bare(self) -> bool:
        return self.section is None and not self.call.first.strip(" \n[")


def forms_of(arguments: Arguments) -> list[Form]:
    """The ways to write calls that a model may use: what only a damaged output has is left out."""
    patterns = arguments.patterns
    calls = [call for call in patterns.call if not _is_cut(call, patterns.call)]
    keeps_bare = _is_bare(calls[0]) or calls[0].first.strip().startswith("```")
    if not keeps_bare:
        calls = [call for call in calls if not _is_bare(call)]
    made = []
    for call in calls:
        place = patterns.call.index(call)
        sections = _together(patterns.calls, place, len(patterns.call)) or (None,)
        for section in sections:
            made.append(Form(call, section, _together(patterns.parameter, place, len(patterns.call))))
    return made


def _together(alternatives: tuple[Any, ...], place: int, count: int) -> tuple[Any, ...]:
    """Alternatives of two keys belong together one by one if there are as many."""
    return (alternatives[place],) if count > 1 and len(alternatives) == count else alternatives


def _is_bare(call: Pattern) -> bool:
    return not call.first.strip(" \n[")


def _is_cut(call: Pattern, others: tuple[Pattern, ...]) -> bool:
    """Whether the alternative is the end of another one, whose opening token is lost."""
    word = call.first.strip()
    return (
        bool(word)
        and not is_structural(word.rstrip(": "))
        and any(other.first.strip() != word and other.first.strip().endswith(word) for other in others)
    )


@dataclass(frozen=True)
class Unit:
    """Calls as they stand in an answer.

    Attributes:
        opener: The text that they begin with, as the pattern has it.
        rest: What follows the opener.
        is_single: Whether it is one call: several are written one after the other.
    """

    opener: str
    rest: Node
    is_single: bool


@dataclass(frozen=True)
class Calls:
    """Makes the grammar of calls of some tools."""

    arguments: Arguments
    tools: tuple[Tool, ...]
    parallel: bool
    has_headers: bool = False

    def units(self, form: Form) -> list[Unit]:
        """One call, or all calls where something stands around them; each tool apart if nothing else opens it."""
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
        """A unit, written as this node, as often as calls may follow each other."""
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
        """The call, and if there may be several, more of them."""
        if not self.parallel:
            return call
        named = self.arguments.rules.add("call", call)
        return sequence(named, star(sequence(separator, named)))

    def _one(self, form: Form, tool: Tool) -> Node:
        """One call of this tool after its opener, its name outside of its arguments."""
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
        """A text between two holes: white space at the edges of a call and around JSON may be missing."""
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

    # ${object}, in a list, with a separator, or each between its own markers
    def _objects(self, call: Pattern) -> Unit:
        one = choice(*(self._object(call, tool, shape) for tool in self.tools for shape in self._shapes()))
        place = call.index("object")
        first, before, last = call.first, call.texts[place], call.last
        is_list = before.rstrip().endswith("[")
        inner = self._joined(one, self._separator(call)) if call.has("...") else one
        if is_list:
            before = before.rstrip().removesuffix("[")
            inner = self._bracketed(inner)
            last = last.lstrip().removeprefix("]")
        rest = sequence(inner, closing(self._lexicon, last))
        if place > 0:  # a message's author stands before it
            names = optional(choice(*(Literal(tool.name) for tool in self.tools)))
            return Unit(first, sequence(names, edge(self._lexicon, before, before=False), rest), True)
        opener, space = split_end(before)
        return Unit(opener, sequence(space, rest), not call.has("..."))

    @staticmethod
    def _bracketed(inner: Node) -> Node:
        return sequence(Literal("["), GAP, inner, GAP, Literal("]"))

    @staticmethod
    def _separator(call: Pattern) -> Node:
        place = [hole.kind for hole in call.holes].index("...")
        return _separator(call.texts[place])

    def _shapes(self) -> tuple[Pattern | None, ...]:
        return self.arguments.patterns.object or (None,)

    def _object(self, call: Pattern, tool: Tool, shape: Pattern | None) -> Node:
        schema = _object_schema(tool, shape)
        if "python" not in call.options("object"):
            return JsonValue.of(schema)
        values = Values(self.arguments.rules, python_dialect(), schema, tool.name, self.arguments.dropped)
        return values.node(schema)

    # name(key=value, ..), in a list or each between its own markers
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
            inner = self._bracketed(inner)
            first, last = first.rstrip().removesuffix("["), last.lstrip().removeprefix("]")
        opener, space = split_end(first)
        return Unit(opener, sequence(space, inner, edge(self._lexicon, last)), False)

    def _python_tools(self) -> tuple[Tool, ...]:
        for tool in self.tools:
            for word in (tool.name, *tool.properties):
                if not _PYTHON_NAME.fullmatch(word):
                    raise ArgumentError(f"'{word}' is no Python name, which this format writes; rename it")
        return self.tools

    def _python_arguments(self, tool: Tool) -> Node:
        values = Values(
            self.arguments.rules, python_dialect(), tool.schema, tool.name, self.arguments.dropped
        )
        parts = [
            (sequence(Literal(f"{key}="), values.node(schema)), key in tool.required)
            for key, schema in tool.properties.items()
            if schema is not False
        ]
        comma = sequence(GAP, Literal(","), GAP)
        return sequence(values.in_order(parts, comma), Literal(")"))


def _separator(text: str) -> Node:
    sign = text.strip()
    return sequence(GAP, Literal(sign), GAP) if sign else GAP


def _check_name(name: str, after: str) -> None:
    sign = after.strip()[:1] or "\n"
    if sign in name or name != name.strip() or any(char in name for char in "\n<{"):
        raise ArgumentError(
            f"this format cannot write the tool name '{name}': it holds what ends a name; rename the tool"
        )


def _object_schema(tool: Tool, shape: Pattern | None) -> dict[str, Any]:
    """The schema of a call's whole object: the tool's own stands deeper, so its references are longer."""
    definitions: dict[str, Any] = {}
    arguments = tool.schema
    if '"$ref"' in json.dumps(arguments):
        definitions = {"arguments": _moved(arguments, "#/$defs/arguments")}
        arguments = {"$ref": "#/$defs/arguments"}
    if shape is not None and shape.first.strip() == "{":  # the key is the name
        members: dict[str, Any] = {tool.name: arguments}
    else:
        members = dict(_members(tool, arguments, shape))
    made = {
        "type": "object", "properties": members, "required": list(members), "additionalProperties": False,
    }  # fmt: skip
    return {**made, "$defs": definitions} if definitions else made


def _members(tool: Tool, arguments: Any, shape: Pattern | None) -> Iterator[tuple[str, Any]]:
    if shape is None:
        yield from (("name", {"const": tool.name}), ("arguments", arguments))
        return
    kinds = {
        "name": {"const": tool.name},
        "arguments": arguments,
        "id": {"type": "string", "pattern": "^[A-Za-z0-9_-]{1,40}$"},
    }
    for hole, text in zip(shape.holes, shape.texts, strict=False):
        yield re.findall(r'"([^"]*)"', text)[-1], kinds[hole.kind]


def _moved(schema: Any, root: str) -> Any:
    if isinstance(schema, dict):
        return {
            key: root + value.removeprefix("#")
            if key == "$ref" and isinstance(value, str)
            else _moved(value, root)
            for key, value in schema.items()
        }
    return [_moved(item, root) for item in schema] if isinstance(schema, list) else schema
