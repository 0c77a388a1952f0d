"""Reads a client's JSON into structs. Each error is caused by the client, and names the field.

A field that is unknown, or that changes no answer, is ignored and reported. A field is rejected if ignoring it would
make the answer wrong. A misspelled field is an error, since the client relies on it.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Hashable
from typing import Annotated, Any, NamedTuple, TypeVar, cast

import msgspec
from msgspec import Meta, inspect

from unspool.serve.http.api_errors import ApiError
from unspool.serve.http.ignored import ignore, is_noted

__all__ = ["Exact", "Ignored", "SentBack", "Wire", "kinds", "refused", "take", "unfit", "wish"]

_T = TypeVar("_T")


class Wire(msgspec.Struct, kw_only=True):
    """An object of a request. A null field counts as absent; an unknown one is ignored and reported."""


class SentBack(Wire, kw_only=True):
    """An object of an answer that a client sends back; its unknown fields are not reported."""


class Exact(Wire, forbid_unknown_fields=True, kw_only=True):
    """An object whose unknown fields are errors, since each of its fields constrains the answer."""


#: A field that is accepted and changes nothing.
Ignored = Annotated[Any, Meta(description="Accepted; changes nothing.")]


class _Refusal(NamedTuple):
    allowed: tuple[Any, ...]
    why: str
    is_wish: bool


def wish(*allowed: Any, why: str) -> Meta:
    """Annotate a field that does not change the answer's meaning; values other than these are ignored and reported."""
    refusal = {"refusal": _Refusal(allowed, why, True)}
    return Meta(description=f"Accepted; changes nothing: {why}.", extra=refusal)


def refused(*allowed: Any, why: str) -> Meta:
    """Annotate a field that is not supported; values other than these get 400."""
    schema = {"enum": list(allowed)} if allowed else None
    refusal = {"refusal": _Refusal(allowed, why, False)}
    return Meta(description=f"Not supported: {why}.", extra_json_schema=schema, extra=refusal)


class _Kinds(NamedTuple):
    code: str
    message: str
    default: str | None
    left_out: str
    stand_in: dict[str, Any] | None
    needs_one: bool


def kinds(
    code: str,
    message: str,
    default: str | None = None,
    *,
    left_out: str = "",
    stand_in: dict[str, Any] | None = None,
    needs_one: bool = False,
) -> Meta:
    """Annotate a union of tagged structs; objects of other kinds get 400.

    Args:
        code, message: The error's code and message; the message may contain `{path}` and `{kind}`.
        default: The kind of an object without a tag.
        left_out: A pattern of the kinds that are dropped from their list and reported.
        stand_in: An object that replaces a dropped one, with its kind as the text.
        needs_one: Whether a list in which every object would be dropped gets the error.
    """
    return Meta(extra={"kinds": _Kinds(code, message, default, left_out, stand_in, needs_one)})


def unfit(field: str | None, message: str) -> ApiError:
    """Return the error for an invalid value."""
    return ApiError(422, message, code="invalid_request", param=field)


def take(type: type[_T], value: Any, path: str = "") -> _T:
    """Convert a JSON value to a type made of `Wire` structs.

    Args:
        path: The value's place in the request, for errors.

    Raises:
        ApiError: 422 for a missing, unknown or wrong field; 400 for a value that is not supported.
    """
    accepted = _accept(value, _shape_of(cast(Hashable, type)), path)
    try:
        return msgspec.convert(accepted, type)
    except msgspec.ValidationError as error:
        raise _explained(str(error), accepted, path) from None


class _Shape(NamedTuple):
    """The checks of a value before its conversion."""

    fields: dict[str, _Shape] | None = None
    known: frozenset[str] | None = None  # None: unknown fields are not reported
    needs: tuple[str, ...] = ()  # required objects; if one is missing, its required fields are reported
    items: _Shape | None = None
    choices: tuple[Any, ...] = ()
    tag: str = ""
    variants: dict[Any, _Shape] | None = None  # by tag
    kinds: _Kinds | None = None
    refusal: _Refusal | None = None


@functools.cache
def _shape_of(type: Hashable) -> _Shape:
    return _shape(inspect.type_info(type))


