"""The grammar of a request's calls, from the format's own file, for vLLM's xgrammar backend."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable
from typing import Any

from unspool._core import Vocabulary
from unspool.core.format.compile_format import compile_format
from unspool.formats.format_file import FormatFile
from unspool.integrations.vllm.host import (
    check_json_nesting,
    get_structural_tag_tools,
    resolve_tool_strictness,
)

__all__ = ["MODEL", "make_tag"]

#: vLLM asks for a grammar only if a parser names one.
MODEL = "unspool"

# vLLM's levels: the markup of every call, or the arguments too.
_FUNCTION, _PARAMETER = 1, 2


def make_tag(
    file: FormatFile, request: Any, strict_level: Any, vocabulary: Vocabulary | None, reasons: bool
) -> Any:
    """Return xgrammar's `StructuralTag`, or None if no call of the request is constrained.

    Args:
        strict_level: vLLM's `--tool-strict-level`.
        reasons: Whether a reasoning parser reads the text before the calls. If not, reasoning tags are text.

    Raises:
        UnspoolError: The format cannot write a call of these tools.
        ValueError: vLLM or xgrammar rejects the grammar.
    """
    from xgrammar import StructuralTag

    choice = request.tool_choice
    if choice in (None, "none"):
        return None
    tools = _strict_tools(request.tools or (), choice, strict_level)
    if not tools:
        return None
    name = choice if isinstance(choice, str) else getattr(choice, "function", choice).name
    parallel = getattr(request, "parallel_tool_calls", None) is not False
    text = _tag_text(file, json.dumps(tools), name, parallel, vocabulary, reasons)
    return StructuralTag.model_validate_json(text)  # a new one, because vLLM may change it


def _strict_tools(tools: Iterable[Any], choice: Any, level: Any) -> list[dict[str, Any]]:
    """Return the tools, each with whether its schema is enforced; empty if no call is constrained."""
    if resolve_tool_strictness is not None:
        shown = get_structural_tag_tools(MODEL, tools, choice)
        return [_plain(tool) for tool in resolve_tool_strictness(shown, choice, level) or ()]
    definitions = [_plain(tool) for tool in tools]
    functions = [tool.get("function") or tool for tool in definitions]
    for function in functions:
        function["strict"] = level >= _PARAMETER or function.get("strict") is True
    is_asked = choice != "auto" or level >= _FUNCTION or any(function["strict"] for function in functions)
    return definitions if is_asked else []


def _plain(tool: Any) -> dict[str, Any]:
    return dict(tool.model_dump(mode="json"))


@functools.lru_cache(maxsize=256)
def _tag_text(
    format: FormatFile,
    tools: str,
    choice: str,
    parallel: bool,
    vocabulary: Vocabulary | None,
    reasons: bool,
) -> str:
    from xgrammar import Grammar

    file, reasoning = format, False if reasons else None
    has_messages = bool(file.facts.headers)
    if not reasons and not has_messages:
        file = file.with_reasoning(None)
    # A message may follow a reasoning message, or begin at the end of the prompt.
    tags = [
        file.grammar(
            json.loads(tools), tool_choice=choice, parallel=parallel, reasoning=reasoning, prompt=prompt,
            syntax="structural_tag", tokenizer=vocabulary,
        ).text
        for prompt in ((None, "") if reasons else (None,))
    ]  # fmt: skip
    formats = [json.loads(text)["format"] for text in dict.fromkeys(tags)]
    combined = formats[0] if len(formats) == 1 else {"type": "or", "elements": formats}
    if not reasons and vocabulary is not None:
        _allow(combined, _text_tokens(file, format, vocabulary))
    text = json.dumps({"type": "structural_tag", "format": combined})
    check_json_nesting(text, structural_tag=True)
    Grammar.from_structural_tag(text)  # otherwise vLLM would reject the request
    return text


def _text_tokens(file: FormatFile, whole: FormatFile, vocabulary: Vocabulary) -> frozenset[int]:
    """Return the added tokens that are text if no parser reads reasoning, such as `<think>`."""
    markers = compile_format(file, vocabulary=vocabulary).marker_ids
    tags = whole.facts.reasoning if file is not whole else None
    thoughts = {vocabulary.find_added(tag) for tag in (*tags.openers, *tags.closers)} if tags else set()
    return frozenset(
        id
        for id in vocabulary.added_tokens
        if id not in markers and (id in thoughts or not vocabulary.is_special(id))
    )


def _allow(node: Any, ids: frozenset[int]) -> None:
    """Allow these ids in free text: remove them from the tokens that it excludes."""
    if isinstance(node, list):
        for part in node:
            _allow(part, ids)
    elif isinstance(node, dict):
        if node.get("type") == "any_tokens":
            node["exclude_tokens"] = [id for id in node["exclude_tokens"] if id not in ids]
        for part in node.values():
            _allow(part, ids)
