"""The reasons for holding text back, in words."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["why_held"]

_MAX_MARKERS = 6  # number of markers named in one reason

_WHY = {
    "character": "an unfinished character",
    "space": "white space: markup if a marker follows, content if text follows",
    "header": "a header; what follows depends on it",
    "call": "may be a call or content",
    "name": "a call whose name is not complete",
    "key": "a parameter's name that is not complete",
    "value": "a value whose type or end is not known yet",
    "separator": "counts only if another value follows",
    "closing_tag": "ends the value or is part of it, depending on what follows",
    "ids": "its token ids have not arrived yet",
}


def why_held(reason: str, markers: Sequence[str]) -> str:
    """Return why text is held back, in words; "" if nothing is held back."""
    if reason != "marker":
        return _WHY.get(reason, "")
    if not markers:
        return "may be the start of a marker"
    named = list(dict.fromkeys(marker.strip() or repr(marker) for marker in markers))
    if len(named) == 1:
        return f"may be the start of the marker {named[0]}"
    rest = len(named) - _MAX_MARKERS
    listed = "  ".join(named[:_MAX_MARKERS]) + (f"  and {rest} more" if rest > 0 else "")
    return f"may be the start of one of the markers {listed}"
