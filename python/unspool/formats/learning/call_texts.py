"""Finds the renderings with calls, and the beginning of the calls' markup in each."""

from __future__ import annotations

from collections.abc import Iterator

from unspool.formats.learning import holes
from unspool.formats.learning.calls import CallText
from unspool.formats.learning.messages import Frames
from unspool.formats.learning.shown import Shown
from unspool.formats.templates.probe import CALLS, CONTENT, REASONING, Shape, call_id
from unspool.formats.templates.rendered import Rendered
from unspool.formats.templates.tagged_texts import has_words

__all__ = ["call_texts"]

#: Kinds by number of calls. Content before the calls shows best which white space belongs to them.
_KINDS = ((2, ("content_calls", "calls", "thought_calls")), (1, ("content_call", "call", "thought_call")))


def call_texts(shown: Shown, frames: Frames, shape: Shape) -> Iterator[CallText]:
    """Yield the renderings of two calls and then those of one, the most informative first."""
    for count, kinds in _KINDS:
        for kind in kinds:
            rendered = shown.texts.get(kind)
            if rendered is None or CALLS[count - 1].name not in rendered.text:
                continue
            start = _start(rendered, frames, kind)
            if start is not None:
                has_turn = kind in ("calls", "call") and shown.messages.repeats_turn
                text = _without_ids(rendered.text, shape)
                yield CallText(rendered.lead + text if has_turn else text, start, count)


def _start(rendered: Rendered, frames: Frames, kind: str) -> int | None:
    """Return where the calls' markup begins: after the content, or after its beginning in the reasoning."""
    text = rendered.text
    name = text.find(CALLS[0].name)
    if kind.startswith("content"):
        place = text.find(CONTENT) + len(CONTENT)
        if CONTENT not in text or place > name:
            return None
        closes = has_words(frames.content_close) and text.startswith(frames.content_close, place)
        return place + len(frames.content_close) * closes
    if kind.startswith("thought") and REASONING not in text:
        return None
    place = text.find(REASONING) + len(REASONING) if kind.startswith("thought") else 0
    closer = frames.reasoning_close.strip()
    at = text.rfind(closer, place, name) if closer else -1
    return at + len(closer) if at >= 0 else place


def _without_ids(text: str, shape: Shape) -> str:
    """Return the text with a hole for each call id that consists of letters."""
    if shape.ids == "letters":
        for index, call in enumerate(CALLS):
            text = text.replace(call_id(shape, call, index), holes.ID)
    return text
