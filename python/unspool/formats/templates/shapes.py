"""Finds the form of calls and reasoning that a template expects."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Protocol

from unspool.errors import LearnError
from unspool.formats.templates.probe import CALLS, CONTENT, REASONING, Answer, Shape, job_of
from unspool.formats.templates.sandbox import Rendering

__all__ = ["THINKING", "Renders", "find_shape"]

#: Variables that enable reasoning in some templates.
THINKING: dict[str, Any] = {"enable_thinking": True, "thinking": True, "thinking_mode": "thinking"}
_CALL_SHAPES = [
    Shape(has_text_arguments=is_text, ids=ids, has_no_content=no_content)
    for no_content in (False, True)
    for ids in ("letters", "functions")
    for is_text in (False, True)
]
_REASONING_SHAPES: list[tuple[str, dict[str, Any]]] = [
    ("fields", {}), ("fields", THINKING), ("parts", {}), ("parts", THINKING),
]  # fmt: skip


class Renders(Protocol):
    """A chat template; a `Sandbox` is one."""

    def render(self, jobs: Iterable[dict[str, Any]], common: dict[str, Any]) -> list[Rendering]:
        """As in `Sandbox`."""


def find_shape(sandbox: Renders, common: dict[str, Any]) -> tuple[Shape, bool]:
    """Return the template's shape, and whether it renders calls.

    Raises:
        LearnError: The template renders no answer at all.
    """
    shape = _call_shape(sandbox, common)
    has_calls = shape is not None
    base = shape or Shape()
    jobs = []
    for kind, variables in _REASONING_SHAPES:
        tried = replace(base, reasoning=kind, variables=variables)
        jobs += [job_of(Answer(CONTENT, REASONING), tried), job_of(Answer("", REASONING, CALLS[:1]), tried)]
    jobs.append(job_of(Answer(CONTENT), base))
    texts = [text or "" for text, _ in sandbox.render(jobs, common)]
    for number in (0, 1):  # reasoning next to content counts more than next to a call
        for place, (kind, variables) in enumerate(_REASONING_SHAPES):
            text = texts[2 * place + number]
            if _is_written(text) and (number or CONTENT in text):
                return replace(base, reasoning=kind, variables=variables), has_calls
    if CONTENT not in texts[-1] and not has_calls:
        raise LearnError("the chat template renders neither an assistant's content nor a call")
    return base, has_calls


def _is_written(text: str) -> bool:
    """Whether the reasoning is written as text, not as part of a printed list."""
    place = text.find(REASONING)
    return place >= 0 and text[place - 1] not in "'\""


def _call_shape(sandbox: Renders, common: dict[str, Any]) -> Shape | None:
    jobs = [job_of(Answer(calls=CALLS[:1]), shape) for shape in _CALL_SHAPES]
    empty = [job_of(Answer(), shape) for shape in _CALL_SHAPES]
    outputs = sandbox.render([*jobs, *empty], common)
    count = len(_CALL_SHAPES)
    key, values = next(iter(CALLS[0].arguments)), list(CALLS[0].arguments.values())
    for shape, (text, _), (plain, _) in zip(_CALL_SHAPES, outputs[:count], outputs[count:], strict=True):
        # The template has written JSON within a text, or an object as Python prints it.
        if text is None or '\\"' + key in text or f"{{'{key}': '" in text:
            continue
        named = text.count(CALLS[0].name) > (plain or "").count(CALLS[0].name) or plain is None
        if named and all(value in text for value in values):
            return shape
    return None
