"""A format as a cache key."""

from __future__ import annotations

import json

from unspool.format_files import FormatFile

__all__ = ["FormatKey"]


class FormatKey:
    """Compares by patterns, because another format may have been registered under the same name."""

    def __init__(self, file: FormatFile) -> None:
        self.file = file
        self._text = json.dumps(file.to_core())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FormatKey) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self._text)
