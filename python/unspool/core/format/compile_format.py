"""Compiles formats for a model and a request, once."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from typing import Any, Literal

from unspool._core import Format, FormatSource, Vocabulary
from unspool.core.fork_safety import ForkSafeLock
from unspool.core.format.other_families import Also, compile_others, read_families
from unspool.core.format.registry import find_source
from unspool.core.format.response_template import bind_template
from unspool.errors import ArgumentError

__all__ = ["Trust", "compile_format", "export_format"]

Trust = Literal["id", "text", "either"]

_lock = ForkSafeLock()

#: How many formats each vocabulary keeps: those of all families, each with a few options. One takes about half a MB.
_SIZE = 256


def compile_format(
    format: str | FormatSource | Format,
    *,
    reasoning: str | bool | None = None,
    tool_calls_in_reasoning: str | None = None,
    tools: bool = True,
    tool_choice: str | None = None,
    required: bool = False,
    unmarked_calls: bool = False,
    also: Also = (),
    vocabulary: Vocabulary | None = None,
    trust: Trust = "id",
    strict_markers: bool = False,
) -> Format:
    """Compile a format for a model; the result is shared by the model's streams.

    Args:
        format: A name, a format's source, or a compiled format, which is returned unchanged.
        reasoning: The name of the format whose reasoning markup is used. None: this format itself. False or
            "none": reasoning tags are content.
        tool_calls_in_reasoning: "auto", "keep" or "end"; None: the format decides.
        tools: False: calls are content.
        tool_choice: The name of the tool that must be called.
        required: Whether some tool must be called.
        unmarked_calls: A call without its markers counts if it matches a tool.
        also: Other formats whose calls count too; "any": all.
        vocabulary: Markers that are tokens of it are matched by id.
        trust: How to match a marker that is a token: "id": only the token; "text": its spelling; "either":
            both.
        strict_markers: A marker that is no token counts only inside what a token has opened.

    Raises:
        UnknownFormatError: No format has this name.
        ArgumentError: An option has an invalid value, or `strict_markers` does not go with the format, the
            vocabulary or another option.
    """
    families = read_families(also)
    if isinstance(format, Format):
        if families:
            raise ArgumentError(
                f"also: '{format.name}' is compiled already; name a format, or compile it with compile_format(..., also=...)"
            )
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
        _check_strict(vocabulary, trust, unmarked_calls, bool(families))
    source, used = _read_reasoning(format, reasoning, tool_calls_in_reasoning)
    # By value: equal requests share a format, whatever else was compiled between them.
    key = (
        source, used, tool_calls_in_reasoning, tools, tool_choice, required, unmarked_calls, families, trust,
        strict_markers,
    )  # fmt: skip
    cache = _cache_of(vocabulary)
    with _lock:
        cached = cache.get(key)
        if cached is not None:
            cache.move_to_end(key)
            return cached
    tokens = list(vocabulary.added_tokens.items()) if vocabulary is not None else []
    compiled = Format(
        source,
        tokens,
        "strict" if strict_markers else trust,
        has_tools=tools,
        is_required=required,
        tool_choice=tool_choice or "",
        reasoning=used,
        tool_calls_in_reasoning=tool_calls_in_reasoning or "",
        unmarked_calls=unmarked_calls,
        others=compile_others(families, source if unmarked_calls else None) if tools else None,
    )
    with _lock:
        compiled = cache.setdefault(key, compiled)  # another thread may have made it
        while len(cache) > _SIZE:  # a server with ever new tool names
            cache.popitem(last=False)
    return compiled


def _check_strict(
    vocabulary: Vocabulary | None, trust: str, unmarked_calls: bool, reads_others: bool
) -> None:
    """Raise ArgumentError if an option contradicts `strict_markers`."""
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
    if reads_others:
        raise ArgumentError(
            "strict_markers counts the tokens of the model's own family, and also= reads other families; choose one"
        )


def export_format(
    format: str | FormatSource,
    *,
    reasoning: str | bool | None = None,
    tool_calls_in_reasoning: str | None = None,
) -> str:
    """Return a format as JSON for C++ hosts, which read it with `unspool::read_format` (docs/embedding.md).

    Args:
        format, reasoning, tool_calls_in_reasoning: See `compile_format`. The host sets the options that
            depend on a request: its tools and `tool_choice`.

    Raises:
        UnknownFormatError, ArgumentError: As in `compile_format`.
    """
    import json  # not before: importing unspool stays light

    source, used = _read_reasoning(format, reasoning, tool_calls_in_reasoning)
    exported: dict[str, Any] = {"unspool_format": 2, "format": _keys(source)}
    if used is not True:
        exported["reasoning"] = _keys(used) if used else False
    if tool_calls_in_reasoning is not None:
        exported["tool_calls_in_reasoning"] = tool_calls_in_reasoning
    return json.dumps(exported, ensure_ascii=False, indent=1) + "\n"


def _keys(source: FormatSource) -> dict[str, Any]:
    return {"name": source.name, **source.patterns}


_Cache = OrderedDict[Any, Format]
_text_cache: _Cache = OrderedDict()
_id_caches: weakref.WeakKeyDictionary[Vocabulary, _Cache] = weakref.WeakKeyDictionary()


def _cache_of(vocabulary: Vocabulary | None) -> _Cache:
    if vocabulary is None:
        return _text_cache
    found = _id_caches.get(vocabulary)
    if found is not None:
        return found
    with _lock:
        return _id_caches.setdefault(vocabulary, OrderedDict())


def _read_reasoning(
    format: str | FormatSource, reasoning: str | bool | None, tool_calls: str | None
) -> tuple[FormatSource, FormatSource | bool]:
    """Return the format, and the format whose reasoning markup is used; True: its own; False: none."""
    if not isinstance(format, (str, FormatSource)):
        raise TypeError(f"format is of type {type(format).__name__}; pass a format's name, or 'auto'")
    source = find_source(format) if isinstance(format, str) else format
    used: FormatSource | bool = reasoning is None or reasoning is True
    if isinstance(reasoning, str):
        other = find_source(reasoning)
        if not (other.is_plain or other.has_reasoning):
            raise ArgumentError(f"format '{other.name}' has no reasoning; name one that has")
        used = not other.is_plain and other
    if reasoning is True and not source.has_reasoning:
        raise ArgumentError(
            f"format '{source.name}' has no reasoning of its own; name one, such as reasoning='qwen3'"
        )
    if tool_calls not in (None, "auto", "keep", "end"):
        raise ArgumentError(f"tool_calls_in_reasoning is '{tool_calls}'; use 'auto', 'keep' or 'end'")
    return source, used
