"""Writes a learnt format as a format file."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from unspool._core import PATTERN_KEYS, FormatSource

__all__ = ["to_toml"]


def to_toml(file: FormatSource, comment: str = "", examples: Sequence[Mapping[str, Any]] = ()) -> str:
    """Return the file's text, for people and for `FormatFile` to read.

    Args:
        examples: Further examples.
        comment: A comment for the beginning of the file; each line becomes a comment line.
    """
    lines = [f"# {line}".rstrip() for line in comment.splitlines()]
    keys: dict[str, Any] = {"name": file.name}
    keys.update({key: _one_or_all(file.patterns[key]) for key in PATTERN_KEYS if key in file.patterns})
    width = max(map(len, keys))
    lines += [*([""] if lines else []), *(f"{key:{width}} = {_value(value)}" for key, value in keys.items())]
    for example in (*file.examples, *examples):
        width = max(map(len, example))
        lines += ["", "[[example]]", *(f"{key:{width}} = {_value(value)}" for key, value in example.items())]
    return "\n".join(lines) + "\n"


def _one_or_all(texts: tuple[str, ...]) -> str | list[str]:
    return texts[0] if len(texts) == 1 else list(texts)


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_value(item)}" for key, item in value.items()) + " }"
    if isinstance(value, list) and len(value) > 1:
        return "[\n" + "".join(f"  {_value(item)},\n" for item in value) + "]"
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
