"""Removes parts that no finite value matches, and unused definitions, from a normalised schema."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from unspool.errors import ArgumentError

__all__ = ["children", "name_of", "prune", "refuse_left_recursion", "with_children"]

MAX_WORK = 1_000_000
_LISTS = ("anyOf", "prefixItems")
_MAPS = ("properties", "patternProperties")
_PARTS = ("items", "additionalProperties")


def name_of(node: Any) -> str | None:
    """The definition that a node refers to."""
    return node["$ref"].rsplit("/", 1)[1] if isinstance(node, dict) and "$ref" in node else None


def children(node: Any) -> Iterator[Any]:
    """The schemas directly in a schema, and its definitions."""
    if not isinstance(node, dict):
        return
    for keyword in _LISTS:
        yield from node.get(keyword, ())
    for keyword in (*_MAPS, "$defs"):
        yield from node.get(keyword, {}).values()
    for keyword in _PARTS:
        if keyword in node:
            yield node[keyword]


def with_children(node: dict[str, Any], change: Callable[[Any], Any]) -> dict[str, Any]:
    """Return a copy of the schema with each schema in it changed, except definitions."""
    made = dict(node)
    for keyword in filter(node.__contains__, _LISTS):
        made[keyword] = [change(one) for one in node[keyword]]
    for keyword in filter(node.__contains__, _MAPS):
        made[keyword] = {name: change(one) for name, one in node[keyword].items()}
    for keyword in filter(node.__contains__, _PARTS):
        made[keyword] = change(node[keyword])
    return made


def refuse_left_recursion(definitions: dict[str, Any]) -> None:
    """Reject definitions that refer to themselves without an object or a list in between.

    Raises:
        ArgumentError: There is such a definition.
    """
    direct = {
        name: [other for part in [node, *_options(node)] if (other := name_of(part)) is not None]
        for name, node in definitions.items()
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


def _options(node: Any) -> list[Any]:
    return node.get("anyOf", []) if isinstance(node, dict) else []


def prune(root: Any, definitions: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Return the root and its definitions, without the parts that no finite value matches."""
    known = _inhabited(definitions)
    kept = {name: _without(definitions[name], known) for name in definitions if name in known}
    root = _without(root, known) if _has_value(root, known) else False
    needed: dict[str, Any] = {}
    waiting = [root]
    while waiting:
        node = waiting.pop()
        name = name_of(node)
        if name is not None and name not in needed:
            needed[name] = kept[name]
            waiting.append(kept[name])
        waiting.extend(children(node))
    return root, {name: needed[name] for name in kept if name in needed}


def _inhabited(definitions: dict[str, Any]) -> set[str]:
    """The names of the definitions that some finite value matches."""
    users: dict[str, set[str]] = {}
    sizes = {}
    for name, node in definitions.items():
        waiting, size = [node], 0
        while waiting:
            part = waiting.pop()
            size += 1
            other = name_of(part)
            if other is not None:
                users.setdefault(other, set()).add(name)
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


def _has_value(node: Any, known: set[str]) -> bool:
    """Whether a finite value matches the node, assuming that finite values match the known definitions."""
    if node is False:
        return False
    name = name_of(node)
    if name is not None:
        return name in known
    if "anyOf" in node:
        return any(_has_value(option, known) for option in node["anyOf"])
    if node.get("type") == "object":
        named = node.get("properties", {})
        return all(_has_value(named[key], known) for key in node.get("required", ())) and (
            not node.get("minProperties")
            or any(
                _has_value(value, known)
                for value in (*named.values(), *node.get("patternProperties", {}).values())
            )
            or _has_value(node["additionalProperties"], known)
        )
    least, prefix = node.get("minItems", 0), node.get("prefixItems", [])
    return all(_has_value(item, known) for item in prefix[:least]) and (
        least <= len(prefix) or _has_value(node.get("items", {}), known)
    )


def _without(node: Any, known: set[str]) -> Any:
    """Return a schema without the parts that no value matches; some value must match it."""
    if not isinstance(node, dict):
        return node
    if "anyOf" in node:
        left = [_without(option, known) for option in node["anyOf"] if _has_value(option, known)]
        return left[0] if len(left) == 1 else {"anyOf": left}
    if node.get("type") == "array":
        return _array_without(node, known)
    if node.get("type") != "object":
        return node
    kept = dict(node)

    def mapped(values: dict[str, Any], keeps: Callable[[Any], bool]) -> dict[str, Any]:
        return {
            key: _without(value, known) if _has_value(value, known) else False
            for key, value in values.items()
            if _has_value(value, known) or keeps(value)
        }

    others = node["additionalProperties"]
    kept["additionalProperties"] = _without(others, known) if _has_value(others, known) else False
    if "patternProperties" in node:
        kept["patternProperties"] = mapped(node["patternProperties"], lambda _: False)
        if not kept["patternProperties"]:
            del kept["patternProperties"]
            kept.setdefault("properties", {})
    if "properties" in node:
        is_open = kept["additionalProperties"] is not False
        kept["properties"] = mapped(node["properties"], lambda _: is_open)
    return kept


def _array_without(node: dict[str, Any], known: set[str]) -> Any:
    kept = dict(node)
    prefix = node.get("prefixItems", [])
    possible = next((i for i, item in enumerate(prefix) if not _has_value(item, known)), len(prefix))
    if possible < len(prefix) or ("items" in node and not _has_value(node["items"], known)):
        kept["maxItems"] = min(possible, node.get("maxItems", possible))
        kept.pop("items", None)
    elif "items" in node:
        kept["items"] = _without(node["items"], known)
    if prefix[:possible]:
        kept["prefixItems"] = [_without(item, known) for item in prefix[:possible]]
    else:
        kept.pop("prefixItems", None)
    return kept
