"""Bounds for numbers: a matcher's JSON allows any size, but clients read doubles."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from unspool.writing.grammar.schema_prune import with_children

__all__ = ["bound_numbers"]

_MOST = 10**18


def bound_numbers(schema: Any) -> dict[str, Any]:
    """A normalised schema with a minimum and a maximum for each number that has none.

    A value of any type may be or contain a number; such a schema becomes a definition with the bounds.
    """
    whole = {} if schema is True else dict(schema)
    definitions = whole.pop("$defs", {})
    bounds = _Bounds(definitions)
    made: dict[str, Any] = bounds.of(whole)
    definitions = {name: bounds.of(one) for name, one in definitions.items()}
    if bounds.met_any:
        definitions[bounds.name] = bounds.any_value()
    return {**made, "$defs": definitions} if definitions else made


class _Bounds:
    def __init__(self, taken: Mapping[str, Any]) -> None:
        self.name = "any_value"
        while self.name in taken:
            self.name += "_"
        self.met_any = False

    def of(self, schema: Any) -> Any:
        if schema is True or schema == {}:
            self.met_any = True
            return self._any()
        if not isinstance(schema, dict) or "enum" in schema or "const" in schema:
            return schema
        made = with_children(schema, self.of)
        return _bounded(made) if made.get("type") in ("number", "integer") else made

    def any_value(self) -> dict[str, Any]:
        kinds: list[dict[str, Any]] = [
            {"type": "string"},
            _bounded({"type": "number"}),
            {"type": "boolean"},
            {"type": "null"},
            {"type": "array", "items": self._any()},
            {"type": "object", "additionalProperties": self._any()},
        ]
        return {"anyOf": kinds}

    def _any(self) -> dict[str, Any]:
        return {"$ref": f"#/$defs/{self.name}"}


def _bounded(schema: dict[str, Any]) -> dict[str, Any]:
    made = dict(schema)
    if "minimum" not in made and "exclusiveMinimum" not in made:
        made["minimum"] = -_MOST
    if "maximum" not in made and "exclusiveMaximum" not in made:
        made["maximum"] = _MOST
    return made
