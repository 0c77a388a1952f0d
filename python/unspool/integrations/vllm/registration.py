"""Registers unspool's parsers in vLLM, and wraps the functions for which vLLM has no registry."""

from __future__ import annotations

import functools
import inspect
from typing import Any

from unspool.formats.choose_format import TEMPLATE_NAMES, kept_reasoning_file
from unspool.formats.format_file import formats
from unspool.integrations.host_options import white_space
from unspool.integrations.vllm.composed_parser import UnspoolParser
from unspool.integrations.vllm.host import (
    COMPOSES,
    ChatStreamProcessor,
    ParserManager,
    ReasoningParserManager,
    ToolParserManager,
)
from unspool.integrations.vllm.reasoning_parser import UnspoolReasoningParser
from unspool.integrations.vllm.tool_parser import UnspoolToolParser

__all__ = ["PREFIX", "register"]

#: The prefix of a format's name among vLLM's parsers.
PREFIX = "unspool_"


def register() -> None:
    """Register every format in vLLM as `unspool_<name>`, including aliases and your own formats.

    Formats with calls become tool parsers, and formats with reasoning become reasoning parsers. `unspool_auto` is the
    format that `detect` finds for the tokenizer, and `unspool_hf` is the tokenizer's own response template. Call this
    again after `unspool.register_format`.

    Raises:
        ArgumentError: `UNSPOOL_WHITE_SPACE` is neither "keep" nor "trim".
    """
    white_space()
    for file in formats():
        for name in (file.name, *file.aliases):
            has_reasoning = file.has_reasoning or kept_reasoning_file(name) is not None
            _register(name, has_tools=file.has_tools, has_reasoning=has_reasoning)
    for name in ("auto", *TEMPLATE_NAMES):
        _register(name, has_tools=True, has_reasoning=True)
    if ParserManager is not None and COMPOSES and not hasattr(ParserManager.get_parser, "_unspool"):
        ParserManager.get_parser = classmethod(_composed(ParserManager.get_parser.__func__))
    if ChatStreamProcessor is not None and not hasattr(ChatStreamProcessor.step, "_unspool"):
        ChatStreamProcessor.step = _ending(ChatStreamProcessor.step)


def _register(name: str, *, has_tools: bool, has_reasoning: bool) -> None:
    values = {"format_name": name, "__module__": __name__}
    if has_tools:
        tool = type("UnspoolToolParser", (UnspoolToolParser,), values)
        ToolParserManager.register_module(PREFIX + name, module=tool)
    if has_reasoning:
        reasoning = type("UnspoolReasoningParser", (UnspoolReasoningParser,), values)
        ReasoningParserManager.register_module(PREFIX + name, module=reasoning)


def _composed(compose: Any) -> Any:
    """Wrap vLLM's composition of parsers, so that it returns `UnspoolParser` if all names are unspool's."""

    @functools.wraps(compose)
    def get_parser(cls: Any, *args: Any, **kwargs: Any) -> Any:
        bound = inspect.signature(compose).bind(cls, *args, **kwargs)
        names = [bound.arguments.get(key) for key in ("tool_parser_name", "reasoning_parser_name")]
        if not all(name.startswith(PREFIX) for name in names if name):
            return compose(*bound.args, **bound.kwargs)
        if "is_harmony" in bound.arguments:  # unspool also has a format for gpt-oss
            bound.arguments["is_harmony"] = False
        parser = compose(*bound.args, **bound.kwargs)
        return None if parser is None else type("UnspoolParser", (UnspoolParser, parser), {})

    get_parser._unspool = True  # type: ignore[attr-defined]
    return get_parser


def _ending(step: Any) -> Any:
    """Wrap the end of vLLM's streams, whose reason is "tool_calls" once a call has begun. After this change, the
    reason stays "stop" if the call is cut off, for example by a stop string inside its arguments."""

    @functools.wraps(step)
    def ended(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = step(self, *args, **kwargs)
        if result.finish_reason != "tool_calls":
            return result
        for ours in (self.parser, getattr(self.parser, "tool_parser", None)):
            if isinstance(ours, (UnspoolParser, UnspoolToolParser)) and ours.stopped_without_a_call():
                return result._replace(finish_reason="stop")
        return result

    ended._unspool = True  # type: ignore[attr-defined]
    return ended
