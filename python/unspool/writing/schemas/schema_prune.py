"""Removes parts that no finite value matches, and unused definitions, from a schema."""

from __future__ import annotations

from collections import deque
from dataclasses import replace

from unspool.core.schema.schema import (
    Definitions,
    ListOf,
    Named,
    Nothing,
    ObjectOf,
    OneOf,
    Schema,
    children,
)
from unspool.errors import ArgumentError

__all__ = ["prune", "refuse_left_recursion"]

MAX_WORK = 1_000_000


def refuse_left_recursion(definitions: Definitions) -> None:
    """Reject definitions that refer to themselves without an object or a list in between.

    Raises:
        ArgumentError: There is such a definition.
    """
    direct = {
        name: [part.name for part in [schema, *_options(schema)] if isinstance(part, Named)]
        for name, schema in definitions.items()
    }
    waiting = {name: len(targets) for name, targets in direct.items()}
    users: dict[str, list[str]] = {name: [] for name in definitions}
    for name, targets in direct.items():
        for target in targets:
            users[target].append(name)
    free = [name for name, count in waiting.items() if count == 0]
    done = 0
    while free:
        done += 1
        for user in users[free.pop()]:
            waiting[user] -= 1
            if waiting[user] == 0:
                free.append(user)
    if done < len(definitions):
        raise ArgumentError(
            "a schema refers to itself without an object or a list between; remove that reference"
        )


def _options(schema: Schema) -> tuple[Schema, ...]:
    return schema.options if isinstance(schema, OneOf) else ()


def prune(root: Schema, definitions: Definitions) -> tuple[Schema, dict[str, Schema]]:
    """Return the root and its definitions, without the parts that no finite value matches."""
    known = _inhabited(definitions)
    kept = {name: _without(definitions[name], known) for name in definitions if name in known}
    root = _without(root, known) if _has_value(root, known) else Nothing(_why(root, definitions, known))
    needed: dict[str, Schema] = {}
    waiting = [root]
    while waiting:
        schema = waiting.pop()
        if isinstance(schema, Named) and schema.name not in needed:
            needed[schema.name] = kept[schema.name]
            waiting.append(kept[schema.name])
        waiting.extend(children(schema))
    return root, {name: needed[name] for name in kept if name in needed}


def _why(schema: Schema, definitions: Definitions, known: set[str]) -> str:
    """Why no finite value matches the schema: the reason of the first part that a value needs."""
    seen = set[str]()
    while not isinstance(schema, Nothing):
        needed: list[Schema] = []
        match schema:
            case Named(name) if name not in seen:
                seen.add(name)
                needed = [definitions[name]]
            case OneOf(options):
                needed = [*options]
            case ObjectOf():
                needed = [schema.named[key] for key in schema.required]
            case ListOf(first=first, shortest=least):
                needed = [*first[:least], *([schema.others] if least > len(first) else [])]
        impossible = next((part for part in needed if not _has_value(part, known)), None)
        if impossible is None:
            return "it refers to itself without an end, so no value is finite"
        schema = impossible
    return schema.why


def _no_value(schema: Schema) -> Nothing:
    return schema if isinstance(schema, Nothing) else Nothing("no finite value matches it")


def _inhabited(definitions: Definitions) -> set[str]:
    """The names of the definitions that some finite value matches."""
    users: dict[str, set[str]] = {}
    sizes = {}
    for name, schema in definitions.items():
        waiting, size = [schema], 0
        while waiting:
            part = waiting.pop()
            size += 1
            if isinstance(part, Named):
                users.setdefault(part.name, set()).add(name)
            waiting.extend(children(part))
        sizes[name] = size
    known: set[str] = set()
    queue, work = deque(definitions), 0
    while queue:
        name = queue.popleft()
        work += sizes[name]
        if work > MAX_WORK:
            raise ArgumentError("the definitions of the schema refer to one another too often; simplify it")
        if name not in known and _has_value(definitions[name], known):
            known.add(name)
            queue.extend(users.get(name, ()))
    return known


def _has_value(schema: Schema, known: set[str]) -> bool:
    """Whether a finite value matches the schema, assuming that finite values match the known definitions."""
    match schema:
        case Nothing():
            return False
        case Named(name):
            return name in known
        case OneOf(options):
            return any(_has_value(option, known) for option in options)
        case ObjectOf():
            return all(_has_value(schema.named[key], known) for key in schema.required) and (
                not schema.fewest or any(_has_value(value, known) for value in children(schema))
            )
        case ListOf(first=first, shortest=least):
            return all(_has_value(item, known) for item in first[:least]) and (
                least <= len(first) or _has_value(schema.others, known)
            )
    return True


def _without(schema: Schema, known: set[str]) -> Schema:
    """Return a schema without the parts that no value matches; some value must match it."""
    match schema:
        case OneOf(options):
            left = tuple(_without(option, known) for option in options if _has_value(option, known))
            return left[0] if len(left) == 1 else OneOf(left)
        case ListOf():
            return _list_without(schema, known)
        case ObjectOf():
            return _object_without(schema, known)
    return schema


def _object_without(schema: ObjectOf, known: set[str]) -> ObjectOf:
    others = _without(schema.others, known) if _has_value(schema.others, known) else _no_value(schema.others)
    is_closed = isinstance(others, Nothing)
    members = []
    for key, value in schema.members:
        if _has_value(value, known):
            members.append((key, _without(value, known)))
        elif not is_closed and schema.pattern is None:
            members.append((key, _no_value(value)))
    return replace(
        schema, members=tuple(members), others=others, pattern=None if is_closed else schema.pattern
    )


def _list_without(schema: ListOf, known: set[str]) -> ListOf:
    first, longest = schema.first, schema.longest
    possible = next((i for i, item in enumerate(first) if not _has_value(item, known)), len(first))
    kept = tuple(_without(item, known) for item in first[:possible])
    if possible == len(first) and (not schema.has_others or _has_value(schema.others, known)):
        return replace(schema, first=kept, others=_without(schema.others, known))
    longest = possible if longest is None else min(possible, longest)
    return replace(schema, first=kept, others=_no_value(schema.others), longest=longest)
