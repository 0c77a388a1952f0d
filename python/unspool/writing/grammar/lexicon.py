"""A format's markers: which of them are tokens of the vocabulary, and which must not occur in text."""

from __future__ import annotations

import re
from collections.abc import Iterable

from unspool._core import Edge, FormatSource, Vocabulary
from unspool.core.format.compile_format import compile_format
from unspool.writing.rules.free_text import Rule, Words, free_text
from unspool.writing.rules.nodes import (
    EMPTY,
    GAP,
    Chars,
    FreeText,
    Literal,
    Node,
    OtherTokens,
    Repeat,
    Terminal,
    Token,
    optional,
    sequence,
)

__all__ = ["Lexicon", "apart_from_text", "closing", "edge", "split_end", "tags_of"]


class Lexicon:
    """Writes markers as tokens if they are in the vocabulary."""

    def __init__(self, file: FormatSource, vocabulary: Vocabulary | None, negates: bool = True) -> None:
        """Look up the markers of a format.

        Args:
            negates: Whether the syntax can express "any token except these".
        """
        self._negates = negates
        self._ids: dict[str, int] = {}
        self._hidden: frozenset[int] = frozenset()
        self._tokens: list[str] = []
        if vocabulary is None:
            return
        added = vocabulary.added_tokens
        markers = set(compile_format(file, vocabulary=vocabulary).marker_ids)
        named = {
            id: text
            for id, text in added.items()
            if text and (id in markers or vocabulary.is_special(id) or _is_tag(text))
        }
        self._ids = {text: id for id, text in named.items()}
        self._hidden = frozenset(named)
        self._tokens = sorted(text for text in self._ids if any(text in word for word in file.facts.markers))

    @property
    def has_tokens(self) -> bool:
        """Whether any marker may be a token."""
        return bool(self._ids)

    def markup(self, text: str) -> Node:
        """The text, with tokens for the markers in it."""
        return sequence(*self._pieces(text))

    def _pieces(self, text: str) -> list[Token | Literal]:
        """Split a text into tokens and the text between them; the longest token in each place counts."""
        if not self._ids or not text:
            return [Literal(text)]
        pattern = "|".join(re.escape(word) for word in sorted(self._ids, key=len, reverse=True))
        return [
            Token(self._ids[piece], piece) if piece in self._ids else Literal(piece)
            for piece in re.split(f"({pattern})", text)
            if piece
        ]

    def has_token(self, text: str) -> bool:
        """Whether the text contains a token."""
        return any(word in text for word in self._ids)

    def are_tokens(self, words: Iterable[str]) -> bool:
        """Whether each of the words contains a token, so that their spelling does not count."""
        return all(map(self.has_token, words))

    def text_without(self, words: Iterable[str], start: Rule | None = None, least: int = 0) -> Node:
        """Text without these words. If each of them contains a token, only tokens are excluded, not the spelling."""
        listed = [word for word in words if word]
        if self._negates and start is None and listed and self.are_tokens(listed):
            return OtherTokens(tuple(sorted(self._hidden)))
        return self._free_text(listed, start, least)

    def _free_text(self, words: list[str], start: Rule | None, least: int, closer: str = "") -> Terminal:
        """Text without these words and without the spelling of tokens: xgrammar treats all possible text as text."""
        held = Words([*words, *self._tokens])
        rules = [held] if start is None else [held, start]
        part = free_text(*rules, least=least).until(closer)
        return FreeText(part, held.words, closer) if start is None else Terminal(part)

    def text_until(
        self,
        words: Iterable[str],
        closer: Edge,
        start: Rule | None = None,
        least: int = 0,
        own_line: bool = False,
    ) -> Node:
        """Text without these words, and its closer. A closer without a token forms one terminal with the text.

        Args:
            own_line: Whether the closer counts only at the start of a line.
        """
        marker = (closer.rest if self.has_token(closer.literal) else closer).literal
        pieces = self._pieces("\n" + marker if own_line else marker)
        if not marker or isinstance(pieces[0], Token):
            return sequence(self.text_without(words, start, least), *pieces)
        held = [word for word in words if word]
        return sequence(self._free_text(held, start, least, pieces[0].text), *pieces[1:])


def _is_tag(text: str) -> bool:
    return len(text) > 2 and text.startswith("<") and text.endswith(">")


def edge(lexicon: Lexicon, marker: Edge, before: bool = True, after: bool = True) -> Node:
    """A marker; white space is optional on both sides of a tag, and between the tags around all calls."""
    if marker.is_blank:
        return GAP if before or after else lexicon.markup(marker.literal)
    is_free = after and marker.ends_tag
    first, *more = tags_of(marker, not before, not is_free)
    tags = [part for piece in more for part in (GAP, lexicon.markup(piece))]
    gap = GAP if marker.begins_tag else optional(Literal("\n"))
    return sequence(gap if before else EMPTY, lexicon.markup(first), *tags, GAP if is_free else EMPTY)


def apart_from_text(lexicon: Lexicon, marker: Edge) -> Node:
    """A marker to which text is an alternative: the white space and the marker form one terminal."""
    if marker.is_blank:
        return GAP
    node = lexicon.markup(marker.text if marker.ends_tag else marker.rest.literal)
    if not isinstance(node, Literal):
        return edge(lexicon, marker)
    return sequence(
        Terminal(sequence(Repeat(Chars.of(" \n"), 0, 8), node)), GAP if marker.ends_tag else EMPTY
    )


def tags_of(marker: Edge, before: bool = True, after: bool = True) -> list[str]:
    """The tags of a marker, with the white space on both sides of it."""
    tags = [*marker.tags]
    tags[0] = (marker.before if before else "") + tags[0]
    tags[-1] += marker.after if after else ""
    return tags


def split_end(marker: Edge) -> tuple[Edge, Node]:
    """Split the white space after a marker from it, unless the marker is a word."""
    return (Edge(marker.before + marker.text), GAP) if marker.ends_tag else (marker, EMPTY)


def closing(lexicon: Lexicon, marker: Edge) -> Node:
    """The end of a call; the white space after it is optional, even after a word."""
    closer = edge(lexicon, Edge(marker.before + marker.text), after=False)
    return sequence(closer, optional(Literal(marker.after)) if marker.after else GAP)
