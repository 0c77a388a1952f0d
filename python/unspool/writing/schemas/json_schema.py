"""Reads JSON Schemas into types, so that rules can spell out their values.

Keywords that a grammar cannot enforce are dropped and listed; `check` compares the finished value with the
original schema.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from unspool.core.schema.schema import Definitions, Named, Nothing, Schema
from unspool.errors import ArgumentError
from unspool.writing.grammar_result import Dropped, Syntax
from unspool.writing.schemas.schema_budget import check_members, check_source
from unspool.writing.schemas.schema_merge import Merger
from unspool.writing.schemas.schema_overlap import overlap
from unspool.writing.schemas.schema_prune import prune, refuse_left_recursion
from unspool.writing.schemas.schema_scalars import LONGEST
from unspool.writing.schemas.schema_strict import require_strict

__all__ = ["NormalisedSchema", "normalise", "normalise_arguments"]

Source = Mapping[str, Any] | bool | None


@dataclass(frozen=True)
class NormalisedSchema:
    """A schema that some value matches, its definitions, and the keywords that were dropped."""

    schema: Schema
    definitions: Definitions
    dropped: tuple[Dropped, ...]
    member_count: int
    """The number of its properties, listed values, alternatives, and items with individual schemas."""


def normalise(
    schema: Source, *, syntax: Syntax = "lark", strict: bool = False, more_keys: bool = False
) -> NormalisedSchema:
    """Read a schema for a grammar in a syntax.

    Args:
        schema: None means any object, as in `{"type": "json_object"}`.
        syntax: The syntax of the grammar; engines differ in how many characters of a string they can count.
        strict: Raise if OpenAI's strict mode would reject the schema.
        more_keys: Allow further keys in an object that has `properties` but no `additionalProperties`. JSON
            Schema allows them, but models usually should not write them.

    Raises:
        ArgumentError: The schema is malformed, too large, matched by no value, or not strict.
    """
    if schema is None:
        schema = {"type": "object"}
    check_source(schema)
    if strict:
        require_strict(schema)
    return _normalise(Merger(schema, LONGEST[syntax], more_keys=more_keys))


def normalise_arguments(parameters: Source, *, syntax: Syntax = "lark") -> NormalisedSchema:
    """Read a tool's `parameters`: an object schema; None or {} means any object.

    Raises:
        ArgumentError: As in `normalise`.
    """
    check_source(parameters)
    return _normalise(Merger(True if parameters is None else parameters, LONGEST[syntax]), {"type": "object"})


def _normalise(merger: Merger, *beside: Mapping[str, Any]) -> NormalisedSchema:
    try:
        return _finish(merger, merger.merge_document(*beside))
    except RecursionError:  # possible at any depth, because the caller's stack counts too
        raise ArgumentError("the schema nests too deeply; use $defs, or simplify it") from None


def _finish(merger: Merger, root: Schema) -> NormalisedSchema:
    definitions: Definitions = merger.definitions
    refuse_left_recursion(definitions)
    for part, choices in merger.exclusive:
        if merger.is_implied or overlap(choices, definitions):
            merger.parts.drop(part, "oneOf", "read as anyOf: a value may fit more than one")
    while isinstance(root, Named):
        root = definitions[root.name]
    root, definitions = prune(root, definitions)
    if isinstance(root, Nothing):
        raise ArgumentError(f"no value fits the schema: {root.why}")
    count = check_members(root, definitions)
    return NormalisedSchema(root, definitions, tuple(merger.parts.dropped.values()), count)
