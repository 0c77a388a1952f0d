"""Shows a replay as text, as JSON, or as a case for tests/formats."""

from __future__ import annotations

import json
from typing import Any

from unspool.streams.recording.replay import Replay

__all__ = ["case_of", "json_of", "text_of"]

_MOST = 60


def text_of(replay: Replay) -> str:
    """Return the regions and each field that differs, as text."""
    lines = [f"{replay.format}: {'differs' if replay.differences else 'the same'}"]
    lines += [f"  {kind:12} {_short(text)}" for kind, text in replay.regions]
    for name, (recorded, found) in replay.differences.items():
        lines += [f"{name}:", f"  - {_json(recorded)}", f"  + {_json(found)}"]
    return "\n".join(lines)


def json_of(replay: Replay) -> str:
    """Return the regions and each field that differs, as one JSON object."""
    differences = {
        name: {"recorded": recorded, "found": found} for name, (recorded, found) in replay.differences.items()
    }
    return _json({"format": replay.format, "differences": differences, "regions": replay.regions})


def case_of(replay: Replay) -> str:
    """Return a file of cases with the current result as the expected one; correct it by hand where it is wrong."""
    result, reason = replay.found, replay.found["finish_reason"]
    case: dict[str, Any] = {
        "name": "recorded",
        "input": replay.input,
        "content": result["content"],
        "reasoning": result["reasoning"],
        "calls": result["calls"],
        "malformed": result["malformed"],
        "finish_reason": "stop" if reason in (None, "tool_calls") else reason,
        "expected_finish_reason": reason,
        "options": replay.options,
    }
    tools = [
        f"[[tool]]\nname = {_toml(tool['name'])}\nparameters = {_toml(json.dumps(tool['parameters']))}\n"
        for tool in replay.tools or ()
    ]
    lines = [f"{name} = {_toml(value)}" for name, value in case.items() if value not in ("", [], {}, None)]
    return "\n".join([f"format = {_toml(replay.format)}\n", *tools, "[[case]]", *lines])


def _short(text: str) -> str:
    return _json(text if len(text) <= _MOST else f"{text[: _MOST - 20]} … {text[-19:]}")


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _toml(value: Any) -> str:
    """Convert a value to TOML, whose strings, numbers and lists are those of JSON except for one control character."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_json(name)} = {_toml(item)}" for name, item in value.items()) + " }"
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    return _json(value).replace("\x7f", "\\u007f")
