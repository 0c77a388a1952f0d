"""Enumerates the ways to write an answer: formats have alternatives for most parts."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace

from unspool._core import FormShape, Shape, TextShape
from unspool.writing.render.given_answer import Answer
from unspool.writing.render.parameters import ways_to_write

__all__ = ["Way", "way_of_form", "ways_of"]

_MOST = 32


@dataclass(frozen=True)
class Way:
    """One alternative for each part of an answer.

    Attributes:
        reasoning, content: The markup around the text; None: no markup.
        form: The form of the calls; None: there are no calls.
        choice: The index of the notation for each tagged value.
    """

    reasoning: TextShape | None
    content: TextShape | None
    form: FormShape | None
    choice: int = 0


def ways_of(shape: Shape, answer: Answer) -> Iterator[Way]:
    """Return at most 32 ways to write an answer. The first one uses the format's first alternatives."""
    reasonings = shape.reasoning if answer.reasoning else shape.reasoning[:1]
    contents: tuple[TextShape | None, ...] = (None,)
    if answer.content:
        around = tuple(content for content in shape.contents if not content.is_inline)
        contents = around if shape.header else (*around, None)
    forms = [*_forms(shape, answer)] if answer.calls else [(None, 0)]
    combinations = itertools.product(forms, reasonings or (None,), contents or (None,))
    for (form, choice), reasoning, content in itertools.islice(combinations, _MOST):
        yield Way(reasoning, content, form, choice)


def way_of_form(shape: Shape, answer: Answer, number: int) -> Way:
    """Return the way with the format's first alternatives, and the form of calls `number`, modulo their count."""
    first = next(ways_of(shape, answer))
    forms = shape.forms if answer.calls else ()
    return replace(first, form=forms[number % len(forms)]) if forms else first


def _forms(shape: Shape, answer: Answer) -> Iterator[tuple[FormShape, int]]:
    for form in shape.forms:
        count = 1
        if form.call.body in ("xml_parameters", "xml_elements") and form.parameters:
            count = max(ways_to_write(form.parameters, call.arguments) for call in answer.calls)
        yield from ((form, choice) for choice in range(count))
