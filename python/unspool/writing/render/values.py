"""Writes values as JSON, and as objects with bare keys and quoted strings."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from unspool._core import Pattern
from unspool.writing.render.pieces import Written, as_text, fill, join

__all__ = ["json_text", "literal"]

_BARE_KEY = re.compile(r"[\w.$-]+")


def json_text(value: Any) -> str:
    """The value as JSON."""
    return json.dumps(value, ensure_ascii=False)


def literal(value: Any, string: Pattern) -> Written:
    """The value with bare keys, and with strings quoted according to the pattern."""
    if isinstance(value, str):
        return fill(string, {"value": as_text(value)})
    if isinstance(value, Mapping):
        members = [
            join([_key(key, string), literal(item, string)], "", ":", "") for key, item in value.items()
        ]
        return join(members, "{", ",", "}")
    if isinstance(value, (list, tuple)):
        return join([literal(item, string) for item in value], "[", ",", "]")
    return as_text(json_text(value))


def _key(key: str, string: Pattern) -> Written:
    return as_text(key) if _BARE_KEY.fullmatch(key) else literal(key, string)
