"""Writes an answer in one way; `read_back` checks the result."""

from __future__ import annotations

import re

from unspool._core import Pattern, Patterns
from unspool.writing.render.answer import Answer
from unspool.writing.render.calls import CallsWriter
from unspool.writing.render.pieces import Written, as_text, fill, text_of, without_prefix
from unspool.writing.render.way import Way

__all__ = ["write_answer"]

_TAG = re.compile(r"<[^<>]+>")


def write_answer(patterns: Patterns, answer: Answer, way: Way, continues: bool = False) -> Written:
    """Write reasoning, content and calls, in this order.

    Args:
        continues: See `FormatFile.render`.
    """
    turn = patterns.turn[0] if patterns.turn else ""
    made = _reasoning(answer.reasoning, way.reasoning, turn)
    calls = CallsWriter(patterns, way.form, way.choice).write(answer.calls) if way.form else ()
    if answer.content:
        made += _after(made, _content(answer.content, way.content, text_of(calls)))
    if way.form is not None:
        made += _after(made, calls, is_bare=way.form.is_bare)
    first = made[0].text if made and made[0].is_markup else ""
    # The part that the prompt has already written: with `continues` any end of the turn, otherwise all of it, so that
    # the reasoning's opener stays part of the answer.
    ends = [turn[begin:] for begin in range(len(turn) if continues else min(1, len(turn)))]
    return without_prefix(made, next((end for end in ends if first.startswith(end)), ""))


def _content(text: str, pattern: Pattern | None, after: str) -> Written:
    """Write the content. If the calls after it begin with the first tags of its closer, they replace the
    closer."""
    if pattern is None:
        return as_text(text)
    shared = _common_start(pattern.last.strip(), after.lstrip())
    if len(_TAG.findall(shared)) > 1:  # a single tag may open the name of another part
        pattern = pattern.with_last("")
    return fill(pattern, {"content": as_text(text)})


def _reasoning(text: str, pattern: Pattern | None, turn: str) -> Written:
    """Write the reasoning. If the turn opens it, it is closed even if it is empty."""
    if pattern is None or not (text or turn.rstrip().endswith(pattern.first.strip())):
        return ()
    return fill(pattern, {"reasoning": as_text(text)})


def _after(before: Written, written: Written, is_bare: bool = False) -> Written:
    """Append without line breaks that are already there.

    A call without an opener begins a line; the content's own line break is enough.
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


def _common_start(left: str, right: str) -> str:
    count = min(len(left), len(right))
    return left[: next((place for place in range(count) if left[place] != right[place]), count)]
