"""Checks a schema against OpenAI's strict mode; messages say what to change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from unspool.core.schema.source import Keys, Part, Source
from unspool.errors import ArgumentError
from unspool.writing.schemas.schema_parts import MAX_DEPTH, MAX_WORK

__all__ = ["require_strict"]


def require_strict(schema: Any) -> None:
    """Raise for the first violation of strict mode.

    Raises:
        ArgumentError: The message has the place and the remedy.
    """
    root = Source(schema, "#")
    if not root.is_object:
        raise ArgumentError('#: strict needs an object at the root; write {"type": "object", ...}')
    if root.any_of:
        raise ArgumentError("#: strict allows no anyOf at the root; put it into a property")
    waiting = [(root, 0)]
    seen = 0
    while waiting:
        source, depth = waiting.pop()
        seen += 1
        if seen > MAX_WORK or depth > MAX_DEPTH:
            raise ArgumentError(f"{source.path}: the schema is too large or too deep; simplify it")
        _require(source)
        waiting.extend((part.source, depth + 1) for part in reversed(_children(source)))


def _require(source: Source) -> None:
    path = source.path
    if not isinstance(source.schema, Mapping):
        raise ArgumentError(f"{path}: strict needs a schema that is an object; got {source.schema!r:.80}")
    if source.not_strict is not None:
        raise ArgumentError(f"{path}: strict does not permit {source.not_strict!r}; remove it")
    if not source.says_type:
        raise ArgumentError(f'{path}: strict needs a type; add "type"')
    reference = source.reference
    if reference is not None and not reference.startswith("#"):
        raise ArgumentError(
            f"{path}: strict needs references within the schema; move {reference!r} into $defs"
        )
    if "object" in source.type_names or source.has_properties:
        _require_closed(source.keys, path)


def _require_closed(keys: Keys, path: str) -> None:
    """Require that an object names all its keys and makes them required."""
    if keys.others is None or keys.others.source.schema is not False:
        raise ArgumentError(f'{path}: strict needs "additionalProperties": false in every object; add it')
    missing = keys.named.keys() - set(keys.required)
    if missing:
        first = next(name for name in keys.named if name in missing)
        raise ArgumentError(
            f'{path}: strict needs every property in "required"; add {first!r}. To make it optional, '
            'allow null: {"type": ["string", "null"]}'
        )
    extra = next((name for name in keys.required if name not in keys.named), None)
    if extra is not None:
        raise ArgumentError(f'{path}: "required" has {extra!r}, which "properties" lacks; add or remove it')


def _children(source: Source) -> list[Part]:
    """The schemas in a schema."""
    items = source.items
    others = [] if items.others is None else [items.others]
    return [*source.keys.named.values(), *source.definitions, *source.any_of, *items.first, *others]
