"""The registry of formats, and a cache of their compiled forms."""

from __future__ import annotations

import difflib
import functools
import json
import os
import weakref
from typing import Any

from unspool._core import Format, Vocabulary
from unspool.errors import ArgumentError, FormatError, UnknownFormatError
from unspool.fork_safety import ForkSafeLock
from unspool.format_files import FormatFile, parse_format, read_format
from unspool.response_template import bind_template
from unspool.stream_options import Trust

__all__ = ["compile_format", "export_format", "formats", "get_format", "register_format"]

_registered: dict[str, FormatFile] = {}
_lock = ForkSafeLock()


@functools.cache
def _shipped() -> dict[str, FormatFile]:
    from importlib.resources import files  # takes as long to import as the rest of this module

    folder = files("unspool") / "parsers"  # an editable install has the files elsewhere
    found = {}
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.name.endswith(".toml"):
            file = parse_format(entry.read_text(encoding="utf-8"), source=entry.name)
            found[file.name] = file
    return found


@functools.cache
def _shipped_names() -> dict[str, FormatFile]:
    names: dict[str, FormatFile] = {}
    for file in _shipped().values():
        for name in (file.name, *file.aliases):
            names.setdefault(name.lower(), file)
    return names


def formats() -> tuple[FormatFile, ...]:
    """All formats, shipped and registered, sorted by name."""
    return tuple(sorted({**_shipped(), **_registered}.values(), key=lambda file: file.name))


def get_format(name: str) -> FormatFile:
    """Return the format with this name or alias.

    Raises:
        UnknownFormatError: There is none; the message suggests the nearest names.
    """
    key = name.lower()
    for file in list(_registered.values()):  # another thread may register one
        if key in (file.name.lower(), *(alias.lower() for alias in file.aliases)):
            return file
    found = _shipped_names().get(key)
    if found is not None:
        return found
    if key in ("auto", "hf", "response_template"):
        raise UnknownFormatError(
            f"'{name}' asks a tokenizer; pass it to Parser or TokenStreamer as the format"
        )
    known = [*_shipped_names(), *_registered]
    near = difflib.get_close_matches(key, known, n=3)
    hint = f"did you mean {' or '.join(map(repr, near))}? " if near else ""
    raise UnknownFormatError(f"unknown format '{name}'; {hint}`unspool formats` lists all")


def register_format(path: str | os.PathLike[str]) -> FormatFile:
    """Register a format file of your own, for this process.

    Raises:
        FormatError: The file cannot be compiled, or its name or an alias is taken.
    """
    file = read_format(path)
    Format(file.to_core())  # raises if it cannot be compiled
    with _lock:
        for name in (file.name, *file.aliases):
            taken = name.lower() in _shipped_names() or name in _registered
            if taken:
                raise FormatError(f"{file.source}: the name '{name}' is taken; choose another")
        _registered[file.name] = file
    return file


def compile_format(
    format: str | FormatFile | Format,
    *,
    reasoning: str | bool | None = None,
    tool_calls_in_reasoning: str | None = None,
    tools: bool = True,
    tool_choice: str | None = None,
    required: bool = False,
    unmarked_calls: bool = False,
    vocabulary: Vocabulary | None = None,
    trust: Trust = "id",
    strict_markers: bool = False,
) -> Format:
    """Compile a format for a model; the result is shared by the model's streams.

    Args:
        format: A name, a format file, or a compiled format, which is returned unchanged.
        reasoning: The name of the format that reasoning is read with. None: this format's own. False or
            "none": reasoning tags are content.
        tool_calls_in_reasoning: "auto", "keep" or "end"; None: the format decides.
        tools: False: calls are content.
        tool_choice: The name of the tool that must be called.
        required: Whether some tool must be called.
        unmarked_calls: A JSON object without markers is a call if it matches a tool.
        vocabulary: Markers that are tokens of it are matched by id.
        trust: How to match a marker that is a token: "id": only the token; "text": its spelling; "either":
            both.
        strict_markers: A marker that is no token counts only inside what a token has opened.

    Raises:
        UnknownFormatError: No format has this name.
        ArgumentError: An option has an invalid value, or `strict_markers` does not go with the format, the
            vocabulary or another option.
    """
    if isinstance(format, Format):
        if strict_markers and not format.strict_markers:
            raise ArgumentError(
                f"strict_markers: the compiled format '{format.name}' is not strict; name a format, or compile it with "
                "compile_format(..., vocabulary=..., strict_markers=True). A response template cannot be strict: its "
                "markers are patterns over text"
            )
        return bind_template(format, vocabulary)
    if trust not in ("id", "text", "either"):
        raise ArgumentError(f"trust is '{trust}'; use 'id', 'text' or 'either'")
    if strict_markers:
        _check_strict(vocabulary, trust, unmarked_calls)
    file, keeps_own, other = _read_reasoning(format, reasoning, tool_calls_in_reasoning)
    key = (
        file.name, id(file), keeps_own, other and other.name, tool_calls_in_reasoning, tools, tool_choice,
        required, unmarked_calls, trust, strict_markers,
    )  # fmt: skip
    cache = _cache_of(vocabulary)
    with _lock:
        found = cache.get(key)
    if found is not None:
        return found[1]
    tokens = list(vocabulary.added_tokens.items()) if vocabulary is not None else []
    made = Format(
        file.to_core(),
        tokens,
        "strict" if strict_markers else trust,
        has_tools=tools,
        is_required=required,
        tool_choice=tool_choice or "",
        reasoning=other.to_core() if other is not None else keeps_own,
        tool_calls_in_reasoning=tool_calls_in_reasoning or "",
        unmarked_calls=unmarked_calls,
    )
    with _lock:
        if len(cache) > 1024:  # a server with ever new tool names
            cache.clear()
        cache[key] = (file, made)  # holding the file keeps its id from being reused
    return made


