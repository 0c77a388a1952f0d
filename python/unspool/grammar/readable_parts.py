"""Keys and listed texts that a format can write: the parser reads a call with them back."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from unspool.errors import ArgumentError
from unspool.format_files import FormatFile
from unspool.format_key import FormatKey
from unspool.grammar.tools import Tool
from unspool.parser import parse
from unspool.testing.writer import write_answer

__all__ = ["check_parts"]


def check_parts(file: FormatFile, tools: Iterable[Tool]) -> None:
    """Refuse a key or a listed text that would be read as another one.

    Raises:
        ArgumentError: A parameter, or a value of one, has such a key or lists such a text.
    """
    format = FormatKey(file)
    for tool in tools:
        for is_nested in (False, True):
            schemas = list(_inner(tool.schema)) if is_nested else [tool.schema]
            values = list(_inner(tool.schema)) if is_nested else list(tool.properties.values())
            keys = sorted({key for schema in schemas for key in schema.get("properties", ())})
            texts = sorted({text for schema in values for text in _listed(schema)})
            for kind, parts in (("key", keys), ("text", texts)):
                refused = _first_refused(format, kind, tuple(parts), is_nested)
                if refused is not None:
                    raise ArgumentError(
                        f"this format cannot write the {kind} {refused!r} of '{tool.name}': "
                        "it is read as another; rename it"
                    )


def _first_refused(format: FormatKey, kind: str, parts: tuple[str, ...], is_nested: bool) -> str | None:
    if _are_read(format, kind, parts, is_nested):  # mostly all of them are, in one call
        return None
    return next((part for part in parts if not _are_read(format, kind, (part,), is_nested)), None)


def _inner(schema: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The schemas of values within the arguments."""
    waiting = [*schema.get("properties", {}).values(), *schema.get("$defs", {}).values()]
    waiting += [schema.get("additionalProperties"), *schema.get("anyOf", ())]
    for one in waiting:
        if isinstance(one, Mapping):
            yield one
            for key in ("properties", "patternProperties"):
                waiting += one.get(key, {}).values()
            for key in ("anyOf", "prefixItems"):
                waiting += one.get(key, ())
            waiting += [one.get("items"), one.get("additionalProperties")]


def _listed(schema: Any) -> Iterator[str]:
    if isinstance(schema, Mapping):
        values = schema.get("enum", [schema.get("const")])
        yield from (value for value in values if isinstance(value, str))


_PLAIN: dict[str, Any] = {"a": 1}
_PLAIN_NESTED: dict[str, Any] = {"a": _PLAIN}


@functools.lru_cache(maxsize=1024)
def _are_read(format: FormatKey, kind: str, parts: tuple[str, ...], is_nested: bool) -> bool:
    """Whether calls with these parts are read as they were meant; True where calls have no such parts at all."""
    calls: list[dict[str, Any]] = (
        [dict.fromkeys(parts, 1)] if kind == "key" else [{"a": part} for part in parts]
    )
    read = all(_is_read(format, {"a": call} if is_nested else call) for call in calls)
    return read or not _is_read(format, _PLAIN_NESTED if is_nested else _PLAIN)


def _is_read(format: FormatKey, arguments: dict[str, Any]) -> bool:
    tools = [{"name": "f", "parameters": _schema_of(arguments)}]
    text = write_answer(format.file, "", "", [("f", arguments)])
    calls = parse(text, format.file, tools=tools).tool_calls
    return len(calls) == 1 and calls[0].is_complete and json.loads(calls[0].arguments) == arguments


def _schema_of(value: Any) -> dict[str, Any]:
    if isinstance(value, dict):
        return {"type": "object", "properties": {key: _schema_of(one) for key, one in value.items()}}
    return {"type": "string" if isinstance(value, str) else "integer"}
