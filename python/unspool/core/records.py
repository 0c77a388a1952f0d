"""`Record`: the base of the frozen dataclasses that hold options and results, with an exact JSON form."""

from __future__ import annotations

import dataclasses
import functools
import json
import math
import re
import reprlib
import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, TypeVar, Union, get_args, get_origin, get_type_hints

from unspool.errors import ArgumentError, UnknownOptionError

__all__ = ["Record", "require_at_least", "require_count"]

R = TypeVar("R", bound="Record")


@dataclass(frozen=True, slots=True)
class Record:
    """Immutable data whose fields are checked against their annotations at construction.

    A field may be an int, float, str, bool, None, another `Record`, a `Sequence` or a `Mapping` of
    these, a union of these, or `Any`. A bool does not count as a number, an int is converted to a float
    if the field is a float, and sequences become tuples. Floats must be finite; only a field whose
    default is -inf may be -inf.

    `from_dict(to_dict())` and `from_json(to_json())` return an equal record.

    Raises:
        TypeError: A value has the wrong type; the message names the field.
        ArgumentError: A value is out of its range.
        UnknownOptionError: A field is unknown.
    """

    def __new__(cls: type[R], *_: Any, **values: Any) -> R:
        """Reject unknown fields before `__init__` does, because its error does not list the fields."""
        _refuse_unknown(cls, values)
        return object.__new__(cls)

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if value is None and field.default is None:
                continue  # the most common case
            object.__setattr__(self, field.name, self._read_field(field, value))
        self._check()

    def _read_field(self, field: dataclasses.Field[Any], value: Any) -> Any:
        """Return a field's value in the form in which it is stored; subclasses may add conversions and checks.

        Not called for None if that is the default.
        """
        if _is_default_infinity(field, value):
            return value
        cls: Any = type(self)  # Any for mypy, which considers the dataclass not hashable
        return _read(_annotations(cls)[field.name], value, field.name)

    def _check(self) -> None:
        """Raise ArgumentError if the values do not fit together; subclasses override this."""

    def replace(self: R, **changes: Any) -> R:
        """Return a copy with some fields changed; only these are converted and checked as at construction."""
        _refuse_unknown(type(self), changes)
        copy = object.__new__(type(self))
        for field in dataclasses.fields(self):
            value = changes[field.name] if field.name in changes else getattr(self, field.name)
            if field.name in changes and not (value is None and field.default is None):
                value = self._read_field(field, value)
            object.__setattr__(copy, field.name, value)
        copy._check()
        return copy

    def to_dict(self) -> dict[str, Any]:
        """Return every field by its name: records as dicts, tuples as lists, a default of -inf as None."""
        return {
            field.name: None if _is_default_infinity(field, value) else _write(value)
            for field in dataclasses.fields(self)
            for value in (getattr(self, field.name),)
        }

    @classmethod
    def from_dict(cls: type[R], mapping: Mapping[str, Any]) -> R:
        """Build a record from the result of `to_dict`; a missing field has its default.

        Raises:
            ArgumentError: A key is not a field of this record, or its value is out of range.
            TypeError: `mapping` is not a mapping, or a value has the wrong type.
        """
        if not isinstance(mapping, Mapping):
            raise TypeError(f"{cls.__name__} is read from a mapping; found {_describe(mapping)}")
        _refuse_unknown(cls, mapping)
        values = dict(mapping)
        for field in dataclasses.fields(cls):
            if values.get(field.name, 0) is None and _is_default_infinity(field, -math.inf):
                values[field.name] = -math.inf
        return cls(**values)

    def to_json(self) -> str:
        """Return the record as one strict JSON object in ASCII, without NaN or Infinity.

        Raises:
            TypeError: A field of type `Any` has a value that JSON cannot express.
            ArgumentError: A field of type `Any` has a float that is not finite.
        """
        cls: Any = type(self)
        for name, annotation in _annotations(cls).items():
            if annotation is Any:
                _require_json(getattr(self, name), name)
        return json.dumps(self.to_dict(), allow_nan=False)

    @classmethod
    def from_json(cls: type[R], text: str) -> R:
        """Build a record from the result of `to_json`.

        Raises:
            ArgumentError: The text is not strict JSON or repeats a key, or `from_dict` raises it.
            TypeError: `text` is not a str, or `from_dict` raises it.
        """
        if not isinstance(text, str):
            raise TypeError(f"text is {_describe(text)}; pass a str")
        try:
            value = json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_unique_pairs)
        except ArgumentError:
            raise
        except (ValueError, RecursionError) as error:
            raise ArgumentError(f"text is not JSON: {error}; pass what to_json gave") from None
        return cls.from_dict(value)


def require_at_least(key: str, value: float | None, least: int) -> None:
    """Raise ArgumentError if a value is given and is below `least`."""
    if value is not None and value < least:
        raise ArgumentError(f"{key} is {value}; pass {least} or more")


