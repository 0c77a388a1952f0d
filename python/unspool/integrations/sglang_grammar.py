"""The grammar of a request's calls, from the format's own file, for SGLang's xgrammar backend."""

from __future__ import annotations

import functools
import json
import logging
from collections.abc import Iterable
from typing import Any

from unspool._core import Vocabulary
from unspool.formats.format_file import FormatFile
from unspool.integrations.host_options import vocabulary_of

__all__ = ["make_tag"]

_log = logging.getLogger(__name__)


def make_tag(
    file: FormatFile, tools: Iterable[Any], tool_choice: Any, *, thinks: bool, parallel: bool, tokenizer: Any
) -> Any:
    """Return xgrammar's `StructuralTag`, or None if there is no grammar that it can use.

    Args:
        thinks: Whether the constrained output includes the reasoning.
    """
    # If messages have headers, only SGLang's own parser of the family knows where its grammar begins.
    if file.facts.headers or not _takes_tags():
        return None
    try:
        definitions = [tool.model_dump(mode="json") for tool in tools]
        for tool in definitions:  # SGLang does not constrain the arguments of other tools
            tool["function"]["strict"] = tool["function"].get("strict") is True
        choice = tool_choice if isinstance(tool_choice, str) else tool_choice.function.name
        vocabulary = None if tokenizer is None else vocabulary_of(tokenizer, _log)
        return _make(file, json.dumps(definitions), choice, thinks, parallel, vocabulary)
    except Exception as error:  # otherwise SGLang would reject the request
        _log.warning("no grammar of %s constrains this request's calls: %s", file.name, error)
        return None


@functools.lru_cache(maxsize=256)
def _make(
    format: FormatFile, tools: str, choice: str, thinks: bool, parallel: bool, vocabulary: Vocabulary | None
) -> Any:
    from xgrammar import Grammar, StructuralTag

    grammar = format.grammar(
        json.loads(tools), tool_choice=choice, parallel=parallel, reasoning=None if thinks else False,
        syntax="structural_tag", tokenizer=vocabulary,
    )  # fmt: skip
    tag = StructuralTag.model_validate_json(grammar.text)
    Grammar.from_structural_tag(tag)  # raises here what would make SGLang reject the request
    return tag


def _takes_tags() -> bool:
    """Whether the server's grammar backend is xgrammar; the others accept only SGLang's older tags."""
    try:
        from sglang.srt.runtime_context import get_server_args

        backend = getattr(get_server_args(), "grammar_backend", None)
    except Exception:  # no server
        return True
    return backend in (None, "xgrammar")
