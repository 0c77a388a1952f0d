"""JSON Schemas of Python's functions and types, as a tool's parameters."""

from __future__ import annotations

import collections.abc
import enum
import inspect
import json
import re
import types
import typing
from collections.abc import Callable
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from unspool.errors import ArgumentError, UnspoolError

__all__ = [
    "class_schema",
    "function_schema",
    "import_msgspec",
    "is_plain",
    "type_hints",
    "type_name",
    "uses_pydantic",
]

_NAMES = {bool: "boolean", int: "integer", float: "number", str: "string", types.NoneType: "null"}
_LISTS = (list, collections.abc.Sequence, collections.abc.Iterable)
_MAPPINGS = (dict, collections.abc.Mapping)
_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def function_schema(function: Callable[..., Any]) -> tuple[str, dict[str, Any]]:
    """Return a function's description and the schema of its parameters.

    The types are those of the signature; a parameter without a type accepts any value. The descriptions are those
    of the docstring, in Google's style: the text before its first section, and the entries of "Args:". An entry
    that ends in `(choices: ["a", "b"])` lists the allowed values.

    Raises:
        ArgumentError: A parameter is positional only, or its type has no JSON Schema.
        UnspoolError: A type needs msgspec, which is missing.
    """
    try:
        signature = inspect.signature(function)
        hints = typing.get_type_hints(_annotated(function), include_extras=True)
    except (TypeError, ValueError, NameError) as error:
        raise ArgumentError(
            f"{function!r:.200} cannot be read as a tool: {error}; pass its schema as a dict"
        ) from None
    description, texts = _read_docstring(inspect.getdoc(function) or "")
    definitions: dict[str, Any] = {}
    schema: dict[str, Any] = {"type": "object", "properties": {}}
    required = []
    for name, parameter in signature.parameters.items():
        if parameter.kind in _VARIADIC:
            continue
        if parameter.kind is inspect.Parameter.POSITIONAL_ONLY:
            raise ArgumentError(f"the parameter '{name}' is positional only; a call names its arguments")
        try:
            property_schema = _type_schema(hints.get(name, Any), definitions)
        except ArgumentError as error:
            raise ArgumentError(f"the parameter '{name}': {error}") from None
        schema["properties"][name] = property_schema | _described(texts.get(name))
        if parameter.default is inspect.Parameter.empty:
            required.append(name)
    if required:
        schema["required"] = required
    if definitions:
        schema["$defs"] = definitions
    return description, schema


def class_schema(kind: Any) -> dict[str, Any]:
    """Return the schema of a class: made by pydantic for its models and dataclasses, else by msgspec.

    Raises:
        ArgumentError: The type has no JSON Schema.
        UnspoolError: msgspec is missing.
    """
    if hasattr(kind, "model_json_schema"):
        make_schema = kind.model_json_schema
    elif uses_pydantic(kind):
        from pydantic import TypeAdapter

        make_schema = TypeAdapter(kind).json_schema
    else:
        msgspec = import_msgspec(f"the schema of {type_name(kind)}")
        make_schema = lambda: msgspec.json.schema(kind)  # noqa: E731
    try:
        schema: dict[str, Any] = make_schema()
    except Exception as error:  # both raise many types
        raise ArgumentError(
            f"{type_name(kind)} has no JSON Schema: {error!s:.300}; write the tool as a dict"
        ) from error
    return _inlined(schema)


def import_msgspec(purpose: str) -> Any:
    """Import msgspec, which parses and describes dataclasses, TypedDicts and more."""
    try:
        import msgspec
    except ImportError:
        raise UnspoolError(f"{purpose} needs msgspec: pip install 'unspool[tools]'") from None
    return msgspec


def uses_pydantic(hint: Any) -> bool:
    """Whether a type is a pydantic model or dataclass, or has one among its type arguments."""
    return hasattr(hint, "__pydantic_core_schema__") or any(map(uses_pydantic, get_args(hint)))


def is_plain(hint: Any) -> bool:
    """Whether parsed JSON that fits the type's schema already is of this type."""
    origin = get_origin(hint)
    if origin is Literal or hint in (Any, ...) or hint in _NAMES or hint in (*_LISTS, *_MAPPINGS):
        return True
    args = get_args(hint)[:1] if origin is Annotated else get_args(hint)
    return origin in (Union, types.UnionType, Annotated, *_LISTS, *_MAPPINGS) and all(map(is_plain, args))


