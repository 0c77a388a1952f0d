"""Call ids in the style of the format."""

from __future__ import annotations

import re

from unspool._core import Hole, Pattern
from unspool.writing.render.answer import AnswerCall

__all__ = ["id_of"]

_LENGTH = 24


def id_of(call: AnswerCall, index: int, shapes: tuple[Pattern, ...]) -> str:
    """Return the call's own id if it fits the format's style; otherwise an id made from the call's index.

    Args:
        index: The call's index in the message.
        shapes: The format's patterns for ids; empty: any id is valid.
    """
    if call.id and (not shapes or any(_expression(shape, call.name).fullmatch(call.id) for shape in shapes)):
        return call.id
    if not shapes:
        return f"call_{index:0{_LENGTH}}"
    parts = [shapes[0].first]
    for hole, text in zip(shapes[0].holes, shapes[0].texts[1:], strict=True):
        parts += [_made(hole, call.name, index), text]
    return "".join(parts)


def _made(hole: Hole, name: str, index: int) -> str:
    if hole.kind == "random":
        return f"{index:0{_length(hole)}}"
    return {"name": name, "index": str(index)}.get(hole.kind, "")


def _expression(shape: Pattern, name: str) -> re.Pattern[str]:
    parts = [re.escape(shape.first)]
    for hole, text in zip(shape.holes, shape.texts[1:], strict=True):
        kinds = {"random": f"[A-Za-z0-9]{{{_length(hole)}}}", "index": r"\d+", "name": re.escape(name)}
        parts += [kinds.get(hole.kind, ".*"), re.escape(text)]
    return re.compile("".join(parts))


def _length(hole: Hole) -> int:
    return next((int(option) for option in hole.options if option.isdigit()), _LENGTH)
