"""`repr`s of bounded length, so that an object in a notebook or a log is one short line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

__all__ = ["describe", "short_fields", "short_list", "short_repr"]

_MOST_CHARACTERS = 60
_MOST_ITEMS = 2
_MARKS = 40  # room for quotes, escapes and the length


def short_repr(text: str, most: int = _MOST_CHARACTERS) -> str:
    """Return the `repr` of a text; for a long text, the `repr`s of its two ends, and its length."""
    if len(text) <= most:
        shown = repr(text)
        if len(shown) <= most + _MARKS:
            return shown
    room = most
    while True:  # characters that are escaped need more room
        head, tail = text[: room * 2 // 3], text[-(room // 3) or len(text) :]
        shown = f"{head!r} … {tail!r} ({len(text):,} characters)"
        if len(shown) <= most + _MARKS or room < 6:
            return shown
        room //= 2


def short_list(items: Sequence[Any]) -> str:
    """Return the first items, and the number of the others."""
    shown = [repr(item) for item in items[:_MOST_ITEMS]]
    if len(items) > _MOST_ITEMS:
        shown.append(f"… {len(items) - _MOST_ITEMS:,} more")
    return f"[{', '.join(shown)}]"


def short_fields(value: Any, names: Iterable[str], always: Iterable[str] = ()) -> str:
    """Return a class's name and its fields, without those that are empty and not in `always`."""
    shown = []
    for name in names:
        field = getattr(value, name)
        if name not in always and field in (None, "", ()):
            continue
        text = short_list(field) if isinstance(field, tuple) else _shown(field)
        shown.append(f"{name}={text}")
    return f"{type(value).__name__}({', '.join(shown)})"


def describe(value: Any, names: Iterable[str]) -> str:
    """Return a native class's name and some of its attributes; `…` for one that cannot be read at the moment."""
    shown = []
    for name in names:
        try:
            text = _shown(getattr(value, name))
        except Exception:  # another thread uses the object, or __init__ has not run
            text = "…"
        shown.append(f"{name.lstrip('_')}={text}")
    return f"{type(value).__name__}({', '.join(shown)})"


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return short_repr(value)
    return short_list(value) if isinstance(value, (list, tuple)) else repr(value)
