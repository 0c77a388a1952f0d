"""Rebuilds a Delta from its fields, for pickle."""

from __future__ import annotations

from typing import Any

from unspool._core import Delta

_NAMES = (
    "text",
    "index",
    "id",
    "name",
    "status",
    "finish_reason",
    "reason",
    "token_span",
    "token_ids",
    "reasoning_field",
    "choice",
)


def _restore_delta(kind: str, *values: Any) -> Delta:
    return Delta(kind, **dict(zip(_NAMES, values, strict=True)))
