"""Checks a schema against OpenAI's strict mode; messages say what to change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from unspool.core.schema.schema_check import escape_pointer
from unspool.errors import ArgumentError
from unspool.writing.schemas.schema_parts import MAX_DEPTH, MAX_WORK

__all__ = ["require_strict"]

_REFUSED = (
    "allOf", "oneOf", "not", "if", "then", "else", "dependentRequired", "dependentSchemas", "patternProperties",
    "propertyNames", "unevaluatedProperties", "unevaluatedItems", "minProperties", "maxProperties", "contains",
    "minContains", "maxContains", "uniqueItems",
)  # fmt: skip


def require_strict(schema: Any) -> None:
    """Raise for the first violation of strict mode.

    Raises:
        ArgumentError: The message has the place and the remedy.
    """
    if not isinstance(schema, Mapping) or schema.get("type") != "object":
        raise ArgumentError('#: strict needs an object at the root; write {"type": "object", ...}')
    if "anyOf" in schema:
        raise ArgumentError("#: strict allows no anyOf at the root; put it into a property")
    waiting: list[tuple[Any, str, int]] = [(schema, "#", 0)]
    seen = 0
    while waiting:
        node, path, depth = waiting.pop()
        seen += 1
        if seen > MAX_WORK or depth > MAX_DEPTH:
            raise ArgumentError(f"{path}: the schema is too large or too deep; simplify it")
        _require(node, path)
        waiting.extend((child, f"{path}/{key}", depth + 1) for key, child in reversed(list(_children(node))))


def _require(node: Any, path: str) -> None:
    if not isinstance(node, Mapping):
        raise ArgumentError(f"{path}: strict needs a schema that is an object; got {node!r:.80}")
    for keyword in _REFUSED:
        if keyword in node:
            raise ArgumentError(f"{path}: strict does not permit {keyword!r}; remove it")
    if not any(keyword in node for keyword in ("type", "$ref", "anyOf", "enum", "const")):
        raise ArgumentError(f'{path}: strict needs a type; add "type"')
    reference = node.get("$ref")
    if reference is not None and not (isinstance(reference, str) and reference.startswith("#")):
        raise ArgumentError(
            f"{path}: strict needs references within the schema; move {reference!r} into $defs"
        )
    types = node.get("type")
    if types == "object" or (isinstance(types, list) and "object" in types) or "properties" in node:
        _require_closed(node, path)


def _require_closed(node: Mapping[str, Any], path: str) -> None:
    """Require that an object names all its keys and makes them required."""
    if node.get("additionalProperties") is not False:
        raise ArgumentError(f'{path}: strict needs "additionalProperties": false in every object; add it')
    names = node.get("properties") or {}
    listed = node.get("required")
    required = (
        dict.fromkeys(name for name in listed if isinstance(name, str)) if isinstance(listed, list) else {}
    )
    missing = [name for name in names if name not in required]
    if missing:
        raise ArgumentError(
            f'{path}: strict needs every property in "required"; add {missing[0]!r}. To make it optional, '
            'allow null: {"type": ["string", "null"]}'
        )
    extra = [name for name in required if name not in names]
    if extra:
        raise ArgumentError(
            f'{path}: "required" has {extra[0]!r}, which "properties" lacks; add or remove it'
        )


def _children(node: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The nested schemas, each with its path."""
    for keyword in ("properties", "$defs", "definitions"):
        found = node.get(keyword)
        for name, child in found.items() if isinstance(found, Mapping) else ():
            yield f"{keyword}/{escape_pointer(str(name))}", child
    for keyword in ("anyOf", "prefixItems"):
        found = node.get(keyword)
        for index, child in enumerate(found if isinstance(found, list) else ()):
            yield f"{keyword}/{index}", child
    if isinstance(node.get("items"), Mapping):
        yield "items", node["items"]