def _check_strict(vocabulary: Vocabulary | None, trust: str, unmarked_calls: bool) -> None:
    """Raises ArgumentError: an option contradicts `strict_markers`."""
    if vocabulary is None:
        raise ArgumentError("strict_markers knows markers by their token ids; pass the model's vocabulary")
    if trust != "id":
        raise ArgumentError(
            f"strict_markers counts tokens alone, and trust='{trust}' counts spellings; leave trust out"
        )
    if unmarked_calls:
        raise ArgumentError(
            "strict_markers makes a call without a marker text, and unmarked_calls makes it a call; choose one"
        )


def export_format(
    format: str | FormatFile,
    *,
    reasoning: str | bool | None = None,
    tool_calls_in_reasoning: str | None = None,
) -> str:
    """Return a format as JSON for C++ hosts, which read it with `unspool::read_format` (docs/embedding.md).

    Args:
        format, reasoning, tool_calls_in_reasoning: See `compile_format`. The host sets what depends on a
            request: its tools and `tool_choice`.

    Raises:
        UnknownFormatError, ArgumentError: As in `compile_format`.
    """
    file, keeps_own, other = _read_reasoning(format, reasoning, tool_calls_in_reasoning)
    made: dict[str, Any] = {"unspool_format": 2, "format": file.to_core()}
    if other is not None or not keeps_own:
        made["reasoning"] = other.to_core() if other is not None else False
    if tool_calls_in_reasoning is not None:
        made["tool_calls_in_reasoning"] = tool_calls_in_reasoning
    return json.dumps(made, ensure_ascii=False, indent=1) + "\n"


_Cache = dict[Any, tuple[FormatFile, Format]]
_text_cache: _Cache = {}
_id_caches: weakref.WeakKeyDictionary[Vocabulary, _Cache] = weakref.WeakKeyDictionary()


def _cache_of(vocabulary: Vocabulary | None) -> _Cache:
    if vocabulary is None:
        return _text_cache
    found = _id_caches.get(vocabulary)
    if found is not None:
        return found
    with _lock:
        return _id_caches.setdefault(vocabulary, {})


def _reasoning_file(reasoning: str | bool | None) -> FormatFile | None:
    if not isinstance(reasoning, str):
        return None
    file = get_format(reasoning)
    if file.is_plain:
        return None
    if not file.has_reasoning:
        raise ArgumentError(f"format '{file.name}' has no reasoning; name one that has")
    return file


def _read_reasoning(
    format: str | FormatFile, reasoning: str | bool | None, tool_calls: str | None
) -> tuple[FormatFile, bool, FormatFile | None]:
    """The format's file, whether its own reasoning is used, and the file that reasoning is read with
    instead."""
    if not isinstance(format, (str, FormatFile)):
        raise TypeError(f"format is of type {type(format).__name__}; pass a format's name, or 'auto'")
    file = get_format(format) if isinstance(format, str) else format
    other = _reasoning_file(reasoning)
    if reasoning is True and not file.has_reasoning:
        raise ArgumentError(
            f"format '{file.name}' has no reasoning of its own; name one, such as reasoning='qwen3'"
        )
    if tool_calls not in (None, "auto", "keep", "end"):
        raise ArgumentError(f"tool_calls_in_reasoning is '{tool_calls}'; use 'auto', 'keep' or 'end'")
    return file, reasoning is None or reasoning is True, other
