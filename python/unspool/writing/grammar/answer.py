"""The grammar of a whole answer: reasoning, content and calls, in the order of the output."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal as OneOf

from unspool._core import FormatFacts, Pattern, Patterns
from unspool.core.format.forms import Form, forms_of, recipient_of
from unspool.writing.grammar.calls import Calls, Unit
from unspool.writing.grammar.free_text import Start
from unspool.writing.grammar.lexicon import Lexicon, apart_from_text, edge, split_tags
from unspool.writing.grammar.markers import Markers
from unspool.writing.grammar.nodes import (
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
    """

    patterns: Patterns
    facts: FormatFacts
    lexicon: Lexicon
    markers: Markers
    calls: Calls
    must_call: bool
    reasoning: ReasoningStart
    written: tuple[str, ...]
    response: Node | None = None

    def node(self) -> Node:
        """The whole answer."""
        forms = forms_of(self.patterns) if self.calls.tools else []
        if self._has_messages():
            return self._messages(forms)
        if self._is_bound:
            calls = [self._alone(self.calls.units(form)) for form in forms]
            made = choice(*self._responses(), *calls)
        else:
            made = self._free(forms)
        return sequence(self._reasoning(), made)

    @property
    def _is_bound(self) -> bool:
        """Whether there is no free text apart from the reasoning."""
        return self.must_call or self.response is not None

    def _responses(self) -> list[Node]:
        """The constrained content: on its own, and between the optional markers around content."""
        if self.response is None:
            return []
        made = [self.response]
        for pattern in self.patterns.content:
            if len(pattern.holes) == 1 and pattern.first.strip() and pattern.last.strip():
                opener = edge(self.lexicon, pattern.first, before=False)
                made.append(sequence(opener, self._response_to(pattern.last)))
        return made

    def _response_to(self, closer: str) -> Node:
        """The constrained content up to its closer; the model may end its turn instead."""
        assert self.response is not None
        return sequence(self.response, optional(edge(self.lexicon, closer)) if closer.strip() else EMPTY)

    def _alone(self, units: list[Unit]) -> Node:
        """Calls without text before them. An opener that is not a tag must begin a line."""
        unit = units[0]
        is_tag = unit.opener.strip()[:1] in ("<", "[", "]", "◁")
        if is_tag or not unit.opener:
            opened = self._opened(unit) if self._is_bound else self._beside_text(unit)
            return self.calls.repeated(opened, unit)
        opened = choice(*map(self._apart, units))
        if not unit.is_single or not self.calls.parallel:
            return opened
        again = choice(*(sequence(self.lexicon.markup(one.opener.lstrip()), one.rest) for one in units))
        return sequence(opened, star(sequence(Literal("\n"), self._rule("call", again))))

    def _first_alone(self, units: list[Unit]) -> Node:
        """The same before text: some calls are followed by more calls."""
        if units[0].opener != "\n" and not units[0].opener.endswith("("):
            return self._alone(units)
        return choice(*map(self._apart, units))

    def _apart(self, unit: Unit) -> Node:
        return sequence(apart_from_text(self.lexicon, unit.opener), unit.rest)

    def _opened(self, unit: Unit) -> Node:
        return sequence(edge(self.lexicon, unit.opener, after=False), unit.rest)

    def _beside_text(self, unit: Unit) -> Node:
        """The same if text is an alternative to the call: a literal includes the white space before it."""
        first, *rest = unit.rest.parts if isinstance(unit.rest, Sequence) else (unit.rest,)
        if unit.opener or not isinstance(first, Literal):
            return self._opened(unit)
        return sequence(Terminal(sequence(Repeat(Chars.of(" \n"), 0, 8), first)), *rest)

    def _reasoning(self) -> Node:
        if not self.patterns.reasoning or self.reasoning == "none":
            return EMPTY
        is_open = self.reasoning == "open"
        made = []
        for pattern in self.patterns.reasoning:
            opener = EMPTY if is_open else self._opener(pattern)
            made.append(sequence(opener, self._text_to(pattern.last)))
        whole = choice(*made)
        return whole if is_open else optional(whole)

    def _opener(self, pattern: Pattern) -> Node:
        if len(pattern.holes) == 1:
            opener = edge if self._is_bound else apart_from_text
            return opener(self.lexicon, pattern.first)
        kind = edge(self.lexicon, pattern.texts[1], before=False)
        return sequence(self.lexicon.markup(pattern.first), _AUTHOR, kind)

    def _text_to(self, closer: str) -> Node:
        """Text up to its closer, and the white space after it."""
        end = closer.rstrip()
        words = [*self.markers.content, closer.strip()]
        return sequence(self.lexicon.text_until(words, end.lstrip()), GAP)

    # Text, and calls after their openers.
    def _free(self, forms: list[Form]) -> Node:
        bare = [form for form in forms if form.is_bare]
        units = [unit for form in forms if not form.is_bare for unit in self.calls.units(form)]
        in_lines = [unit for form in bare if form.call.first[:1] == "\n" for unit in self.calls.units(form)]
        texts = self._texts()
        start = self._start(bare)
        led = [self._led(_in_text(unit.opener), unit.rest, start) for unit in units]
        led += [self._led(unit.opener, unit.rest, start) for unit in in_lines]
        alone = [self._first_alone(self.calls.units(form)) for form in bare]
        alone += [self._apart(unit) for unit in units if _is_fence(unit.opener)]
        tail = optional(self.lexicon.text_without(self.markers.content, start, least=1))
        if not led and not texts:
            return choice(*alone, tail)
        called = choice(*led) if led else tail
        if self.calls.parallel:
            flow = sequence(star(choice(*led, *texts)), tail)
        else:
            texts_only = star(choice(*texts)) if texts else EMPTY
            # Nothing may follow the call: the model would write further calls as text.
            flow = sequence(texts_only, choice(called, tail))
        if in_lines:
            more = sequence(star(choice(*led)), tail) if self.calls.parallel else EMPTY
            return choice(sequence(choice(*alone), more), flow)
        return choice(*alone, flow)

    def _led(self, opener: str, rest: Node, start: Start | None) -> Node:
        """Any text, then an opener and the rest."""
        first, *more = split_tags(opener)
        text = self.lexicon.text_until(self.markers.content, first, start)
        tags = [part for piece in more for part in (GAP, self.lexicon.markup(piece))]
        return sequence(text, *tags, rest)

    def _start(self, bare: list[Form]) -> Start | None:
        """Constrains the beginning of text so that it is not a bare call."""
        if not bare:
            return None
        in_lines = any(call.bare == "line" for call in self.facts.calls)
        words: list[str] = []
        for call in self.facts.calls:
            if call.bare in ("start", "line"):
                letters = call.first_letters
                words += [f"{tool.name}(" for tool in self.calls.tools] if letters[:1].isalpha() else letters
        return Start(words, every_line=in_lines)

    def _texts(self) -> list[Node]:
        """Content with markup around it or inside it."""
        made = []
        for pattern in self.patterns.content:
            kinds = [hole.kind for hole in pattern.holes]
            if kinds.count("content") > 1:
                rest = [self._text_to(pattern.texts[2])]
                if "_" in kinds:
                    rest += [_NOTE, self.lexicon.markup(pattern.texts[3])]
                made.append(self._led(pattern.texts[1].lstrip(), sequence(*rest), None))
            elif pattern.first.strip() and pattern.last.strip():
                end = self._text_to(pattern.last)
                end = optional(end) if self.lexicon.has_tokens else end
                opener = [_AUTHOR, self.lexicon.markup(pattern.texts[1])] if "_" in kinds else []
                made.append(self._led(pattern.first.lstrip(), sequence(*opener, end), None))
        return made

    # Messages: each begins with the turn; the prompt has written the turn of the first one.
    def _has_messages(self) -> bool:
        patterns = self.patterns
        openers = [
            one.first for one in (*patterns.reasoning, *patterns.content, *patterns.calls, *patterns.call)
        ]
        return bool(patterns.header) or any(one.startswith(turn) for one in openers for turn in patterns.turn)

    def _messages(self, forms: list[Form]) -> Node:
        reasoning = () if self.reasoning == "none" else self.patterns.reasoning
        content = () if self._is_bound else self.patterns.content
        thoughts = [(one.first, self._text_to(one.last)) for one in reasoning]
        texts = [(one.first, self._message_text(one)) for one in content]
        spoken = [sequence(self._head(first), text) for first, text in (*thoughts, *texts)]
        begun = [sequence(self._head(self._first(first)), text) for first, text in (*thoughts, *texts)]
        units = [self._in_message(unit, form) for form in forms for unit in self.calls.units(form)]
        if self._runs_on(texts):
            return self._until_headers(units)
        called = [sequence(self._call_head(unit.opener), unit.rest) for unit in units]
        again = star(self._rule("message", choice(*called))) if called and self.calls.parallel else EMPTY
        first_calls = [sequence(self._call_head(self._first(unit.opener)), unit.rest) for unit in units]
        ends, first_ends = [sequence(one, again) for one in called], []
        if self.response is not None:
            pattern = self.patterns.content[0]
            text = self._response_to(pattern.last)
            ends.append(sequence(self._head(pattern.first), text))
            first_ends.append(sequence(self._head(self._first(pattern.first)), text))
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
        first_ends += [sequence(one, after) for one in first_calls]
        return choice(*([sequence(choice(*begun), rest)] if begun else []), *first_ends)

    def _runs_on(self, texts: list[tuple[str, Node]]) -> bool:
        """Whether a content ends only at the next header, whose first letters may also occur in content."""
        header = self.patterns.header[0].first if self.patterns.header else ""
        has_token = self.lexicon.has_token(header)
        are_open = all(not pattern.last.strip() for pattern in self.patterns.content)
        return bool(texts and header.strip()) and are_open and not has_token and not self.patterns.reasoning

    def _until_headers(self, units: list[Unit]) -> Node:
        """Contents and calls. A content and the header after it are one terminal, because lexers do not
        backtrack."""
        header = self.patterns.header[0].first
        rules = self.calls.arguments.rules
        content, message = rules.reserve("content"), rules.reserve("message")
        said = choice(*(self._head(one.first.removeprefix(header)) for one in self.patterns.content))
        called = choice(
            *(sequence(self._call_head(unit.opener.removeprefix(header)), unit.rest) for unit in units)
        )
        more = optional(sequence(self.lexicon.markup(header), message)) if self.calls.parallel else EMPTY
        rules.named[message.name] = choice(sequence(said, content), sequence(called, more))
        words = self.markers.content
        rules.named[content.name] = choice(
            sequence(self.lexicon.text_until(words, header), message),
            optional(self.lexicon.text_without(words, least=1)),
        )
        first = self._first(header)
        return sequence(self.lexicon.markup(first), message)

    def _rule(self, stem: str, node: Node) -> Node:
        return self.calls.arguments.rules.add(stem, node)

    def _message_text(self, pattern: Pattern) -> Node:
        if not pattern.last.strip():
            return optional(self.lexicon.text_without(self.markers.content, least=1))
        return self._text_to(pattern.last)

    def _head(self, first: str) -> Node:
        return edge(self.lexicon, first, before=False)

    def _call_head(self, first: str) -> Node:
        return edge(self.lexicon, first, before=False, after=False)

    def _first(self, opener: str) -> str:
        """A message's opener without the part that the prompt has written."""
        return opener[max((_overlap(text, opener) for text in self.written), default=0) :]

    def _in_message(self, unit: Unit, form: Form) -> Unit:
        """Calls in a message whose header names the tool, if their own pattern has no header."""
        recipient = recipient_of(self.patterns, unit.opener)
        if recipient is None:
            return unit
        header = self.patterns.header[0]
        names = choice(*(Literal(tool.name) for tool in self.calls.tools))
        closer = self.patterns.reasoning[0].last.strip() if self.patterns.reasoning else ""
        rest = sequence(
            names,
            edge(self.lexicon, header.last),
            edge(self.lexicon, unit.opener),
            unit.rest,
            optional(self.lexicon.markup(closer)),  # the turn's end may be here
        )
        return Unit(header.first + recipient, rest, form.section is None)


def _is_fence(opener: str) -> bool:
    return opener.lstrip().startswith("```")


def _in_text(opener: str) -> str:
    """An opener after text: a fence begins a line."""
    return "\n" + opener.lstrip() if _is_fence(opener) else opener.lstrip()


def _overlap(text: str, opener: str) -> int:
    """The length of the longest suffix of the text that is a prefix of the opener."""
    sizes = range(min(len(text), len(opener)), 0, -1)
    return next((size for size in sizes if opener[:size].strip() and text.endswith(opener[:size])), 0)


_NAME = Chars((("0", "9"), ("A", "Z"), ("a", "z"), ("_", "_"), ("-", "-"), (".", ".")))
_AUTHOR = optional(Terminal(Repeat(_NAME, 1, 64)))
_NOTE = optional(
    Terminal(Repeat(Chars((("0", "9"), (":", ":"), (" ", " "), (",", ","), ("[", "["), ("]", "]"))), 1, 40))
)