def _type_schema(hint: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a type. Schemas that it references are added to `definitions`."""
    origin, args = get_origin(hint), get_args(hint)
    if hint is Any:
        return {}
    if hint in _NAMES:
        return {"type": _NAMES[hint]}
    if origin is Annotated:
        said = (text if isinstance(text, str) else getattr(text, "description", None) for text in args[1:])
        return _type_schema(args[0], definitions) | _described(next(filter(None, said), None))
    if origin in (Union, types.UnionType):
        return _union_schema(args, definitions)
    if origin is Literal:
        return _enum_schema(list(args)) or _foreign_schema(hint, definitions)
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return _enum_schema([member.value for member in hint]) or _foreign_schema(hint, definitions)
    if (origin or hint) in _LISTS or (origin is tuple and args[1:] == (...,)):
        return {"type": "array"} | ({"items": _type_schema(args[0], definitions)} if args else {})
    if (origin or hint) is tuple:
        return {"type": "array"} | (
            {"prefixItems": [_type_schema(arg, definitions) for arg in args]} if args else {}
        )
    if (origin or hint) in _MAPPINGS:
        return {"type": "object"} | (
            {"additionalProperties": _type_schema(args[1], definitions)} if args else {}
        )
    return _foreign_schema(hint, definitions)


def _union_schema(args: tuple[Any, ...], definitions: dict[str, Any]) -> dict[str, Any]:
    kinds = [_type_schema(arg, definitions) for arg in args if arg is not types.NoneType]
    if len(kinds) == 1:
        made = kinds[0]
    elif all(kind.keys() == {"type"} for kind in kinds):
        names = sorted({kind["type"] for kind in kinds})
        made = {"type": names if len(names) > 1 else names[0]}
    else:
        made = {"anyOf": kinds}
    return made | ({"nullable": True} if types.NoneType in args else {})


def _enum_schema(values: list[Any]) -> dict[str, Any]:
    """The schema that lists these values; empty if one of them is not a scalar of JSON."""
    if not values or any(type(value) not in _NAMES for value in values):
        return {}
    names = list(dict.fromkeys(_NAMES[type(value)] for value in values))
    return {"type": names if len(names) > 1 else names[0], "enum": values}


def _foreign_schema(hint: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    schema = class_schema(hint)
    for name, definition in schema.pop("$defs", {}).items():
        if definitions.setdefault(name, definition) != definition:
            raise ArgumentError(f"two types are named '{name}'; rename one")
    return schema


def _inlined(schema: dict[str, Any]) -> dict[str, Any]:
    """Resolve a reference at the root of a schema; the definitions stay, since other references may need them."""
    found = re.fullmatch(r"#/\$defs/([^/]+)", schema.get("$ref", ""))
    if found is None:
        return schema
    definitions = schema["$defs"]
    root = definitions[found[1]]
    used = f'"#/$defs/{found[1]}"' in json.dumps(definitions)
    rest = {name: value for name, value in definitions.items() if used or name != found[1]}
    return {**root, "$defs": rest} if rest else dict(root)


def type_hints(function: Any) -> dict[str, Any]:
    """The types of a function's parameters; empty if they cannot be read."""
    try:
        return typing.get_type_hints(_annotated(function))
    except (TypeError, NameError):
        return {}


def _annotated(function: Any) -> Any:
    """The object that holds the annotations: a partial's function, or the `__call__` of another callable."""
    is_routine = inspect.isroutine(function) or isinstance(function, types.FunctionType)
    return inspect.unwrap(function if is_routine else getattr(function, "func", type(function).__call__))


def _read_docstring(text: str) -> tuple[str, dict[str, str]]:
    """A docstring's description, and its text for each parameter."""
    sections = re.split(r"^(Args|Returns|Raises):[ \t]*$", text, flags=re.MULTILINE)
    description, named = sections[0].strip(), dict(zip(sections[1::2], sections[2::2], strict=True))
    entries: dict[str, list[str]] = {}
    depth: int | None = None
    lines: list[str] = []
    for line in filter(str.strip, named.get("Args", "").splitlines()):
        indent = len(line) - len(line.lstrip())
        depth = indent if depth is None else depth
        match = re.match(r"\s*(\w+)(?:[ \t]*\([^()]*\))?:\s*(.*)", line) if indent <= depth else None
        if match is not None:
            lines = entries.setdefault(match[1], [])
        lines.append(line.strip() if match is None else match[2])
    return description, {name: " ".join(filter(None, lines)) for name, lines in entries.items()}


def _described(text: str | None) -> dict[str, Any]:
    if not text:
        return {}
    match = re.search(r"\(choices:\s*(.*?)\)\s*$", text, re.IGNORECASE)
    if match is None:
        return {"description": text}
    try:
        values = json.loads(match[1])
    except ValueError:
        return {"description": text}
    return {"enum": values, "description": text[: match.start()].strip()}


def type_name(kind: Any) -> str:
    """A type's name, for errors."""
    return getattr(kind, "__name__", repr(kind))
