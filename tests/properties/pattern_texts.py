"""The literal texts of a format's patterns, where a test needs what stands around a hole."""

from __future__ import annotations

import re

from unspool import get_format

_HOLE = re.compile(r"\$\{([\w.]+)[^}]*\}")


def texts(format: str, key: str) -> list[str]:
    """The patterns of a key, with line breaks as they are."""
    return [pattern.replace("\\n", "\n") for pattern in get_format(format).patterns.get(key, ())]


def around(pattern: str, hole: str) -> tuple[str, str]:
    """The literal before a pattern's hole of this name, and the one after it."""
    parts = _HOLE.split(pattern)
    at = parts.index(hole, 1)
    return parts[at - 1], parts[at + 1]


def tagged_values(format: str) -> list[tuple[str, str]]:
    """What stands before and after each kind of a parameter's value."""
    patterns = [text for text in texts(format, "parameter") if text.count("${key") == 1]
    return [around(text, "value") for text in patterns]


def keyless_values(format: str) -> list[tuple[str, str]]:
    """What stands before and after the value of a call whose only parameter has no key."""
    patterns = [text for text in texts(format, "call") if "${value" in text and "${key" not in text]
    return [around(text, "value") for text in patterns]
