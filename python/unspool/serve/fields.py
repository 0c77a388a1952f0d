"""Reads a request's JSON object field by field; a field that is not read is an error."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import Any, TypeVar

from unspool.serve.api_errors import ApiError

__all__ = ["Fields", "recorded", "unfit"]

_T = TypeVar("_T")

_NAMES: dict[type, str] = {
    str: "a string",
    bool: "true or false",
    int: "an integer",
    float: "a number",
    list: "a list",
    dict: "an object",
    type(None): "null",
}


_SCHEMAS: dict[type, dict[str, Any]] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    list: {"type": "array", "items": {}},
    dict: {"type": "object"},
}

_record: ContextVar[dict[str, Any] | None] = ContextVar("unspool_fields", default=None)


def recorded(read: Callable[[Any], object], body: Any) -> dict[str, dict[str, Any]]:
    """The JSON Schema of each field that `read` asks a body for, by its path.

    Args:
        body: A body that `read` accepts.
    """
    token = _record.set({})
    try:
        read(body)
        return _record.get() or {}
    finally:
        _record.reset(token)


class Fields:
    """A JSON object that is read field by field; null counts as absent.

    Args:
        data: The object.
        path: Its place in the request, such as "stream_options", for errors.

    Every method raises ApiError 422 for a value of the wrong type, and names the field.
    """

    def __init__(self, data: Any, path: str = "") -> None:
        if not isinstance(data, Mapping):
            where = f"'{path}'" if path else "the body"
            raise unfit(path or None, f"{where} is {_name(data)}; send a JSON object")
        self._path = path
        self._left = dict(data)
        self._taken: set[str] = set()

    def text(self, name: str, default: _T = None) -> str | _T:  # type: ignore[assignment]
        """A string."""
        value: str | _T = self._take(name, str, default)
        return value

    def flag(self, name: str, default: bool = False) -> bool:
        """True or false."""
        value: bool = self._take(name, bool, default)
        return value

    def integer(self, name: str, *, least: int | None = None) -> int | None:
        """An integer, `least` or more."""
        value: int | None = self._take(name, int, None)
        if value is not None and least is not None and value < least:
            raise unfit(self.path_of(name), f"'{self.path_of(name)}' is {value}; it must be at least {least}")
        return value

    def number(self, name: str) -> float | None:
        """An integer or a fraction."""
        value: float | None = self._take(name, float, None)
        return value

    def items(self, name: str) -> list[Any] | None:
        """A list."""
        value: list[Any] | None = self._take(name, list, None)
        return value

    def mapping(self, name: str) -> dict[str, Any] | None:
        """An object."""
        value: dict[str, Any] | None = self._take(name, dict, None)
        return value

    def inner(self, name: str) -> Fields:
        """A nested object; an empty one if it is absent."""
        return Fields(self._take(name, dict, {}), self.path_of(name))

    def any(self, name: str) -> Any:
        """Any value."""
        self._taken.add(name)
        self._note(name, {})
        return self._left.pop(name, None)

    def require(self, name: str, value: _T | None) -> _T:
        """A required value."""
        if value is None:
            raise unfit(self.path_of(name), f"'{self.path_of(name)}' is missing")
        return value

    def only(self, name: str, *allowed: Any, why: str) -> None:
        """A field that is not supported: any value but these gets 400."""
        self._note(
            name, {"description": f"Not supported: {why}.", **({"enum": [*allowed]} if allowed else {})}
        )
        value = self.any(name)
        if value is None or any(value == item and type(value) is type(item) for item in allowed):
            return
        field = self.path_of(name)
        raise ApiError(400, f"'{field}' is not supported: {why}", code="unsupported_parameter", param=field)

    def harmless(self, *names: str) -> None:
        """Fields that are accepted and change nothing."""
        for name in names:
            self._note(name, {"description": "Accepted; changes nothing."})
            self.any(name)

    def end(self) -> None:
        """Raise 422 for unknown fields."""
        left = [name for name, value in self._left.items() if value is not None]
        if left:
            field = self.path_of(left[0])
            names = ", ".join(f"'{self.path_of(name)}'" for name in left)
            raise unfit(field, f"unknown field: {names}; nothing is ignored here, so leave it out")

    @property
    def taken(self) -> frozenset[str]:
        """The names that were read."""
        return frozenset(self._taken)

    def _take(self, name: str, kind: type, default: Any) -> Any:
        self._note(name, _SCHEMAS[kind])
        value = self.any(name)
        if value is None:
            return default
        fits = isinstance(value, (int, float) if kind is float else kind)
        if kind in (int, float) and isinstance(value, bool):
            fits = False
        if not fits:
            field = self.path_of(name)
            raise unfit(field, f"'{field}' is {_name(value)}; send {_NAMES[kind]}")
        return value

    def _note(self, name: str, schema: dict[str, Any]) -> None:
        record = _record.get()
        if record is not None:
            record.setdefault(self.path_of(name), schema)

    def path_of(self, name: str) -> str:
        """A field's place in the request."""
        return f"{self._path}.{name}" if self._path else name


def unfit(field: str | None, message: str) -> ApiError:
    """The error for a wrong value."""
    return ApiError(422, message, code="invalid_request", param=field)


def _name(value: Any) -> str:
    return _NAMES.get(type(value), type(value).__name__)
