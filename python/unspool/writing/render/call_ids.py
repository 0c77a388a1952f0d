"""Call ids in the style of the format."""

from __future__ import annotations

import re
from collections.abc import Sequence

from unspool._core import Hole, IdShape
from unspool.writing.render.given_answer import AnswerCall

__all__ = ["id_of"]

_LENGTH = 24


def id_of(call: AnswerCall, index: int, shapes: Sequence[IdShape]) -> str:
    """Return the call's own id if it fits the format's style; otherwise an id made from the call's index.

    Args:
        index: The call's index in the message.
        shapes: The format's id shapes; empty: any id is valid.
    """
    if call.id and (not shapes or any(_expression(shape, call.name).fullmatch(call.id) for shape in shapes)):
        return call.id
    if not shapes:
        return f"call_{index:0{_LENGTH}}"
    return "".join(
        _made(item, call.name, index) if isinstance(item, Hole) else item.literal for item in shapes[0].items
    )


def _made(hole: Hole, name: str, index: int) -> str:
    if hole.kind == "random":
        return f"{index:0{hole.number or _LENGTH}}"
    return {"name": name, "index": str(index)}.get(hole.kind, "")


def _expression(shape: IdShape, name: str) -> re.Pattern[str]:
    parts = []
    for item in shape.items:
        if isinstance(item, Hole):
            random = f"[A-Za-z0-9]{{{item.number or _LENGTH}}}"
            parts.append({"random": random, "index": r"\d+", "name": re.escape(name)}.get(item.kind, ".*"))
        else:
            parts.append(re.escape(item.literal))
    return re.compile("".join(parts))
