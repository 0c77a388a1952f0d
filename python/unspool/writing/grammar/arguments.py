"""The grammar of a call's arguments: a JSON object, a literal, or tagged parameters."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from collections.abc import Sequence as List
from dataclasses import dataclass, field

from unspool._core import Edge, ParameterShape, Shape
from unspool.core.schema.schema import (
    Anything,
    Definitions,
    Listed,
    ListOf,
    Nothing,
    ObjectOf,
    OneOf,
    Schema,
    Text,
    follow,
)
from unspool.errors import ArgumentError
from unspool.writing.grammar.custom_text import Ended, as_string
from unspool.writing.grammar.lexicon import Lexicon, edge
from unspool.writing.grammar.marked_values import BARE_KEY, JSON, MarkedJson, QuotedValues
from unspool.writing.grammar.response import read_text
from unspool.writing.grammar.tools import Tool
from unspool.writing.grammar_result import Dropped
from unspool.writing.rules.free_text import First, Rule, Start
from unspool.writing.rules.in_order import in_order
from unspool.writing.rules.marker_free import without_words
from unspool.writing.rules.nodes import (
    EMPTY,
    GAP,
    Automaton,
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
from unspool.writing.rules.written_values import EscapedValues
from unspool.writing.schemas.schema_rules import value_rules
from unspool.writing.schemas.schema_types import ANY_TYPE, only, types_of

__all__ = ["Arguments"]

#: The possible first characters of a JSON value of each type.
_STARTS = {
    "number": "-0123456789", "integer": "-0123456789", "object": "{", "array": "[",
    "boolean": ("true", "false", "True", "False"), "null": ("null", "None"),
}  # fmt: skip


@dataclass
class Arguments:
    """Builds the grammar of one tool's arguments. `words` must not occur in a parameter's text."""

    shape: Shape
    lexicon: Lexicon
    rules: Rules
    words: tuple[str, ...]
    dropped: list[Dropped]
    elements: dict[tuple[str, str, str, Schema], Reference] = field(default_factory=dict)

    def json(self, tool: Tool) -> Node:
        """All arguments, as one object."""
        quote = self.shape.quote
        if quote is None:
            return value_rules(self.rules, self.written(tool, JSON), tool.schema, tool.definitions)
        written = self._quoted(tool, quote.open.literal, quote.close.literal)
        return value_rules(self.rules, written, tool.schema, tool.definitions)

    def written(self, tool: Tool, values: EscapedValues) -> EscapedValues:
        """The notation of a tool's values. For a custom tool, every string is a text that the tool accepts, escaped."""
        if tool.text is None:
            return values
        return values.with_string(as_string(read_text(tool.text, self.rules), self.rules, values))

    def _custom_text(
        self, tool: Tool, words: Iterable[str], closer: Node, has_entities: bool = False
    ) -> Node | None:
        """A text that a custom tool accepts, and its closer; None: the text is not constrained here."""
        if tool.text is None:
            return None
        if has_entities:
            self.dropped.append(Dropped(f"{tool.name}#", "format", "the text is written with entities"))
            return None
        text = self.rules.add("text", read_text(tool.text, self.rules))
        # The markup after a key counts only after an opener, which is one of the words, unless it is a tag itself.
        signs = [parameter.after_key for form in self.shape.forms for parameter in form.parameters]
        after_keys = [sign.text for sign in signs if not sign.begins_tag]
        held = [marker for marker in words if not any(marker in after for after in after_keys)]
        word = without_words(
            text, self.rules, [marker for marker in held if not self.lexicon.has_token(marker)]
        )
        if word is not None:
            reason = f"the text is written to the letter and may hold '{word}'"
            self.dropped.append(Dropped(f"{tool.name}#", "format", reason))
            return None
        first, *rest = closer.parts if isinstance(closer, Sequence) else (closer,)
        return sequence(
            Ended(self.rules, first).of(text) if isinstance(first, Literal) else sequence(text, first), *rest
        )

    def _quoted(self, tool: Tool, *quotes: str) -> QuotedValues:
        opener, closer = map(self.lexicon.markup, quotes)
        inner = self.lexicon.text_without([*quotes, *self.words])
        own = self._custom_text(tool, [*quotes, *self.words], closer)
        text = inner.part if isinstance(inner, Terminal) else None
        if own is not None:
            string: Node = sequence(opener, own)
        elif isinstance(text, Automaton) and isinstance(opener, Literal) and isinstance(closer, Literal):
            string = Terminal(sequence(opener, text.until(closer.text)))
        else:
            string = sequence(opener, inner, closer)
        return QuotedValues(string, opener, closer, lambda: self._drop_text(tool, ""))

    def _drop_text(self, tool: Tool, key: str) -> None:
        path = f"{tool.name}#/properties/{key}" if key else f"{tool.name}#"
        self.dropped.append(Dropped(path, "pattern", "a string beside markers may hold any text but these"))

    def parameters(self, tool: Tool, alternatives: List[ParameterShape]) -> Node:
        """Each parameter in its tags, in the order of the schema."""
        return choice(*(self._members(tool, one, alternatives) for one in tool.variants(self.dropped)))

    def _members(self, tool: Tool, arguments: ObjectOf, alternatives: List[ParameterShape]) -> Node:
        if not arguments.members and arguments.is_open:
            return star(self._parameter(tool, None, Anything(), alternatives))
        parts = [
            (self._parameter(tool, key, schema, alternatives), key in arguments.required)
            for key, schema in arguments.members
            if not isinstance(schema, Nothing)
        ]
        return in_order(self.rules, parts, EMPTY, arguments.fewest)

    def only_value(self, tool: Tool, before: Edge, after: Edge, space: str) -> Node:
        """The text of a tool's only parameter, without a key.

        Args:
            space: The markup at both sides of the value.
        """
        if len(tool.properties) > 1:
            raise ArgumentError(
                f"the tool '{tool.name}' has {len(tool.properties)} parameters, and a call of this format "
                "has one without a name; leave the tool out"
            )
        is_open = any(variant.is_open for variant in tool.variants(self.dropped))
        if not tool.properties and not is_open:
            return edge(self.lexicon, Edge(before.literal + after.literal))
        key, schema = next(iter(tool.properties.items()), ("", Text()))
        value = self._tagged(tool, key, schema, (space, after), (True, True), own_line=True)
        assert value is not None
        opener = Literal(before.before + before.text if space else before.literal)
        if tool.required & set(tool.properties):
            return sequence(opener, value)
        return sequence(opener, choice(value, sequence(GAP, edge(self.lexicon, after.rest, before=False))))

    def _parameter(
        self, tool: Tool, key: str | None, schema: Schema, alternatives: List[ParameterShape]
    ) -> Node:
        has_text = any(parameter.is_verbatim for parameter in alternatives)
        is_paired = not all(parameter.value_space for parameter in alternatives)
        options: list[Node] = []
        for parameter in alternatives:
            if parameter.is_element:
                options.append(self._element(tool, parameter, key, schema))
                continue
            takes_text = parameter.is_verbatim or not (has_text and parameter.is_json)
            takes_others = not parameter.is_verbatim or not has_text
            options += self._tags(tool, parameter, key, schema, (takes_text, takes_others), is_paired)
        if not options:
            raise ArgumentError(f"no parameter of this format holds what '{tool.name}' takes as '{key}'")
        return self.rules.add("parameter", choice(*options))

    def _tags(
        self,
        tool: Tool,
        parameter: ParameterShape,
        key: str | None,
        schema: Schema,
        takes: tuple[bool, bool],
        is_paired: bool,
    ) -> list[Node]:
        written = None if key is None else html.escape(key) if parameter.key_has_entities else key
        name = BARE_KEY if written is None else Literal(written)
        if written is not None and _is_broken(written, parameter.key_stop):
            raise ArgumentError(f"the parameter '{key}' of '{tool.name}' holds what ends a name; rename it")
        head = sequence(edge(self.lexicon, parameter.open, after=False), name)
        options = []
        for kinds, narrowed in self._by_type(tool, parameter, schema):
            value = self._tagged(
                tool, key or "", narrowed, (parameter.value_space, parameter.close), takes,
                parameter.has_entities, is_paired=is_paired,
            )  # fmt: skip
            if value is None:
                continue
            types = choice(*map(Literal, kinds)) if parameter.has_type else EMPTY
            between = [self._between(tags) for tags in parameter.between]
            options.append(sequence(head, between[0], types, *between[1:], value))
        return options

    def _between(self, tags: List[str]) -> Node:
        """The tags between a parameter's parts; white space between two of them is optional."""
        return sequence(
            *(
                part
                for number, tag in enumerate(tags)
                for part in (GAP if number else EMPTY, self.lexicon.markup(tag))
            )
        )

    def _by_type(
        self, tool: Tool, parameter: ParameterShape, schema: Schema
    ) -> list[tuple[tuple[str, ...], Schema]]:
        """The schema; if the name of the type is written too, one schema for each type."""
        types = types_of(schema, tool.definitions)
        if not parameter.has_type:
            return [((), schema)]
        if types == ANY_TYPE:
            types = ("string",)
        names = {"integer": ("number", "integer")}
        return [(names.get(name, (name,)), only(name, schema, tool.definitions)) for name in types]

    def _tagged(
        self,
        tool: Tool,
        key: str,
        schema: Schema,
        edges: tuple[str, Edge],
        takes: tuple[bool, bool],
        has_entities: bool = False,
        own_line: bool = False,
        is_paired: bool = False,
    ) -> Node | None:
        """A value and its closer; None if this alternative cannot hold the value.

        The line break on each side of a value may be missing, unless the closer needs a line of its own. If
        another alternative has no line breaks (`is_paired`), the first line break is required.
        """
        space_before, after = edges
        types = types_of(schema, tool.definitions)
        resolved = follow(schema, tool.definitions)
        is_any = set(types) >= set(ANY_TYPE) - {"integer"}
        others = [] if is_any else [name for name in types if name != "string"]
        space = GAP if space_before else EMPTY
        line = Literal("\n") if own_line and space_before else space
        # A line's end may be all that ends a value.
        closer = after.text or after.literal
        end_of_text = Literal(closer) if after.is_blank else edge(self.lexicon, after.rest, before=False)
        end = sequence(line, end_of_text)
        options: list[Node] = []
        if "string" in types and takes[0]:
            texts = self._listed(tool, resolved, closer)
            line = sequence(Literal(space_before), end_of_text)
            own = self._custom_text(tool, [closer, *self.words], line, has_entities)
            if own is not None:
                options.append(sequence(Literal(space_before), own))
            elif texts is not None:
                first = Literal(space_before) if space_before else EMPTY
                options += [_between_lines(first, text, own_line, end_of_text, is_paired) for text in texts]
            else:
                self._drop(tool, key, resolved)
                if own_line:
                    text = self._text(after, First(" \t\r\n"), own_line=True)
                    options.append(sequence(GAP, text))
                else:
                    options.append(self._text(after, _no_json(others)))
        if others and takes[1]:
            options += [
                sequence(space, self._typed(tool, key, name, resolved, has_entities), end) for name in others
            ]
        return choice(*options) if options else None

    def _listed(self, tool: Tool, schema: Schema, closer: str) -> list[str] | None:
        """The strings that a schema lists; None if it lists none."""
        texts = _texts_of(schema, tool.definitions)
        for text in texts or ():
            if any(word in text for word in (closer, *self.words)):
                raise ArgumentError(f"'{text}' of '{tool.name}' holds a marker of the format; rename it")
        return texts

    def _drop(self, tool: Tool, key: str, schema: Schema) -> None:
        for keyword in sorted(_constraints(only("string", schema, tool.definitions))):
            self.dropped.append(
                Dropped(f"{tool.name}#/properties/{key}", keyword, "the text is written to the letter")
            )

    def _text(self, after: Edge, start: Rule | None, own_line: bool = False) -> Node:
        """A verbatim string up to its closer; it must not be empty if the closer has a line of its own."""
        closer = after if after.is_blank else Edge(after.text)
        words = [closer.literal, *self.words]
        text = self.lexicon.text_until(words, closer, start, least=int(own_line), own_line=own_line)
        return sequence(text, GAP) if after.after and not after.is_blank else text

    def _typed(self, tool: Tool, key: str, name: str, schema: Schema, has_entities: bool) -> Node:
        """A value of a type other than string, as JSON."""
        narrowed = only(name, schema, tool.definitions)
        if name not in ("object", "array"):
            return value_rules(self.rules, JSON, narrowed, tool.definitions)
        without = "&<" if has_entities else ""
        written = MarkedJson(self.words, without, lambda: self._drop_text(tool, key))
        return value_rules(self.rules, written, narrowed, tool.definitions)

    # <key>..</key>: an object's members are nested elements; a list's items are called item.
    def _element(self, tool: Tool, parameter: ParameterShape, key: str | None, schema: Schema) -> Node:
        if key is None:
            raise ArgumentError(
                f"'{tool.name}' takes any argument, which this format cannot write; list them"
            )
        if not re.fullmatch(r"[\w.-]([\w .-]*[\w.-])?", key):
            raise ArgumentError(f"no element can be called {key!r}, a key of '{tool.name}'; rename it")
        element_key = (tool.name, parameter.open.literal, key, schema)
        if element_key in self.elements:
            return self.elements[element_key]
        rule = self.elements[element_key] = self.rules.reserve("element")
        opener = sequence(
            edge(self.lexicon, parameter.open, after=False),
            Literal(key),
            self.lexicon.markup(parameter.after_key.literal),
        )
        closer = Edge(parameter.close.literal + key + parameter.last.before + parameter.last.text)
        inside = self._inside(tool, parameter, key, schema, closer)
        self.rules.named[rule.name] = sequence(opener, inside, GAP)
        return rule

    def _inside(self, tool: Tool, parameter: ParameterShape, key: str, schema: Schema, closer: Edge) -> Node:
        resolved = follow(schema, tool.definitions)
        types = types_of(schema, tool.definitions)
        end = self.lexicon.markup(closer.literal)
        options: list[Node] = []
        if "string" in types:
            texts = _texts_of(resolved, tool.definitions)
            others = [] if types == ANY_TYPE else [name for name in types if name != "string"]
            words = [parameter.open.text, *self.words]
            own = self._custom_text(tool, [*words, closer.text], end)
            if own is not None:
                options.append(own)
            elif texts is None:
                self._drop(tool, key, resolved)
                options.append(self.lexicon.text_until(words, closer, _no_json(others)))
            else:
                options.append(sequence(choice(*map(Literal, texts)), end))
        if types != ANY_TYPE:
            nested = [self._nested(tool, parameter, name, resolved) for name in types if name != "string"]
            options += [sequence(node, end) for node in nested]
        return choice(*options)

    def _nested(self, tool: Tool, parameter: ParameterShape, name: str, schema: Schema) -> Node:
        narrowed = only(name, schema, tool.definitions)
        match narrowed:
            case ObjectOf(members) if members:
                parts = [
                    (self._element(tool, parameter, key, value), key in narrowed.required)
                    for key, value in members
                ]
                return in_order(self.rules, parts, EMPTY, narrowed.fewest)
            # Items with individual schemas are JSON, because elements have one schema.
            case ListOf(()) if narrowed.has_others and not isinstance(narrowed.others, Anything):
                return self._items(tool, parameter, narrowed)
        return self._typed(tool, "", name, narrowed, False)

    def _items(self, tool: Tool, parameter: ParameterShape, schema: ListOf) -> Node:
        """The elements of a list: at least one, because an empty list would look like empty text."""
        element = self._element(tool, parameter, "item", schema.others)
        return Repeat(element, max(1, schema.shortest), schema.longest)


