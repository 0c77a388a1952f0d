"""Test cases: outputs with their expected results, in TOML files."""

from __future__ import annotations

import functools
import json
import os
import sys
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

from unspool.core.stream.message import Message
from unspool.formats.format_file import FormatFile, get_format

if sys.version_info >= (3, 11):
    import tomllib
else:  # pragma: no cover
    import tomli as tomllib

__all__ = ["Case", "load_cases", "parse_cases", "shipped_cases"]

_KEYS = {
    "name", "why", "issue", "input", "content", "reasoning", "calls", "malformed",
    "finish_reason", "expected_finish_reason", "options", "tools",
}  # fmt: skip


@dataclass(frozen=True)
class Case:
    """An output and its expected result.

    Attributes:
        calls: (name, arguments, status) of each call.
        ids: The id of each call, if the case states one; otherwise any id is right.
        malformed: The raw texts that are reported as malformed.
        finish_reason: The reason that is passed to the parser; `expected_finish_reason` is the message's.
        tools: The request's tools; None: unknown.
        options: Further options of `Parser`.
    """

    format: str
    name: str
    input: str
    content: str = ""
    reasoning: str = ""
    calls: tuple[tuple[str, str, str], ...] = ()
    malformed: tuple[str, ...] = ()
    finish_reason: str = "stop"
    expected_finish_reason: str | None = None
    tools: tuple[dict[str, Any], ...] | None = None
    options: dict[str, Any] = field(default_factory=dict, hash=False)
    ids: tuple[str | None, ...] = ()

    @classmethod
    def from_example(cls, file: FormatFile, example: dict[str, Any], number: int = 1) -> Case:
        """Create a case from an example of a format file. Its tools are names, or tables with name and
        parameters."""
        tools = example.get("tools")
        return cls(
            format=file.name,
            name=f"example {number}",
            input=example["input"],
            content=example.get("content", ""),
            reasoning=example.get("reasoning", ""),
            calls=_calls(example),
            tools=None if tools is None else tuple(map(_tool, tools)),
            options={"prompt": example["prompt"]} if "prompt" in example else {},
            ids=_ids(example),
        )

    def __str__(self) -> str:
        return f"{self.format}: {self.name}"

    def differences(self, message: Message) -> dict[str, tuple[Any, Any]]:
        """Return the differences as (expected, found), by field; empty if the message is right."""
        finish = self.expected_finish_reason
        if finish is None:
            complete = any(status == "complete" for _, _, status in self.calls)
            cut = any(status == "incomplete" for _, _, status in self.calls)
            stopped = self.finish_reason == "stop"
            finish = "tool_calls" if stopped and complete and not cut else self.finish_reason
        pairs = {
            "content": (self.content, message.content),
            "reasoning": (self.reasoning, message.reasoning),
            "calls": (
                list(self.calls),
                [(call.name, call.arguments, call.status) for call in message.tool_calls],
            ),
            "ids": (
                list(self.ids),
                [
                    call.id if id is not None else None
                    for call, id in zip(message.tool_calls, self.ids, strict=False)
                ],
            ),
            "malformed": (list(self.malformed), [item.text for item in message.malformed]),
            "finish_reason": (finish, message.finish_reason),
        }
        return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def load_cases(path: str | os.PathLike[str]) -> list[Case]:
    """Read a file of cases: `format`, `[[tool]]` tables, and `[[case]]` tables.

    Raises:
        ValueError: A case has an unknown key, or two cases have the same name.
    """
    file = Path(path)
    return parse_cases(file.read_text(encoding="utf-8"), file.name)


def parse_cases(text: str, source: str = "<cases>") -> list[Case]:
    """Read cases from TOML text."""
    data = tomllib.loads(text)
    declared = [_tool(tool) for tool in data.get("tool", ())]
    cases = []
    for entry in data["case"]:
        unknown = set(entry) - _KEYS
        if unknown:
            raise ValueError(f"{source}: case '{entry.get('name')}': unknown keys {unknown}")
        names = entry.get("tools")
        tools = declared if names is None else [t for t in declared if t["name"] in names]
        cases.append(
            Case(
                format=data["format"],
                name=entry["name"],
                input=entry["input"],
                content=entry.get("content", ""),
                reasoning=entry.get("reasoning", ""),
                calls=_calls(entry),
                malformed=tuple(entry.get("malformed", ())),
                finish_reason=entry.get("finish_reason", "stop"),
                expected_finish_reason=entry.get("expected_finish_reason"),
                tools=tuple(tools) if declared else None,
                options=entry.get("options", {}),
                ids=_ids(entry),
            )
        )
    doubled = {case.name for case in cases if sum(c.name == case.name for c in cases) > 1}
    if doubled:
        raise ValueError(f"{source}: two cases are named {sorted(doubled)}")
    return cases


def shipped_cases(format: str | None = None) -> list[Case]:
    """Return the cases in the package, for one format (a name or an alias) or for all."""
    wanted = None if format is None else get_format(format).name
    return [case for case in _all_shipped() if wanted in (None, case.format)]


@functools.cache
def _all_shipped() -> tuple[Case, ...]:
    folder = files("unspool.testing") / "formats"
    found = sorted(folder.iterdir(), key=lambda file: file.name)
    entries = [file for file in found if file.name.endswith(".toml")]
    return tuple(
        case for entry in entries for case in parse_cases(entry.read_text(encoding="utf-8"), entry.name)
    )


def _calls(entry: dict[str, Any]) -> tuple[tuple[str, str, str], ...]:
    return tuple(map(_call, entry.get("calls", ())))


def _call(call: Any) -> tuple[str, str, str]:
    if not isinstance(call, dict) or not all(isinstance(call.get(key), str) for key in ("name", "arguments")):
        raise ValueError(
            f"a call is a table with two texts, such as {{ name = \"f\", arguments = '{{}}' }}; got {call!r}"
        )
    _check_keys(call, ("name", "arguments", "status", "id"), "a call")
    return call["name"], call["arguments"], call.get("status", "complete")


def _ids(entry: dict[str, Any]) -> tuple[str | None, ...]:
    return tuple(call.get("id") for call in entry.get("calls", ()) if isinstance(call, dict))


def _check_keys(table: dict[str, Any], keys: tuple[str, ...], what: str) -> None:
    unknown = [key for key in table if key not in keys]
    if unknown:
        raise ValueError(f"{what} has the unknown key '{unknown[0]}'; use {', '.join(keys)}")


def _tool(tool: str | dict[str, Any]) -> dict[str, Any]:
    if isinstance(tool, str):
        return {"name": tool}
    if "name" not in tool:
        raise ValueError(f"a tool needs a name; got {tool!r}")
    _check_keys(tool, ("name", "parameters"), "a tool")
    parameters = tool.get("parameters", {})
    try:
        schema = json.loads(parameters) if isinstance(parameters, str) else parameters
    except json.JSONDecodeError as error:
        raise ValueError(f"the parameters of the tool '{tool['name']}' are not JSON: {error}") from None
    return {"name": tool["name"], "parameters": schema}
