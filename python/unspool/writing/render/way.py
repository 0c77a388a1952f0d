"""Enumerates the ways to write an answer: format files have alternatives for most parts."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace

from unspool._core import Pattern, Patterns
from unspool.core.format.forms import Form, forms_of
from unspool.writing.render.answer import Answer
from unspool.writing.render.parameters import ways_to_write

__all__ = ["Way", "way_of_form", "ways_of"]

_MOST = 32


@dataclass(frozen=True)
class Way:
    """One alternative for each part of an answer.

    Attributes:
        reasoning, content: None: no markup around the text.
        form: None: there are no calls.
        choice: Index of the notation for each tagged value.
    """

    reasoning: Pattern | None
    content: Pattern | None
    form: Form | None
    choice: int = 0


def ways_of(patterns: Patterns, answer: Answer) -> Iterator[Way]:
    """The ways to write an answer, at most 32. The first one uses the format's first alternatives."""
    reasonings = patterns.reasoning if answer.reasoning else patterns.reasoning[:1]
    contents: tuple[Pattern | None, ...] = (None,)
    if answer.content:
        around = tuple(pattern for pattern in patterns.content if pattern.count("content") == 1)
        contents = around if patterns.header else (*around, None)
    forms = [*_forms(patterns, answer)] if answer.calls else [(None, 0)]
    made = itertools.product(forms, reasonings or (None,), contents or (None,))
    for (form, choice), reasoning, content in itertools.islice(made, _MOST):
        yield Way(reasoning, content, form, choice)


def way_of_form(patterns: Patterns, answer: Answer, number: int) -> Way:
    """The way with the file's first alternatives and the given form of calls, modulo their number."""
    first = next(ways_of(patterns, answer))
    forms = forms_of(patterns) if answer.calls else []
    return replace(first, form=forms[number % len(forms)]) if forms else first


def _forms(patterns: Patterns, answer: Answer) -> Iterator[tuple[Form, int]]:
    for form in forms_of(patterns):
        count = 1
        if form.call.has("parameters"):
            count = max(ways_to_write(form.parameters, call.arguments) for call in answer.calls)
        yield from ((form, choice) for choice in range(count))
