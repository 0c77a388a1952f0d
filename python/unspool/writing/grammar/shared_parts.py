"""Writes equal parts of a schema once: xgrammar compiles each by itself, and its time grows with the square of them."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from unspool.writing.grammar.schema_prune import children, with_children

__all__ = ["share_parts"]

# Of these, xgrammar has a rule that is made once.
_CHEAP: tuple[dict[str, str], ...] = (
    {},
    {"type": "string"},
    {"type": "integer"},
    {"type": "boolean"},
    {"type": "null"},
)


def share_parts(schema: dict[str, Any]) -> dict[str, Any]:
    """A normalised schema in which each part that comes again is a definition."""
    names: dict[str, str] = {}
    counts = Counter[str]()
    _count(schema, counts)
    taken = schema.get("$defs", {})
    for text, count in counts.items():
        if count > 1:
            name = f"shared{len(names)}"
            while name in taken:
                name += "_"
            names[text] = name
    if not names:
        return schema
    definitions: dict[str, Any] = {}
    made = _rewritten(schema, names, definitions)
    return {**made, "$defs": {**made.get("$defs", {}), **definitions}}


def _is_shared(part: Any) -> bool:
    return isinstance(part, dict) and part not in _CHEAP and not part.keys() & {"$ref", "$defs", "enum"}


def _count(schema: Any, counts: Counter[str]) -> None:
    """Count the parts of a schema by their text. What is inside of equal parts is counted once."""
    for part in children(schema):
        if _is_shared(part):
            text = json.dumps(part)
            counts[text] += 1
            if counts[text] > 1:
                continue
        _count(part, counts)


def _rewritten(schema: Any, names: dict[str, str], definitions: dict[str, Any]) -> Any:
    """The schema with references to definitions, which are added."""
    if not isinstance(schema, dict):
        return schema

    def replaced(part: Any) -> Any:
        name = names.get(json.dumps(part)) if _is_shared(part) else None
        if name is None:
            return _rewritten(part, names, definitions)
        if name not in definitions:
            definitions[name] = _rewritten(part, names, definitions)
        return {"$ref": f"#/$defs/{name}"}

    made = with_children(schema, replaced)
    if "$defs" in made:
        made["$defs"] = {name: _rewritten(part, names, definitions) for name, part in made["$defs"].items()}
    return made