def _shape(info: inspect.Type) -> _Shape:
    if isinstance(info, inspect.Metadata):
        return _shape(info.type)._replace(**(info.extra or {}))
    if isinstance(info, inspect.UnionType):
        return functools.reduce(_merged, map(_shape, info.types))
    if isinstance(info, inspect.ListType):
        return _Shape(items=_shape(info.item_type))
    if isinstance(info, inspect.LiteralType):
        return _Shape(choices=tuple(info.values))
    if not isinstance(info, inspect.StructType):
        return _Shape()
    fields = {field.encode_name: _shape(field.type) for field in info.fields}
    checked = {name: shape for name, shape in fields.items() if shape != _Shape()}
    needs = [f.encode_name for f in info.fields if f.required and isinstance(f.type, inspect.StructType)]
    names = frozenset({field.encode_name for field in info.fields} | {info.tag_field or ""})
    shape = _Shape(checked, None if issubclass(info.cls, (Exact, SentBack)) else names, tuple(needs))
    return _Shape(tag=str(info.tag_field), variants={info.tag: shape}) if info.tag else shape


def _merged(left: _Shape, right: _Shape) -> _Shape:
    found = {name: value for name, value in right._asdict().items() if value}
    if left.variants and right.variants:
        found["variants"] = {**left.variants, **right.variants}
    return left._replace(**found)


def _accept(value: Any, shape: _Shape, path: str) -> Any:
    """Return the value without null and ignored fields and with every tag; `_LEFT_OUT` for a value that is ignored.

    Raises:
        ApiError: 400, a value or kind is not supported; 422, a value is not among its choices.
    """
    if isinstance(value, list) and shape.items is not None:
        items = [_accept(item, shape.items, f"{path}[{index}]") for index, item in enumerate(value)]
        kept = [item for item in items if item is not _LEFT_OUT]
        if items and not kept and shape.items.kinds and shape.items.kinds.needs_one:
            raise _no_kind(shape.items, f"{path}[0]", value[0][shape.items.tag])
        return kept
    if isinstance(value, dict) and shape.variants is not None:
        return _accept_variant(value, shape, shape.variants, path)
    if isinstance(value, dict) and shape.fields is not None:
        accepted_fields = {}
        for name, item in value.items():
            inner = shape.fields.get(name)
            if item is None:
                continue
            if shape.known is not None and name not in shape.known:
                # A field like `models` is not a misspelling of `model` if both are present.
                _ignore_unknown(_join(path, name), name, shape.known - value.keys())
            elif inner is None:
                accepted_fields[name] = item
            elif (accepted := _accept(item, inner, _join(path, name))) is not _LEFT_OUT:
                accepted_fields[name] = accepted
        for name in shape.needs:
            accepted_fields.setdefault(name, {})
        return accepted_fields
    if isinstance(value, str) and shape.choices and value not in shape.choices:
        raise _no_choice(path, value, shape.choices)
    if shape.refusal is not None and not any(_equal(value, item) for item in shape.refusal.allowed):
        message = f"'{path}' is not supported: {shape.refusal.why}"
        error = ApiError(400, message, code="unsupported_parameter", param=path)
        if not shape.refusal.is_wish:
            raise error
        ignore(path, error)
        return _LEFT_OUT
    return value


def _ignore_unknown(path: str, name: str, missing: frozenset[str]) -> None:
    if is_noted(path):
        return
    error = unfit(path, f"unknown field: '{path}'; nothing is ignored here, so leave it out")
    if meant := next((one for one in missing if _is_misspelt(name, one)), None):
        raise unfit(path, f"unknown field: '{path}'; is '{meant}' meant?")
    ignore(path, error, "unknown field")


def _is_misspelt(name: str, known: str) -> bool:
    """Whether the names differ only in style or by one letter that is added, missing, replaced or swapped."""
    left, right = (re.sub("[-_]", "", text[:_LONGEST]).lower() for text in (name, known))
    if left == right:
        return True
    if min(len(left), len(right)) < _LEAST_LETTERS or abs(len(left) - len(right)) > 1:
        return False
    while left and right and left[0] == right[0]:
        left, right = left[1:], right[1:]
    while left and right and left[-1] == right[-1]:
        left, right = left[:-1], right[:-1]
    return max(len(left), len(right)) == 1 or (len(left) == 2 and left == right[::-1])


