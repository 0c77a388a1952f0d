"""Reads a client's JSON, limited to values that templates, tokenizers and responses can represent."""

from __future__ import annotations

import json
import math
import re
from typing import Any, NoReturn

__all__ = ["JsonError", "load_json"]

# Templates and parsers recurse once for each level.
_MAX_DEPTH = 128

_MAY_BE_HALF = re.compile(r"\\u[dD][89a-fA-F]")
_HALF = re.compile("[\ud800-\udfff]")


class JsonError(ValueError):
    """Raised for JSON that Python reads but that cannot be passed on.

    Attributes:
        place: The wrong field, such as "messages[0].content"; "": the whole body.
    """

    def __init__(self, message: str, place: str = "") -> None:
        super().__init__(message)
        self.place = place


def load_json(text: str | bytes | bytearray) -> Any:
    """Parse JSON and return the value.

    Raises:
        JsonError: The text has NaN, an infinity, half of a surrogate pair, or more than 128 levels.
        ValueError: The text is not JSON, or not UTF-8.
    """
    if not isinstance(text, str):
        text = text.decode("utf-8-sig")  # because json.loads accepts halves of surrogate pairs in bytes
    try:
        value = json.loads(text, parse_constant=_refuse, parse_float=_finite)
    except RecursionError:
        raise _too_deep() from None
    except json.JSONDecodeError:
        raise
    except ValueError as error:
        if isinstance(error, JsonError):
            raise
        raise JsonError("an integer has more digits than can be read; send a smaller one") from None
    _check_depth(value)
    if _MAY_BE_HALF.search(text) is not None:
        _check_texts(value, "")
    return value


def _refuse(name: str) -> NoReturn:
    raise JsonError(f"{name} is no JSON; send a number, or null")


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise JsonError(f"{text} is more than a number can be; send a smaller one")
    return number


def _too_deep() -> JsonError:
    return JsonError(f"it is nested too deeply; send at most {_MAX_DEPTH} levels")


def _check_depth(value: Any) -> None:
    level = [value]
    for _ in range(_MAX_DEPTH + 1):
        below: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                below += item.values()
            elif isinstance(item, list):
                below += item
        if not below:
            return
        level = below
    raise _too_deep()


def _check_texts(value: Any, place: str) -> None:
    if isinstance(value, str):
        half = _HALF.search(value)
        if half is not None:
            raise JsonError(
                f"'{place}' has half of a surrogate pair, U+{ord(half[0]):04X}, which is no character; remove it",
                place,
            )
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _check_texts(item, f"{place}[{index}]")
    elif isinstance(value, dict):
        for name, item in value.items():
            if _HALF.search(name) is not None:
                raise JsonError(
                    f"a field's name{f' in {place!r}' if place else ''} has half of a surrogate pair; remove it",
                    place,
                )
            _check_texts(item, f"{place}.{name}" if place else name)
