"""Converts old tables to patterns: calls."""

from __future__ import annotations

import json
from itertools import zip_longest
from typing import Any

from unspool.old_format.messages import Messages, aligned
from unspool.old_format.parameters import parameter_patterns, quoted
from unspool.old_format.tables import Table

__all__ = ["call_patterns"]

_PLACES = {"start": "", "line": "\n", "section": ""}
_PYTHON = "${name}(${key}=${value}, ${...})"


def call_patterns(tables: Table, messages: Messages) -> dict[str, list[str]]:
    """The patterns of the calls and of their parts."""
    calls = sorted(_distinct(tables.get("call", [])), key=_rank)
    section = tables.get("section", {})
    return {
        "calls": _section(section) if section else [],
        "call": _unique(text for call in calls for text in _patterns(call, messages)),
        "parameter": _unique(text for call in calls for text in parameter_patterns(call)),
        "object": _unique(text for call in calls for text in _objects(call)),
        "string": _unique(
            f"{quote}${{value}}{quote}"
            for call in calls
            if call.get("body") == "literal_arguments"
            for quote in call.get("quotes", ())
        ),
        "id": _ids(tables.get("call_ids", "random"), calls),
    }  # fmt: skip


def _unique(texts: Any) -> list[str]:
    return list(dict.fromkeys(texts))


def _distinct(calls: list[Table]) -> list[Table]:
    """The calls without those that differ only in their first letters, which the parser distinguishes
    itself."""
    kept: list[Table] = []
    letters = {"starts", "second"}
    for call in calls:
        rest = {key: value for key, value in call.items() if key not in letters}
        if rest not in [{key: value for key, value in other.items() if key not in letters} for other in kept]:
            kept.append(call)
    return kept


def _rank(call: Table) -> int:
    """Sort key of alternatives: a bare call is first, unless its name must be one of the tools."""
    if call.get("bare") != "start":
        return 1
    return 2 if call.get("known_tools") == "required" else 0


def _section(table: Table) -> list[str]:
    pairs = aligned(table.get("open", []), table.get("close", []))
    before, after = table.get("open_before", ""), table.get("open_after", "")
    last_before, last_after = table.get("close_before", ""), table.get("close_after", "")
    return [f"{before}{opener}{after}${{calls}}{last_before}{closer}{last_after}" for opener, closer in pairs]


def _patterns(call: Table, messages: Messages) -> list[str]:
    body = call.get("body", "json_call")
    if call.get("by_recipient"):
        return _by_recipient(call, messages)
    if body == "json_call":
        return _around(call, messages, _object(call))
    if body == "pythonic":
        is_list = "bare" in call or bool(call.get("close"))
        return _around(call, messages, f"[{_PYTHON}, ${{...}}]" if is_list else _PYTHON)
    return _named(call, messages)


def _around(call: Table, messages: Messages, inner: str) -> list[str]:
    """A body that contains the tool's name, between its markers."""
    if "bare" in call:
        fence = [f"\n```json\n{inner}\n```\n"] if call.get("fenced") else []
        return [_PLACES[call["bare"]] + inner, *fence]
    edge = "\n" if inner == "${object}" and call.get("close") else ""
    first, last = call.get("open_after", edge), call.get("close_before", edge)
    return [
        f"{messages.author}{opener}{first}{inner}{last}{closer}"
        for opener, closer in aligned(_openers(call), _closers(call, messages))
    ]


def _object(call: Table) -> str:
    separators = call.get("separators", "")
    if call.get("starts", "").startswith("["):
        return "[${object}, ${...}]"
    if separators and not call.get("close"):
        return f"${{object}}{separators[0]} ${{...}}"
    return "${object}"


def _openers(call: Table) -> list[str]:
    return [call.get("open_before", "") + text for text in call.get("open", ())]


def _closers(call: Table, messages: Messages) -> list[str]:
    """The closers, without those that the parser accepts anyway: without a fence, or the end of every
    message."""
    closers: list[str] = call.get("close", [])
    if messages.author:
        closers = [text for text in closers if text not in messages.ends] or closers
    fenced = [text for text in closers if text.startswith("```") and text[3:] in closers]
    return [text + call.get("close_after", "") for text in fenced or closers]


