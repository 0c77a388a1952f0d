"""Writes values as JSON, and as objects with bare keys and quoted strings."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from unspool._core import Edge, TextShape
from unspool.writing.render.pieces import Written, around, as_text, join, markup

__all__ = ["json_text", "literal"]

_BARE_KEY = re.compile(r"[\w.$-]+")


def json_text(value: Any) -> str:
    """Return the value as JSON."""
    return json.dumps(value, ensure_ascii=False)


def literal(value: Any, quote: TextShape) -> Written:
    """Return the value with bare keys, and with the format's quotes around strings."""
    if isinstance(value, str):
        return around(quote, as_text(value))
    if isinstance(value, Mapping):
        members = [
            (*_key(key, quote), *markup(Edge(":")), *literal(item, quote)) for key, item in value.items()
        ]
        return (*markup(Edge("{")), *join(members, Edge(",")), *markup(Edge("}")))
    if isinstance(value, (list, tuple)):
        items = [literal(item, quote) for item in value]
        return (*markup(Edge("[")), *join(items, Edge(",")), *markup(Edge("]")))
    return as_text(json_text(value))


def _key(key: str, quote: TextShape) -> Written:
    return as_text(key) if _BARE_KEY.fullmatch(key) else literal(key, quote)
