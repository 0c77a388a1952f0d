"""Writes an answer in one way. Whether it is read as it was meant, `read_back` says."""

from __future__ import annotations

from unspool.patterns import Pattern, Patterns
from unspool.render.answer import Answer
from unspool.render.calls import CallsWriter
from unspool.render.pieces import Written, as_text, fill, text_of, without_prefix
from unspool.render.turn import opens, without_turn
from unspool.render.way import Way

__all__ = ["write_answer"]


def write_answer(patterns: Patterns, answer: Answer, way: Way, continues: bool = False) -> Written:
    """Reasoning, content and calls, in this order.

    Args:
        continues: As of `FormatFile.render`.
    """
    turn = patterns.turn[0] if patterns.turn else ""
    made = _reasoning(answer.reasoning, way.reasoning, turn)
    if answer.content:
        made += _after(made, _around(way.content, "content", answer.content))
    if way.form is not None:
        calls = CallsWriter(patterns, way.form, way.choice).write(answer.calls)
        made += _after(made, calls, is_bare=way.form.is_bare)
    return without_turn(made, turn, continues)


def _reasoning(text: str, pattern: Pattern | None, turn: str) -> Written:
    """The reasoning. Where the turn opens it, it is closed even if there is none."""
    if pattern is None or not (text or opens(turn, pattern.first)):
        return ()
    return _around(pattern, "reasoning", text)


def _around(pattern: Pattern | None, kind: str, text: str) -> Written:
    return as_text(text) if pattern is None else fill(pattern, {kind: as_text(text)})


def _after(before: Written, written: Written, is_bare: bool = False) -> Written:
    """What follows, without the line breaks that stand there already.

    A call without an opener begins a line: the content's own line break serves it too.
    """
    if not written or not written[0].is_markup:
        return written
    first = written[0].text
    breaks = len(first) - len(first.lstrip("\n"))
    if before and not before[-1].is_markup and not (is_bare and text_of(before).endswith("\n")):
        return written
    there = text_of(before)
    there_breaks = len(there) - len(there.rstrip("\n")) if before else breaks
    return without_prefix(written, "\n" * min(breaks, there_breaks))
