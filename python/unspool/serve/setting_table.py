"""Tables of settings: dataclasses whose fields say what the command and the documentation need to know.

    max_queue: int = setting(100, "Requests that may wait; further ones get 429.", least=0)

The checks, the command's options, their variables and the pages of the documentation are made from such fields.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import Any, Literal, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints

from unspool.errors import ArgumentError

__all__ = ["Setting", "SettingField", "check_settings", "describe", "fields_of", "read_settings", "setting"]

T = TypeVar("T")

# The unit in a field's name, for errors.
_UNITS = {"s": "seconds", "ms": "milliseconds", "mb": "megabytes"}


@dataclass(frozen=True)
class Setting:
    """What a field's name, type and default do not say.

    Attributes:
        help: The description, for the command's help and the documentation.
        details: Further sentences, for the documentation.
        least, most: The smallest and the largest number.
        above: A limit that a number must exceed.
        flag: The command's option, if it is not the field's name; "": the command has no such option.
        shows_default: Whether the command's help ends with the default.
        after: The field that precedes this one in the command's help; None: the one before it in the table.
    """

    help: str
    details: str = ""
    least: int | None = None
    most: int | None = None
    above: int | None = None
    flag: str | None = None
    shows_default: bool = True
    after: str | None = None


def setting(default: T, *description: Any, **limits: Any) -> T:
    """Return a dataclass's field with this default; the other arguments are those of `Setting`."""
    field: Any = dataclasses.field(default=default, metadata={"setting": Setting(*description, **limits)})
    value: T = field
    return value


class SettingField(NamedTuple):
    """A field of a table.

    Attributes:
        name: The field's name.
        kind: The type of its value, or of each of several values.
        is_optional: Whether it may be None.
        is_many: Whether it has several values.
        choices: The words that it may be; empty: any.
        default: The default.
        setting: The description.
    """

    name: str
    kind: type
    is_optional: bool
    is_many: bool
    choices: tuple[str, ...]
    default: Any
    setting: Setting

    @property
    def flag(self) -> str:
        """The command's option: `read_timeout_s` is --read-timeout, and `api_keys` a repeated --api-key."""
        if self.setting.flag is not None:
            return self.setting.flag
        name = self.name.removesuffix("s") if self.is_many else self.name.removesuffix("_s")
        return f"--{name.replace('_', '-')}"


@functools.cache
def fields_of(table: type) -> tuple[SettingField, ...]:
    """Return the fields of a table."""
    hints = get_type_hints(table)
    return tuple(_field(field, hints[field.name]) for field in dataclasses.fields(table))


def _field(field: dataclasses.Field[Any], annotation: Any) -> SettingField:
    is_union = get_origin(annotation) in (Union, UnionType)
    kinds = get_args(annotation) if is_union else (annotation,)
    (kind,) = (item for item in kinds if item is not NoneType)
    is_many, choices = get_origin(kind) is Sequence, get_args(kind) if get_origin(kind) is Literal else ()
    return SettingField(
        name=field.name,
        kind=str if choices or is_many else kind,
        is_optional=NoneType in kinds,
        is_many=is_many,
        choices=choices,
        default=field.default,
        setting=field.metadata["setting"],
    )


def read_settings(table: type[T], values: Mapping[str, Any]) -> T:
    """Return a table with the values of its fields; a value that is missing or None is the default."""
    cls: Any = table  # Any for mypy, which considers the dataclass not hashable
    names = [field.name for field in fields_of(cls)]
    return table(**{name: values[name] for name in names if values.get(name) is not None})


def check_settings(table: Any) -> None:
    """Check the values of a table.

    Raises:
        ArgumentError: A number is out of its range, or a word is not one of the choices.
    """
    cls: Any = type(table)
    for field in fields_of(cls):
        value = getattr(table, field.name)
        if not (value is None and field.is_optional):
            _check(field, value)


def _check(field: SettingField, value: Any) -> None:
    name, setting = field.name, field.setting
    if field.choices and value not in field.choices:
        raise ArgumentError(f"{name} is '{value}'; use {' or '.join(map(repr, field.choices))}")
    # Written so that NaN is out of range.
    if (
        (setting.least is None or value >= setting.least)
        and (setting.most is None or value <= setting.most)
        and (setting.above is None or value > setting.above)
    ):
        return
    if field.kind is int:
        raise ArgumentError(f"{name} is {value}; it must be at least {setting.least}")
    unit = _UNITS[name.rsplit("_", 1)[-1]]
    if setting.most is not None:
        raise ArgumentError(f"{name} is {value}; pass {unit}, at most {setting.most}")
    if setting.least is not None:
        raise ArgumentError(f"{name} is {value}; pass {unit}, {setting.least} or more")
    or_none = ", or None" if field.is_optional else ""
    raise ArgumentError(f"{name} is {value}; pass {unit} above {setting.above}{or_none}")


def describe(field: SettingField) -> str:
    """Return a field's whole description, with its choices."""
    choices = f"One of {', '.join(f'`{word}`' for word in field.choices)}." if field.choices else ""
    return " ".join(filter(None, (field.setting.help, field.setting.details, choices)))
