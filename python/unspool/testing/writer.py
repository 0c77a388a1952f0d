"""Writes an answer as a format's model does, from what the format's file says."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable
from typing import Any

from unspool.format_files import FormatFile

__all__ = ["write_answer"]

Call = tuple[str, dict[str, Any]]


def write_answer(
    file: FormatFile, reasoning: str, content: str, calls: Iterable[Call], style: int = 0
) -> str:
    """The text of reasoning, an answer and calls, in the format's own markers.

    Args:
        style: Which of the file's kinds of calls is written, counted from 0 and around.
    """
    made = list(calls)
    head = _reasoning(file.description, reasoning)
    kinds = file.description.get("call", [])
    if not kinds or not made:
        return head + content
    kind = kinds[style % len(kinds)]
    if "bare" in kind and "fenced" not in kind and (head or content):
        kind = next((other for other in kinds if "bare" not in other), kind)
    section = file.description.get("section")
    body = _calls(file.description, kind, made)
    if section:
        body = section["open"][0] + section.get("open_after", "") + body + section["close"][0]
    if kind.get("fenced") and (head or content):
        body = f"\n```json\n{body}\n```"
    return head + content + body


def _first(table: dict[str, Any], key: str) -> str:
    """The first text of a marker, which is how it is written; "" where there is none."""
    return str(table.get(key, [""])[0])


def _reasoning(description: dict[str, Any], text: str) -> str:
    table = description.get("reasoning")
    if not table:
        return ""
    opener = (
        ""
        if table.get("starts_open")
        else _first(table, "open") + str(table.get("label", "")) + str(table.get("open_after", ""))
    )
    if not text and opener:
        return ""
    closer = str(table.get("close_before", "")) + _first(table, "close") + str(table.get("close_after", ""))
    return opener + text + closer


def _calls(description: dict[str, Any], kind: dict[str, Any], made: list[Call]) -> str:
    body = str(kind.get("body", "json_call"))
    opener = _first(kind, "open")
    closer = "" if kind.get("fenced") else _first(kind, "close")
    if body == "json_call":
        return _json_calls(kind, made, opener, closer)
    if body == "pythonic":
        return opener + "[" + ", ".join(_python_call(*call) for call in made) + "]" + closer
    written = ""
    for index, (name, arguments) in enumerate(made):
        written += _opener(description, kind, name, index, opener) + _WRITERS[body](kind, arguments) + closer
    return written


def _json_calls(kind: dict[str, Any], made: list[Call], opener: str, closer: str) -> str:
    keys = kind.get("json_call", {})
    name_key = keys.get("name_keys", ["name"])[0]
    arguments_key = keys.get("arguments_keys", ["arguments"])[0]
    objects = [
        {name: arguments} if keys.get("name_is_key") else {name_key: name, arguments_key: arguments}
        for name, arguments in made
    ]
    texts = [json.dumps(item, ensure_ascii=index % 2 == 0) for index, item in enumerate(objects)]
    if "[" in kind.get("starts", ""):
        return f"{opener}[{', '.join(texts)}]{closer}"
    if not opener:
        return "; ".join(texts)
    return "\n".join(f"{opener}\n{text}\n{closer}" for text in texts)


def _opener(description: dict[str, Any], kind: dict[str, Any], name: str, index: int, opener: str) -> str:
    if kind.get("by_recipient"):
        header = next(item for item in description["markup"] if "recipient" in item)
        prefix = kind.get("name_prefix", "")
        return f"{header['open'][0]} {header['recipient']}{prefix}{name}{header['close'][0]}"
    number = f":{index}" if kind.get("name_is_id") else ""
    text = str(kind.get("name_prefix", "")) + name + number
    return opener + _quoted(opener, text) + _first(kind, "name_close")


def _quoted(opener: str, name: str) -> str:
    """A name, in quotes where it is the value of an attribute."""
    return f'"{name}"' if opener.endswith("=") and " " in opener else name


def _json_arguments(_: dict[str, Any], arguments: dict[str, Any]) -> str:
    return json.dumps(arguments, ensure_ascii=False)


def _literal_arguments(kind: dict[str, Any], arguments: dict[str, Any]) -> str:
    quote = _first(kind, "quotes")

    def write(value: Any) -> str:
        if isinstance(value, str):
            return quote + value + quote
        if isinstance(value, dict):
            return "{" + ",".join(f"{write(key)}:{write(item)}" for key, item in value.items()) + "}"
        if isinstance(value, list):
            return "[" + ",".join(map(write, value)) + "]"
        return json.dumps(value)

    return "{" + ",".join(f"{key}:{write(value)}" for key, value in arguments.items()) + "}"


def _python_call(name: str, arguments: dict[str, Any]) -> str:
    return f"{name}({', '.join(f'{key}={value!r}' for key, value in arguments.items())})"


def _xml_parameters(kind: dict[str, Any], arguments: dict[str, Any]) -> str:
    tags = kind["xml_parameters"]
    return "".join(_parameter(tags, key, value) for key, value in arguments.items())


def _parameter(tags: dict[str, Any], key: str, value: Any) -> str:
    is_text = isinstance(value, str)
    text = value if is_text else json.dumps(value, ensure_ascii=False)
    if tags.get("python_values") and isinstance(value, (dict, list)):
        text = repr(value)
    opener, closer = _first(tags, "open"), str(tags["close"][-1])
    name = _quoted(opener, key) + _first(tags, "name_end") + _attribute(tags, value)
    if is_text and "value_open" in tags:
        text, closer = tags["value_open"] + text, _first(tags, "close")
    elif tags.get("entities"):
        text = html.escape(text)
    edge = "\n" if tags.get("trim", "newline") == "newline" else ""
    return opener + name + _first(tags, "name_close") + edge + text + edge + closer + "\n"


def _attribute(tags: dict[str, Any], value: Any) -> str:
    """What tells the value's type, where the format writes such a thing."""
    types = tags.get("types", {})
    if not types or "name_end" in tags:  # the type between two tags may be left out
        return ""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    wanted = "number" if is_number else _JSON_NAMES[type(value)]
    fitting = [text for text, name in types.items() if name == wanted]
    fitting += [text for text, name in types.items() if name == "json"]
    return f" {fitting[0]}"


_JSON_NAMES = {str: "string", bool: "boolean", type(None): "null", dict: "object", list: "array"}


def _xml_elements(kind: dict[str, Any], arguments: dict[str, Any]) -> str:
    tag = _first(kind["xml_elements"], "open")
    return "".join(
        f"{tag}{key}>{value if isinstance(value, str) else json.dumps(value)}{tag}/{key}>"
        for key, value in arguments.items()
    )


_WRITERS = {
    "json_arguments": _json_arguments,
    "literal_arguments": _literal_arguments,
    "xml_parameters": _xml_parameters,
    "xml_elements": _xml_elements,
}
