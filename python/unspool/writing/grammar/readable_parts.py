"""Checks that keys and listed texts parse back in calls of a format."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from unspool._core import FormatSource
from unspool.core.format.compile_format import compile_format
from unspool.core.stream.reading import read_chunks
from unspool.errors import ArgumentError
from unspool.writing.grammar.schema_prune import children
from unspool.writing.grammar.schema_types import resolve
from unspool.writing.grammar.tools import Tool
from unspool.writing.render.render import write_text

__all__ = ["check_parts"]


def check_parts(file: FormatSource, tools: Iterable[Tool]) -> None:
    """Reject a key or a listed text that would parse differently.

    Raises:
        ArgumentError: A parameter, or a value of one, has such a key or lists such a text.
    """
    for tool in tools:
        for kind, calls in _written(tool):
            if _are_read(file, calls):  # usually all of them parse back, in one call
                continue
            for part in calls.parts:
                if not _are_read(file, replace(calls, parts=(part,))):
                    raise ArgumentError(
                        f"this format cannot write the {kind} {part!r} of '{tool.name}': "
                        "it parses as another one; rename it"
                    )


@dataclass(frozen=True)
class _Calls:
    """Calls that show whether parts parse back; a part is a key, or a text that a schema lists.

    Attributes:
        schema: The JSON Schema of the arguments, as text; empty: derived from the arguments.
    """

    parts: tuple[str, ...]
    are_keys: bool
    are_nested: bool
    schema: str = ""

    def arguments(self) -> list[dict[str, Any]]:
        if self.are_keys:
            return [self._nested(dict.fromkeys(self.parts, 1))]
        return [self._nested({"a": part}) for part in self.parts]

    def plain(self) -> dict[str, Any]:
        """Arguments without such parts."""
        return self._nested({"a": 1})

    def _nested(self, value: dict[str, Any]) -> dict[str, Any]:
        return {"a": value} if self.are_nested else value


def _written(tool: Tool) -> Iterator[tuple[str, _Calls]]:
    inner = list(_inner(tool.schema))
    for is_nested, schemas in ((False, [tool.schema]), (True, inner)):
        keys = {key for schema in schemas for key in schema.get("properties", ())}
        yield "key", _Calls(tuple(sorted(keys)), True, is_nested)
    yield "text", _Calls(_listed(inner), False, True)
    for schema in tool.properties.values():
        texts = _listed(_alternatives(schema, tool.schema))
        if texts:
            whole = {"properties": {"a": schema}, "$defs": tool.schema.get("$defs", {})}
            yield "text", _Calls(texts, False, False, json.dumps(whole, sort_keys=True))


def _alternatives(schema: Any, root: Any) -> Iterator[Mapping[str, Any]]:
    """A schema and its alternatives."""
    waiting, seen = [schema], list[Any]()
    for one in waiting:
        found = resolve(one, root)
        if isinstance(found, Mapping) and found not in seen:
            seen.append(found)
            waiting += found.get("anyOf", ())
            yield found


def _inner(schema: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The schemas of nested values in the arguments."""
    waiting = [*schema.get("properties", {}).values(), *schema.get("$defs", {}).values()]
    waiting += [schema.get("additionalProperties"), *schema.get("anyOf", ())]
    for one in waiting:
        if isinstance(one, Mapping):
            yield one
            waiting += children(one)


def _listed(schemas: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """The strings that the schemas list."""
    values = [value for schema in schemas for value in schema.get("enum", [schema.get("const")])]
    return tuple(sorted({value for value in values if isinstance(value, str)}))


@functools.lru_cache(maxsize=1024)
def _are_read(format: FormatSource, calls: _Calls) -> bool:
    """Whether the calls parse as intended; True if even calls without such parts do not."""
    read = all(_is_read(format, one, calls.schema) for one in calls.arguments())
    return read or not _is_read(format, calls.plain())


def _is_read(format: FormatSource, arguments: dict[str, Any], schema: str = "") -> bool:
    parameters = json.loads(schema) if schema else _schema_of(arguments)
    tools = [{"name": "f", "parameters": parameters}]
    text = write_text(format, {"tool_calls": [{"name": "f", "arguments": arguments}]})
    calls = read_chunks(compile_format(format), [text], tools).tool_calls
    return len(calls) == 1 and calls[0].is_complete and json.loads(calls[0].arguments) == arguments


def _schema_of(value: Any) -> dict[str, Any]:
    if isinstance(value, dict):
        return {"type": "object", "properties": {key: _schema_of(one) for key, one in value.items()}}
    return {"type": "string" if isinstance(value, str) else "integer"}
