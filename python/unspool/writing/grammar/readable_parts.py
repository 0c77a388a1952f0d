"""Checks that keys and listed texts parse back in calls of a format."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from unspool._core import FormatSource
from unspool.core.format.compile_format import compile_format
from unspool.core.schema.schema import Listed, ObjectOf, OneOf, Schema, children
from unspool.core.schema.schema_json import schema_json
from unspool.core.stream.reading import read_chunks
from unspool.errors import ArgumentError
from unspool.writing.grammar.tools import Tool
from unspool.writing.render.render import write_text
from unspool.writing.schemas.schema_types import alternatives, whole_type

__all__ = ["check_parts"]


def check_parts(file: FormatSource, tools: Iterable[Tool]) -> None:
    """Reject tools with a key or a listed text that would parse differently.

    Raises:
        ArgumentError: A parameter, or a value of a parameter, has such a key or lists such a text, or there are too
            many keys and listed texts.
    """
    checked = 0
    for tool in tools:
        for kind, calls in _written(tool):
            checked += len(calls.parts)
            if checked > MAX_PARTS:
                raise ArgumentError(
                    f"the tools have more than {MAX_PARTS:,} keys and listed texts, counted where they are used; "
                    "offer fewer tools, or make some not strict"
                )
            part = _misread(file, calls)
            if part is not None:
                raise ArgumentError(
                    f"this format cannot write the {kind} {part[:_MAX_SHOWN]!r} of '{tool.name}': "
                    "it parses as another one; rename it"
                )


MAX_PARTS = 20_000
#: Number of parts that are checked together: one call may have that many keys, and one message that many calls.
_MAX_TOGETHER = 256
#: Maximum number of characters of a part in an error message.
_MAX_SHOWN = 100


def _misread(file: FormatSource, calls: _Calls) -> str | None:
    """Return a part that does not parse back, or None. Usually all do; only otherwise, halves are checked."""
    starts = reversed(range(0, len(calls.parts), _MAX_TOGETHER))
    waiting = [calls.parts[start : start + _MAX_TOGETHER] for start in starts]
    while waiting:
        parts = waiting.pop()
        if _are_read(file, replace(calls, parts=parts)):
            continue
        if len(parts) == 1:
            return parts[0]
        middle = len(parts) // 2
        waiting += [parts[middle:], parts[:middle]]
    return None


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
        """Return arguments without any of these parts."""
        return self._nested({"a": 1})

    def _nested(self, value: dict[str, Any]) -> dict[str, Any]:
        return {"a": value} if self.are_nested else value


def _written(tool: Tool) -> Iterator[tuple[str, _Calls]]:
    inner = list(_inner(tool))
    nested = {key for schema in inner if isinstance(schema, ObjectOf) for key, _ in schema.members}
    for is_nested, keys in ((False, set(tool.properties)), (True, nested)):
        yield "key", _Calls(tuple(sorted(keys)), True, is_nested)
    yield "text", _Calls(_listed(inner), False, True)
    for schema in tool.properties.values():
        options = alternatives(schema, tool.definitions)
        texts = _listed(options)
        if texts:
            shown = OneOf(tuple(map(_shown, options))) if len(options) > 1 else _shown(options[0])
            yield "text", _Calls(texts, False, False, json.dumps(schema_json(ObjectOf((("a", shown),)))))


def _shown(schema: Schema) -> Schema:
    """What decides whether a value is a text or JSON."""
    return schema if isinstance(schema, Listed) else whole_type(schema)


def _inner(tool: Tool) -> Iterator[Schema]:
    """The schemas of nested values in the arguments."""
    waiting = [*children(tool.schema), *tool.definitions.values()]
    for one in waiting:
        yield one
        waiting += children(one)


def _listed(schemas: Iterable[Schema]) -> tuple[str, ...]:
    """The strings that the schemas list."""
    values = [value for schema in schemas if isinstance(schema, Listed) for value in schema.values]
    return tuple(sorted({value for value in values if isinstance(value, str)}))


def _are_read(format: FormatSource, calls: _Calls) -> bool:
    """Whether the calls parse as intended; True if even calls without such parts do not."""
    is_short = sum(map(len, calls.parts)) + len(calls.schema) < _MAX_KEPT
    return (_known_to_be_read if is_short else _judge)(format, calls)


#: Results for longer calls are not cached, so that a client's names do not stay in memory.
_MAX_KEPT = 4096


def _judge(format: FormatSource, calls: _Calls) -> bool:
    return _is_read(format, calls.arguments(), calls.schema) or not _is_read(format, [calls.plain()])


_known_to_be_read = functools.lru_cache(maxsize=1024)(_judge)


def _is_read(format: FormatSource, wanted: list[dict[str, Any]], schema: str = "") -> bool:
    """Whether calls with these arguments parse back, written in one message."""
    parameters = json.loads(schema) if schema else _schema_of(wanted[0])
    tools = [{"name": "f", "parameters": parameters}]
    text = write_text(format, {"tool_calls": [{"name": "f", "arguments": one} for one in wanted]})
    calls = read_chunks(compile_format(format), [text], tools).tool_calls
    return (
        all(call.is_complete for call in calls) and [json.loads(call.arguments) for call in calls] == wanted
    )


def _schema_of(value: Any) -> dict[str, Any]:
    if isinstance(value, dict):
        return {"type": "object", "properties": {key: _schema_of(one) for key, one in value.items()}}
    return {"type": "string" if isinstance(value, str) else "integer"}
