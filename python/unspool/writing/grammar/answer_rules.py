"""The grammar of a whole answer: reasoning, content and calls, in the order of the output."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal as OneOf

from unspool._core import Edge, FormatFacts, FormShape, FreeTextWords, Shape, SkippedText, TextShape
from unspool.writing.grammar.call_rules import Calls, Unit
from unspool.writing.grammar.lexicon import Lexicon, apart_from_text, edge, tags_of
from unspool.writing.rules.free_text import Start
from unspool.writing.rules.nodes import (
    EMPTY,
    GAP,
    Chars,
    Literal,
    Node,
    Repeat,
    Sequence,
    Terminal,
    choice,
    optional,
    sequence,
    star,
)

__all__ = ["Answer", "ReasoningStart"]

#: Whether the answer begins inside the reasoning, may begin with it, or comes after it.
ReasoningStart = OneOf["open", "may", "none"]


@dataclass(frozen=True)
class Answer:
    """Builds the grammar of an answer.

    Attributes:
        must_call: Whether only calls may follow the reasoning.
        written: The possible ends of the prompt; a message's opener continues after it.
        response: Constrains the content; an answer then has either content or calls.
        is_exact: Whether white space around that content is significant; around JSON it is not.
    """

    shape: Shape
    facts: FormatFacts
    lexicon: Lexicon
    words: FreeTextWords
    calls: Calls
    must_call: bool
    reasoning: ReasoningStart
    written: tuple[str, ...]
    response: Node | None = None
    is_exact: bool = False

    def node(self) -> Node:
        """The whole answer."""
        forms = self.shape.forms if self.calls.tools else ()
        if self.shape.opens_messages:
            return self._messages(forms)
        if self._is_bound:
            calls = [self._alone(self.calls.units(form)) for form in forms]
            rest = choice(*self._responses(), *calls, *self._thoughts(forms))
        else:
            rest = self._free(forms)
        return sequence(self._reasoning(), rest)

    @property
    def _is_bound(self) -> bool:
        """Whether there is no free text apart from the reasoning."""
        return self.must_call or self.response is not None

    def _responses(self) -> list[Node]:
        """The constrained content: on its own, and between the optional markers around content."""
        if self.response is None:
            return []
        made = [self.response]
        for content in self.shape.contents:
            if content.author is None and not content.is_inline and _is_marked(content):
                opener = self._before_response(content.open)
                made.append(sequence(opener, self._response_to(content.close)))
        return made

    def _after(self, marker: Edge) -> Node:
        """The white space between a marker and the content after it."""
        if not self.is_exact:
            return GAP
        space = self.lexicon.markup(marker.after) if marker.after else EMPTY
        return optional(space) if marker.ends_tag else space

    def _response_to(self, closer: Edge) -> Node:
        """The constrained content up to its closer; the model may end its turn instead."""
        assert self.response is not None
        if closer.is_blank:
            return self.response
        if not self.is_exact:
            return sequence(self.response, optional(edge(self.lexicon, closer)))
        line = optional(Literal(closer.before)) if closer.before else EMPTY
        return sequence(
            self.response, optional(sequence(line, edge(self.lexicon, closer.rest, before=False)))
        )

    def _alone(self, units: list[Unit]) -> Node:
        """Calls without text before them. An opener that is not a tag must begin a line."""
        unit = units[0]
        if unit.opener.begins_tag or not unit.opener.literal:
            opened = self._opened(unit) if self._is_bound else self._beside_text(unit)
            return self.calls.repeated(opened, unit)
        opened = choice(*map(self._apart, units))
        if not unit.is_single or not self.calls.parallel:
            return opened
        again = choice(
            *(
                sequence(self.lexicon.markup(next_unit.opener.rest.literal), next_unit.rest)
                for next_unit in units
            )
        )
        return sequence(opened, star(sequence(Literal("\n"), self._rule("call", again))))

    def _first_alone(self, units: list[Unit]) -> Node:
        """Calls without text before them, but possibly with text after them; some calls are followed by more calls."""
        return choice(*map(self._apart, units)) if units[0].opener.begins_line else self._alone(units)

    def _apart(self, unit: Unit) -> Node:
        return sequence(apart_from_text(self.lexicon, unit.opener), unit.rest)

    def _opened(self, unit: Unit) -> Node:
        return sequence(edge(self.lexicon, unit.opener, after=False), unit.rest)

    def _beside_text(self, unit: Unit) -> Node:
        """A call to which text is an alternative. A literal at its beginning includes the white space before it."""
        first, *rest = unit.rest.parts if isinstance(unit.rest, Sequence) else (unit.rest,)
        if unit.opener.literal or not isinstance(first, Literal):
            return self._opened(unit)
        return sequence(Terminal(sequence(Repeat(Chars.of(" \n"), 0, 8), first)), *rest)

    def _reasoning(self) -> Node:
        if not self.shape.reasoning or self.reasoning == "none":
            return EMPTY
        is_open = self.reasoning == "open"
        options = []
        for reasoning in self.shape.reasoning:
            if self._is_bound and reasoning.close.is_blank:
                continue
            opener = EMPTY if is_open else self._opener(reasoning)
            # Without a closer, the text before a call is reasoning.
            options.append(
                opener if reasoning.close.is_blank else sequence(opener, self._text_to(reasoning.close))
            )
        if not options:
            return EMPTY
        whole = choice(*options)
        return whole if is_open else optional(whole)

    def _thoughts(self, forms: tuple[FormShape, ...]) -> list[Node]:
        """Reasoning that only a call ends, up to the call."""
        openers = [self._opener(one) for one in self.shape.reasoning if one.close.is_blank]
        units = [unit for form in forms for unit in self.calls.units(form)]
        if not openers or not units or self.reasoning == "none":
            return []
        opener = EMPTY if self.reasoning == "open" else choice(*openers)
        return [sequence(opener, choice(*(self._led(unit.opener, unit.rest, None) for unit in units)))]

    def _opener(self, reasoning: TextShape) -> Node:
        if reasoning.author is None or reasoning.author_name is None:
            opener = edge if self._is_bound else apart_from_text
            return opener(self.lexicon, reasoning.open)
        kind = edge(self.lexicon, reasoning.open, before=False)
        return sequence(self.lexicon.markup(reasoning.author.literal), _skipped(reasoning.author_name), kind)

    def _text_to(self, closer: Edge) -> Node:
        """Text up to and including its closer, and the white space after it."""
        words = [*self.words.content, closer.text]
        return sequence(self.lexicon.text_until(words, Edge(closer.text)), self._after(closer))

    # Text, and calls after their openers.
    def _free(self, forms: tuple[FormShape, ...]) -> Node:
        bare = tuple(form for form in forms if form.is_bare)
        units = [unit for form in forms if not form.is_bare for unit in self.calls.units(form)]
        in_lines = [unit for form in bare if form.call.open.begins_line for unit in self.calls.units(form)]
        texts = self._texts()
        start = self.start_of_content
        led = [self._led(_in_text(unit.opener), unit.rest, start) for unit in units]
        led += [self._led(unit.opener, unit.rest, start) for unit in in_lines]
        alone = [self._first_alone(self.calls.units(form)) for form in bare]
        alone += [self._apart(unit) for unit in units if unit.opener.is_fence]
        tail = optional(self.lexicon.text_without(self.words.content, start, least=1))
        if not led and not texts:
            return choice(*alone, tail)
        called = choice(*led) if led else tail
        if self.calls.parallel:
            flow = sequence(star(choice(*led, *texts)), tail)
        else:
            texts_only = star(choice(*texts)) if texts else EMPTY
            # Nothing may follow the call, because the model would write further calls as text.
            flow = sequence(texts_only, choice(called, tail))
        if in_lines:
            more = sequence(star(choice(*led)), tail) if self.calls.parallel else EMPTY
            return choice(sequence(choice(*alone), more), flow)
        return choice(*alone, flow)

    def _led(self, opener: Edge, rest: Node, start: Start | None) -> Node:
        """Any text, then an opener and the rest."""
        first, *more = tags_of(opener)
        text = self.lexicon.text_until(self.words.content, Edge(first), start)
        tags = [part for piece in more for part in (GAP, self.lexicon.markup(piece))]
        return sequence(text, *tags, rest)

    @property
    def start_of_content(self) -> Start | None:
        """The rule that keeps text from beginning as a bare call does; None: no call is bare."""
        if not self.calls.tools or not any(form.is_bare for form in self.shape.forms):
            return None
        in_lines = any(call.bare == "line" for call in self.facts.calls)
        words: list[str] = []
        for call in self.facts.calls:
            if call.bare in ("start", "line"):
                letters = call.first_letters
                is_named = call.body == "pythonic" and letters != "["
                words += [f"{tool.name}(" for tool in self.calls.tools] if is_named else letters
        return Start(words, every_line=in_lines)

    def _texts(self) -> list[Node]:
        """Content with markup around it or inside it."""
        nodes = []
        for content in self.shape.contents:
            if content.is_inline:
                rest = [self._text_to(content.close)]
                if content.note is not None and content.note_close is not None:
                    rest += [_skipped(content.note), self.lexicon.markup(content.note_close.literal)]
                nodes.append(self._led(content.open.rest, sequence(*rest), None))
            elif _is_marked(content):
                end = self._text_to(content.close)
                end = optional(end) if self.lexicon.has_tokens else end
                opener: list[Node] = []
                if content.author_name is not None:
                    opener = [_skipped(content.author_name), self.lexicon.markup(content.open.literal)]
                nodes.append(self._led(_first_of(content).rest, sequence(*opener, end), None))
        return nodes

    # Messages: each begins with the turn; that of the first one is in the prompt.
    def _messages(self, forms: tuple[FormShape, ...]) -> Node:
        reasoning = () if self.reasoning == "none" else self.shape.reasoning
        contents = () if self._is_bound else self.shape.contents
        thoughts = [(_first_of(shape), self._text_to(shape.close)) for shape in reasoning]
        texts = [(_first_of(shape), self._message_text(shape)) for shape in contents]
        spoken = [sequence(self._head(first), text) for first, text in (*thoughts, *texts)]
        begun = [sequence(self._head(self._first(first)), text) for first, text in (*thoughts, *texts)]
        units = [self._in_message(unit, form) for form in forms for unit in self.calls.units(form)]
        header = self.shape.header
        if header is not None and self._runs_on(header.open, texts):
            return self._until_headers(header.open, units)
        called = [sequence(self._call_head(unit.opener), unit.rest) for unit in units]
        again = star(self._rule("message", choice(*called))) if called and self.calls.parallel else EMPTY
        first_calls = [sequence(self._call_head(self._first(unit.opener)), unit.rest) for unit in units]
        ends, first_ends = [sequence(call, again) for call in called], []
        if self.response is not None:
            content = self.shape.contents[0]
            opener, text = _first_of(content), self._response_to(content.close)
            ends.append(sequence(self._before_response(opener), text))
            first_ends.append(sequence(self._before_response(self._first(opener)), text))
        more = star(self._rule("text", choice(*spoken))) if spoken else EMPTY
        if self._is_bound:
            rest = sequence(more, choice(*ends))
        elif self.calls.parallel:
            rest = star(choice(*spoken, *called))
        else:
            rest = sequence(more, optional(choice(*ends)))
        if self.reasoning == "open":
            opened = choice(*(text for _, text in thoughts)) if thoughts else EMPTY
            return sequence(opened, rest)
        after = again if self._is_bound or not self.calls.parallel else rest
        first_ends += [sequence(call, after) for call in first_calls]
        return choice(*([sequence(choice(*begun), rest)] if begun else []), *first_ends)

    def _runs_on(self, header: Edge, texts: list[tuple[Edge, Node]]) -> bool:
        """Whether a content ends only at the next header, whose first letters may also occur in content."""
        are_open = all(content.close.is_blank for content in self.shape.contents)
        is_text = not (header.is_blank or self.lexicon.has_token(header.literal))
        return bool(texts) and is_text and are_open and not self.shape.reasoning

    def _until_headers(self, header: Edge, units: list[Unit]) -> Node:
        """Contents and calls. A content and the header after it form one terminal, because lexers do not
        backtrack."""
        rules = self.calls.arguments.rules
        content, message = rules.reserve("content"), rules.reserve("message")
        said = choice(
            *(self._head(_first_of(shape).without(header.literal)) for shape in self.shape.contents)
        )
        called = choice(
            *(sequence(self._call_head(unit.opener.without(header.literal)), unit.rest) for unit in units)
        )
        more = (
            optional(sequence(self.lexicon.markup(header.literal), message)) if self.calls.parallel else EMPTY
        )
        rules.named[message.name] = choice(sequence(said, content), sequence(called, more))
        words = self.words.content
        rules.named[content.name] = choice(
            sequence(self.lexicon.text_until(words, header), message),
            optional(self.lexicon.text_without(words, least=1)),
        )
        return sequence(self.lexicon.markup(self._first(header).literal), message)

    def _rule(self, stem: str, node: Node) -> Node:
        return self.calls.arguments.rules.add(stem, node)

    def _message_text(self, content: TextShape) -> Node:
        if content.close.is_blank:
            return optional(self.lexicon.text_without(self.words.content, least=1))
        return self._text_to(content.close)

    def _head(self, first: Edge) -> Node:
        return edge(self.lexicon, first, before=False)

    def _before_response(self, first: Edge) -> Node:
        if not self.is_exact:
            return self._head(first)
        return sequence(self.lexicon.markup(first.before + first.text), self._after(first))

    def _call_head(self, first: Edge) -> Node:
        return edge(self.lexicon, first, before=False, after=False)

    def _first(self, opener: Edge) -> Edge:
        """A message's opener, without the part that is already in the prompt."""
        return opener.after_any(self.written)

    def _in_message(self, unit: Unit, form: FormShape) -> Unit:
        """Calls in a message whose header names the tool, if they have no header of their own."""
        header, recipient = self.shape.header, form.recipient
        if header is None or recipient is None:
            return unit
        names = choice(*(Literal(tool.name) for tool in self.calls.tools))
        closer = self.shape.reasoning[0].close.text if self.shape.reasoning else ""
        rest = sequence(
            names,
            edge(self.lexicon, header.close),
            edge(self.lexicon, unit.opener),
            unit.rest,
            optional(self.lexicon.markup(closer)),  # the turn's end may be here
        )
        return Unit(Edge(header.open.literal + recipient), rest, form.section is None)


def _first_of(text: TextShape) -> Edge:
    return text.author or text.open


def _is_marked(content: TextShape) -> bool:
    return not (_first_of(content).is_blank or content.close.is_blank)


def _in_text(opener: Edge) -> Edge:
    """An opener that follows text; a fence then begins on a new line."""
    return Edge("\n" + opener.rest.literal) if opener.is_fence else opener.rest


def _skipped(text: SkippedText) -> Node:
    return optional(Terminal(Repeat(Chars(text.letters), 1, text.most)))