def require_count(key: str, value: Any) -> None:
    """Raise TypeError unless a value is an int and not a bool; ArgumentError if it is below 1."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{key} is {_describe(value)}; pass an integer")
    require_at_least(key, value, 1)


@functools.cache
def _annotations(cls: type[Record]) -> dict[str, Any]:
    return get_type_hints(cls)


def _is_default_infinity(field: dataclasses.Field[Any], value: Any) -> bool:
    return (
        isinstance(field.default, float) and isinstance(value, float) and field.default == value == -math.inf
    )


def _refuse_unknown(cls: type[Record], keys: Mapping[str, Any]) -> None:
    names = [field.name for field in dataclasses.fields(cls)]
    for key in keys:
        if key not in names:
            raise UnknownOptionError(f"unknown key {key!r}; {cls.__name__} has {', '.join(names)}")


def _refuse_constant(constant: str) -> NoReturn:
    raise ArgumentError(f"text holds {constant}, which is not JSON; write null or a finite number")


def _unique_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping = dict(pairs)
    if len(mapping) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ArgumentError(f"text has the key {twice!r} twice; keep one")
    return mapping


def _read(annotation: Any, value: Any, key: str) -> Any:
    """Convert a value to the form in which a record stores it; raise TypeError if it does not fit."""
    is_union = get_origin(annotation) in (Union, types.UnionType)
    choices = get_args(annotation) if is_union else (annotation,)
    for choice in choices:
        if _fits(choice, value):
            return _convert(choice, value, key)
    wanted = " or ".join(_name(choice) for choice in choices)
    raise TypeError(f"{key} is {_describe(value)}; pass {wanted}")


def _fits(annotation: Any, value: Any) -> bool:
    """Whether the outermost type fits; the items are checked later."""
    kind = get_origin(annotation) or annotation
    if kind is Any:
        return True
    if kind in (int, float):
        numbers = (int, float) if kind is float else int
        return isinstance(value, numbers) and not isinstance(value, bool)
    if kind is Sequence:
        texts = (str, bytes, bytearray, memoryview)
        return isinstance(value, Sequence) and not isinstance(value, texts)
    if issubclass(kind, Record):
        return isinstance(value, (kind, Mapping))
    return isinstance(value, kind)


def _convert(annotation: Any, value: Any, key: str) -> Any:
    kind = get_origin(annotation) or annotation
    if kind is Any:
        return _freeze(value)
    if kind is int:
        return int(value)
    if kind is float:
        try:
            value = float(value)
        except OverflowError:
            raise ArgumentError(f"{key} is larger than a float can be; pass a smaller number") from None
        if not math.isfinite(value):
            raise ArgumentError(f"{key} is {value}; pass a finite number")
        return value
    if kind is Sequence:
        (item_annotation,) = get_args(annotation)
        # Fast path for long rows of ids, which `replace` converts again each time.
        if item_annotation in (int, str, bool) and set(map(type, value)) <= {item_annotation}:
            return tuple(value)
        return tuple(_read(item_annotation, item, f"{key}[{index}]") for index, item in enumerate(value))
    if kind is Mapping:
        key_annotation, value_annotation = get_args(annotation)
        return _convert_mapping(key_annotation, value_annotation, value, key)
    if issubclass(kind, Record) and not isinstance(value, kind):
        return kind.from_dict(value)
    return value


def _convert_mapping(key_annotation: Any, value_annotation: Any, mapping: Mapping[Any, Any], key: str) -> Any:
    result = {}
    for name, value in mapping.items():
        # The keys of a JSON object are text.
        is_number = isinstance(name, str) and re.fullmatch(r"0|-?[1-9][0-9]*", name)
        number = int(name) if key_annotation is int and is_number else name
        result[_read(key_annotation, number, f"a key of {key}")] = _read(
            value_annotation, value, f"{key}[{name!r}]"
        )
    if len(result) < len(mapping):
        raise ArgumentError(f"{key} has a key twice, as text and as a number; keep one")
    return result


def _freeze(value: Any) -> Any:
    """Convert lists to tuples, so that a record from JSON is equal. Subclasses of list, tuple and dict are kept."""
    if type(value) in (list, tuple):
        return tuple(_freeze(item) for item in value)
    if type(value) is dict:
        return {name: _freeze(item) for name, item in value.items()}
    return value


def _write(value: Any) -> Any:
    if isinstance(value, Record):
        return value.to_dict()
    if type(value) is tuple:
        return [_write(item) for item in value]
    if type(value) is dict:
        return {name: _write(item) for name, item in value.items()}
    return value


def _require_json(value: Any, key: str) -> None:
    """Reject values that JSON cannot restore: foreign objects, subclasses of tuple or dict, keys that are not str."""
    if type(value) is tuple:
        for index, item in enumerate(value):
            _require_json(item, f"{key}[{index}]")
    elif type(value) is dict and all(isinstance(name, str) for name in value):
        for name, item in value.items():
            _require_json(item, f"{key}[{name!r}]")
    elif isinstance(value, float) and not math.isfinite(value):
        raise ArgumentError(f"{key} is {value}, which JSON does not have; pass a finite number")
    elif not (value is None or isinstance(value, (bool, int, float, str))):
        raise TypeError(f"{key} is {_describe(value)}, which JSON has no form for; replace it by plain data")


def _describe(value: Any) -> str:
    return "None" if value is None else f"{reprlib.repr(value)}, of type {type(value).__name__}"


def _name(annotation: Any) -> str:
    """The name of a type, for errors."""
    kind = get_origin(annotation) or annotation
    if kind is types.NoneType:
        return "None"
    if kind in (Sequence, Mapping):
        inside = " to ".join(_name(argument) for argument in get_args(annotation))
        return f"a {kind.__name__.lower()} of {inside}"
    return f"{kind.__name__}"