def _named(call: Table, messages: Messages) -> list[str]:
    """Calls whose name is outside the arguments."""
    is_tagged = call.get("body") in ("xml_parameters", "xml_elements")
    hole = "${parameters}" if is_tagged else "${arguments}"
    rows = aligned(_openers(call), _name_ends(call), _closers(call, messages))
    after, before = call.get("open_after", ""), call.get("close_before", "")
    found = []
    for prefix in _prefixes(call):
        for opener, name_end, closer in rows:
            for name in _names(call, opener):
                found.append(
                    f"{messages.author}{opener}{after}{prefix}{name}{name_end}{hole}{before}{closer}"
                )
    word = _next_word(call)
    return [*found, f"{word}${{name}}{hole}"] if word else found


def _prefixes(call: Table) -> list[str]:
    """The texts before the name; after a token the prefix may be missing."""
    prefix = call.get("name_prefix", "")
    if not prefix or call.get("name_is_id"):
        return [""]  # `id` says it
    return [prefix, ""] if all(text.endswith(">") for text in call.get("open", ())) else [prefix]


def _names(call: Table, opener: str) -> list[str]:
    names = ["${id}"] if call.get("name_is_id") else [quoted(opener, "${name}")]
    if call.get("id_open"):
        names.append(f"{names[0]}{call['id_open']}${{id}}")
    if call.get("name_twice"):
        names.append(quoted(opener, "${name}.${name}"))
    return names


def _name_ends(call: Table) -> list[str]:
    ends: list[str] = call.get("name_close", [])
    parameter = call.get("xml_parameters", {}).get("open", [])
    if ends and all(text in parameter or not text.strip() for text in ends):
        return [next((text for text in ends if not text.strip()), "")]
    fenced = [text for text in ends if text.strip().startswith("```")]
    if fenced:
        return [max(fenced, key=len)]
    edge = "\n" if call.get("body") == "xml_parameters" else ""
    return [text + edge for text in ends]


def _next_word(call: Table) -> str:
    """The word that opens another call if the last one's closer is missing."""
    word = min(call.get("next", [""]), key=len).strip()
    ends = [text + call.get("name_prefix", "") for text in call.get("open", ())]
    is_word = not any(letter in word for letter in "<[]{|◁")
    return str(word) if word and is_word and any(text.endswith(word) for text in ends) else ""


def _by_recipient(call: Table, messages: Messages) -> list[str]:
    opener = messages.recipient(call.get("name_prefix", ""))
    hole = "${parameters}" if call.get("body") == "xml_parameters" else "${arguments}"
    closer = next(iter(call.get("close", ())), "")
    return [f"{opener}${{name}}{messages.recipient_end()}{hole}{closer}"] if opener else []


def _ids(style: str, calls: list[Table]) -> list[str]:
    if style == "nine":
        return ["${random:9}"]
    prefixes = [call.get("name_prefix", "") for call in calls if call.get("name_is_id")]
    if style == "functions":
        return [f"{(prefixes or ['functions.'])[0]}${{name}}:${{index}}"]
    return [f"{prefixes[0]}${{name}}:${{index}}"] if any(prefixes) else []


def _objects(call: Table) -> list[str]:
    """A call's JSON object, if its keys are unusual."""
    keys = call.get("json_call", {}) if call.get("body", "json_call") == "json_call" else {}
    if keys.get("name_is_key"):
        return ["{${name}: ${arguments}}"]
    names = _unusual(keys.get("name_keys", []), ["name"])
    arguments = _unusual(keys.get("arguments_keys", []), ["arguments", "parameters"])
    ids = _unusual(keys.get("id_keys", []), ["id"])
    found = []
    for id_key, name, argument in zip_longest(ids, names, arguments):
        parts = [
            *([f"{_text(id_key)}: ${{id}}"] if id_key else []),
            f"{_text(name or 'name')}: ${{name}}",
            f"{_text(argument or 'arguments')}: ${{arguments}}",
        ]
        found.append("{" + ", ".join(parts) + "}")
    return found


def _unusual(keys: list[str], usual: list[str]) -> list[str]:
    """The keys that the parser does not accept anyway, and a usual key that precedes them."""
    first = keys[:1] if keys and keys[0] in usual[1:] else []
    return first + [key for key in keys if key not in usual]


def _text(key: str) -> str:
    return json.dumps(key, ensure_ascii=False)