def _between_lines(blank: Node, text: str, own_line: bool, end: Node, is_paired: bool) -> Node:
    """A listed text. The line break on each side may be missing, unless the text has white space there."""
    first = blank if is_paired or not text or text[0].isspace() else optional(blank)
    last = blank if own_line or not text or text[-1].isspace() else optional(blank)
    return sequence(first, Literal(text), last, end)


def _is_broken(key: str, stop: str) -> bool:
    return not key or "\n" in key or "<" in key or (stop != "" and stop in key) or key != key.strip()


def _no_json(types: List[str]) -> Start | None:
    """The rule for text that cannot be parsed as a value of these types; None: any text."""
    words = [word for name in types for word in _STARTS[name]]
    return Start([*words, '"']) if words else None


def _constraints(schema: Schema) -> set[str]:
    """The keywords that constrain the texts of a schema, or of its alternatives."""
    match schema:
        case OneOf(options):
            return set().union(*map(_constraints, options))
        case Text():
            stated = {
                "pattern": schema.pattern,
                "format": schema.format,
                "minLength": schema.shortest or None,
                "maxLength": schema.longest,
            }
            return {keyword for keyword, said in stated.items() if said is not None}
    return set()


def _texts_of(schema: Schema, definitions: Definitions) -> list[str] | None:
    """The strings that a schema lists; None if it lists none."""
    return _listed_texts(only("string", schema, definitions))


def _listed_texts(schema: Schema) -> list[str] | None:
    """The strings in a schema of strings, or in all its alternatives."""
    match schema:
        case Listed(values):
            return [value for value in values if isinstance(value, str)]
        case OneOf(options):
            found = [_listed_texts(one) for one in options]
            if found and None not in found:
                return list(dict.fromkeys(text for texts in found for text in texts or ()))
    return None
