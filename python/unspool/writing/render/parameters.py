"""Writes tagged parameters; each uses the alternative that fits its value."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from unspool._core import ParameterShape
from unspool.writing.render.pieces import Written, as_text, fill
from unspool.writing.render.values import json_text

__all__ = ["ways_to_write", "write_parameters"]

_JSON_TYPES = {
    str: "string", bool: "boolean", int: "integer", float: "number", dict: "object", list: "array",
    type(None): "null",
}  # fmt: skip
_ELEMENT_NAME = re.compile(r"[\w.-]+")


def write_parameters(
    parameters: Sequence[ParameterShape], arguments: Mapping[str, Any], choice: int = 0
) -> Written:
    """Write all parameters of a call.

    Args:
        parameters: The alternatives for one parameter.
        choice: Index of the notation for each value, modulo their number.
    """
    pieces: list[Any] = []
    for key, value in arguments.items():
        ways = _ways(parameters, value)
        parameter, write = ways[choice % len(ways)]
        pieces += _parameter(parameter, key, value, write)
    return tuple(pieces)


def ways_to_write(parameters: Sequence[ParameterShape], arguments: Mapping[str, Any]) -> int:
    """The largest number of notations that any argument has."""
    return max((len(_ways(parameters, value)) for value in arguments.values()), default=1)


_Write = Callable[[Any], str]


def _ways(parameters: Sequence[ParameterShape], value: Any) -> list[tuple[ParameterShape, _Write]]:
    """The alternatives that can hold the value, best first, each with the function that writes it."""
    literal = [one for one in parameters if one.is_verbatim]
    others = [one for one in parameters if not one.is_verbatim]
    if isinstance(value, str):
        plain = [one for one in others if one.has_entities and value == _escaped(value)]
        others = [one for one in others if one not in plain]
        return [(one, str) for one in (*plain, *literal, *others)]
    return [(one, write) for one in others or parameters for write in _writers(one, value)]


def _writers(parameter: ParameterShape, value: Any) -> list[_Write]:
    is_python = parameter.is_python and isinstance(value, (Mapping, list, tuple))
    return [repr, json_text] if is_python else [json_text]


def _parameter(parameter: ParameterShape, key: str, value: Any, write: _Write) -> Written:
    if parameter.is_element:
        return fill(parameter.items, {"key": as_text(key), "value": _element(parameter, value)})
    text = write(value)
    if parameter.has_entities:
        text = _escaped(text)
    name = html.escape(key) if parameter.key_has_entities else key
    kind = _JSON_TYPES.get(type(value), "array")
    return fill(parameter.items, {"key": as_text(name), "value": as_text(text), "type": as_text(kind)})


def _escaped(text: str) -> str:
    return html.escape(text, quote=False)


def _element(parameter: ParameterShape, value: Any) -> Written:
    if isinstance(value, (Mapping, list, tuple)) and _nests(value):
        items = value.items() if isinstance(value, Mapping) else [("item", item) for item in value]
        return tuple(piece for key, item in items for piece in _parameter(parameter, key, item, json_text))
    return as_text(value if isinstance(value, str) else json_text(value))


def _nests(value: Any) -> bool:
    """Whether a value can be written as elements; an empty object or list would look like empty text."""
    if isinstance(value, Mapping):
        is_named = all(_ELEMENT_NAME.fullmatch(key) for key in value)
        return bool(value) and is_named and all(map(_nests, value.values()))
    if isinstance(value, (list, tuple)):
        return bool(value) and all(map(_nests, value))
    return bool(value != "")
