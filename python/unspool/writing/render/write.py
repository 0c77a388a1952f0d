"""Renders an answer in one way; `read_back` checks the result."""

from __future__ import annotations

from unspool._core import Shape, TextShape
from unspool.writing.render.calls_writer import CallsWriter
from unspool.writing.render.given_answer import Answer
from unspool.writing.render.pieces import Written, after, around, as_text, text_of, without_turn
from unspool.writing.render.way import Way

__all__ = ["write_answer"]


def write_answer(shape: Shape, answer: Answer, way: Way, continues: bool = False) -> Written:
    """Write reasoning, content and calls, in this order.

    Args:
        continues: See `FormatFile.render`.
    """
    written = _reasoning(answer.reasoning, way.reasoning)
    calls = CallsWriter(shape, way.form, way.choice).write(answer.calls) if way.form else ()
    if answer.content:
        written += after(written, _content(answer.content, way.content, text_of(calls)))
    if way.form is not None:
        written += after(written, calls, is_bare=way.form.is_bare)
    return without_turn(written, shape.turn[0] if shape.turn else "", continues)


def _content(text: str, shape: TextShape | None, calls: str) -> Written:
    """Write the content. Calls that begin with several tags of the content's closer replace the closer; one tag is
    not enough, because it may open the name of another part."""
    if shape is None:
        return as_text(text)
    return around(shape, as_text(text), is_closed=not shape.close.is_begun_by(calls))


def _reasoning(text: str, shape: TextShape | None) -> Written:
    """Write the reasoning. If the turn opens it, it is closed even if it is empty."""
    if shape is None or not (text or shape.is_opened_by_turn):
        return ()
    return around(shape, as_text(text))
