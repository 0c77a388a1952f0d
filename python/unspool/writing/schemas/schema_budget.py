"""Limits on the size of a schema, so that its grammar is built and compiled in bounded time, memory and stack."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from unspool.core.schema.keywords import ANNOTATIONS
from unspool.core.schema.schema import Definitions, Listed, ListOf, Named, ObjectOf, OneOf, Schema, children
from unspool.errors import ArgumentError

__all__ = ["MAX_MEMBERS", "check_members", "check_source"]

#: Limits of a schema as the client wrote it: number of keywords, names and values; and of letters in names and values.
MAX_ENTRIES = 50_000
MAX_LETTERS = 200_000
#: Maximum number of a schema's properties, listed values, alternatives, and items with individual schemas. The grammar
#: for that many takes one or two seconds.
MAX_MEMBERS = 3_000
#: Engines compile by recursion: llguidance needs about 5 KiB of stack for each level, and a thread often has 8 MiB.
MAX_LEVELS = 400


def check_source(schema: Any) -> None:
    """Raise ArgumentError if a schema is too large to be read at all."""
    waiting, entries, letters = [schema], 0, 0
    while waiting:
        node = waiting.pop()
        if isinstance(node, str):
            letters += len(node)
        elif isinstance(node, Mapping):
            entries += len(node)
            letters += sum(len(key) for key in node if isinstance(key, str))
            waiting += [
                value
                for key, value in node.items()
                if not (isinstance(key, str) and isinstance(value, str) and key in ANNOTATIONS)
            ]
        elif isinstance(node, (list, tuple)):
            entries += len(node)
            waiting += node
        if entries > MAX_ENTRIES:
            raise ArgumentError(f"the schema has more than {MAX_ENTRIES:,} keywords and values; shorten it")
        if letters > MAX_LETTERS:
            raise ArgumentError(f"the names and values of the schema have more than {MAX_LETTERS:,} letters")


def check_members(root: Schema, definitions: Definitions) -> int:
    """Return the number of a schema's members.

    Raises:
        ArgumentError: There are too many, or the definitions refer to one another too deeply.
    """
    members = 0
    waiting, seen = [(root, 1)], set[str]()
    while waiting:  # in the order in which engines compile
        schema, level = waiting.pop()
        if level > MAX_LEVELS:
            raise ArgumentError(f"the schema's definitions lead to one another over {MAX_LEVELS} levels")
        match schema:
            case Named(name):
                if name not in seen:
                    seen.add(name)
                    waiting.append((definitions[name], level + 1))
            case Listed(values):
                members += max(len(values), 1) - 1
            case OneOf(options):
                members += max(len(options), 1) - 1
            case ObjectOf():
                members += len(schema.members)
            case ListOf():
                members += len(schema.first)
        if members > MAX_MEMBERS:
            raise ArgumentError(
                f"the schema has more than {MAX_MEMBERS:,} properties, listed values and alternatives; shorten it"
            )
        waiting += [(child, level + 1) for child in reversed(list(children(schema)))]
    return members