# Shorter names are not compared: `speed`, which clients add, is one letter from `seed`.
_LEAST_LETTERS = 5
_LONGEST = 64  # no known name is longer
_LEFT_OUT = object()


def _accept_variant(value: dict[str, Any], shape: _Shape, variants: dict[Any, _Shape], path: str) -> Any:
    kind = value.get(shape.tag)
    if kind is None and shape.kinds is not None:
        kind = shape.kinds.default
    if kind is not None and not isinstance(kind, str):
        return value  # the conversion reports the wrong type
    if kind in variants:
        tagged: dict[str, Any] = _accept({**value, shape.tag: kind}, variants[kind], path)
        return tagged
    if shape.kinds is not None:
        error = _no_kind(shape, path, kind)
        if kind is None or not re.fullmatch(shape.kinds.left_out, kind):
            raise error
        ignore(f"{path} ({kind})", error)
        if shape.kinds.stand_in is None:
            return _LEFT_OUT
        noun = kind.removeprefix("input_").removesuffix("_url")
        return {**shape.kinds.stand_in, "text": f"[{noun}]"}
    if kind is not None:
        raise _no_choice(_join(path, shape.tag), kind, tuple(variants))
    return value


def _no_kind(shape: _Shape, path: str, kind: str | None) -> ApiError:
    assert shape.kinds is not None
    message = shape.kinds.message.format(path=path, kind=kind)
    return ApiError(400, message, code=shape.kinds.code, param=path)


def _equal(left: Any, right: Any) -> bool:
    return type(left) is type(right) and bool(left == right)


def _no_choice(path: str, value: str, choices: tuple[Any, ...]) -> ApiError:
    allowed = [f"'{choice}'" for choice in choices]
    return unfit(path, f"'{path}' is '{value}'; send {', '.join(allowed[:-1])} or {allowed[-1]}")


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


_NAMES = {
    "str": "a string", "bool": "true or false", "int": "an integer", "float": "a number", "array": "a list",
    "object": "an object",
}  # fmt: skip
_JSON_NAMES = {str: "a string", list: "a list", dict: "an object", type(None): "null"}
_BOUNDS = {">=": "at least", ">": "above", "<=": "at most", "<": "below"}


def _explained(problem: str, data: Any, path: str) -> ApiError:
    """Convert msgspec's error to the client's error."""
    problem, _, place = problem.rpartition(" - at `$") if " - at `$" in problem else (problem, "", "`")
    place = path + place[:-1] if path else place[:-1].removeprefix(".")
    if missing := re.fullmatch("Object missing required field `(.*)`", problem, re.S):
        field = _join(place, missing[1])
        return unfit(field, f"'{field}' is missing")
    if unknown := re.fullmatch("Object contains unknown field `(.*)`", problem, re.S):
        field = _join(place, unknown[1])
        return unfit(field, f"unknown field: '{field}'; nothing is ignored here, so leave it out")
    value = _shown(data, place.removeprefix(path))
    shown = f"'{place}' is {value}" if place else f"the body is {value}"
    if wrong := re.fullmatch("Expected `(.*)`, got `.*`", problem):
        if (item := re.fullmatch(r"(.*)\[(\d+)\]", place)) and wrong[1] != "object":
            place = item[1]  # a list of plain values counts as one field
            shown = f"'{place}' has {value} at index {item[2]}"
        names = [_NAMES.get(name, name) for name in wrong[1].split(" | ") if name != "null"]
        return unfit(place or None, f"{shown}; send {' or '.join(names)}")
    if bound := re.fullmatch(r"Expected `\w+` ([<>]=?) (.*)", problem):
        return unfit(place, f"{shown}; it must be {_BOUNDS[bound[1]]} {bound[2].removesuffix('.0')}")
    return unfit(place or None, f"{shown}: {problem}")


def _shown(data: Any, place: str) -> str:
    """Return the value at a place as text, or its type."""
    for name, index in re.findall(r"([^.\[\]]+)|\[(\d+)\]", place):
        try:
            data = data[name] if name else data[int(index)]
        except (LookupError, TypeError):
            return "wrong"
    if isinstance(data, bool):
        return str(data).lower()
    if type(data) in (int, float):
        return str(data)[:40]
    if isinstance(data, str) and len(data) <= 40:
        return f"'{data}', a string"
    return _JSON_NAMES.get(type(data), type(data).__name__)
