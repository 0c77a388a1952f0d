"""Values of a tool's schema as rules, for cases that an engine's own JSON cannot express."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from unspool.writing.grammar.json_schema import normalise
from unspool.writing.grammar.nodes import Node, Rules
from unspool.writing.grammar.result import Dropped
from unspool.writing.grammar.schema_rules import SchemaRules
from unspool.writing.grammar.written_values import WrittenValues

__all__ = ["value_rules"]


def value_rules(
    rules: Rules, written: WrittenValues, schema: Mapping[str, Any], root: Mapping[str, Any], path: str,
    dropped: list[Dropped],
) -> Node:  # fmt: skip
    """A value of the schema; references in it are relative to the root.

    Args:
        path: The schema's place, for entries in `dropped`.
    """
    document = {**schema, "$defs": root["$defs"]} if "$defs" in root else schema
    made = normalise(document, target="gbnf")
    dropped += [
        Dropped(f"{path}{one.path.removeprefix('#')}", one.keyword, one.reason) for one in made.dropped
    ]
    return SchemaRules(rules, written, made.schema).value()
