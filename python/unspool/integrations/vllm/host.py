"""Differences between vLLM's releases: the places of its classes, and the interface of a parser."""

from __future__ import annotations

import inspect

from unspool.core.needs import needs

with needs("vllm"):
    from vllm.reasoning import ReasoningParser, ReasoningParserManager
from vllm import envs

try:
    from vllm.tool_parsers import ToolParser, ToolParserManager
except ModuleNotFoundError:  # before 0.13
    from vllm.entrypoints.openai.tool_parsers import ToolParser, ToolParserManager
try:
    from vllm.entrypoints.generate.base import protocol
except ModuleNotFoundError:
    try:
        from vllm.entrypoints.openai.engine import protocol
    except ModuleNotFoundError:  # before 0.15
        from vllm.entrypoints.openai import protocol
try:
    from vllm.parser.abstract_parser import DelegatingParser
    from vllm.parser.parser_manager import ParserManager
except ModuleNotFoundError:  # before 0.16
    DelegatingParser, ParserManager = object, None
try:
    from vllm.entrypoints.openai.chat_completion.stream_processor import ChatStreamProcessor
except ImportError:  # hosts that end their streams in other code
    ChatStreamProcessor = None
try:
    from vllm.parser.utils import count_history_tool_calls
except ImportError:  # hosts that do not number calls
    count_history_tool_calls = None

try:
    from vllm.tool_parsers.structural_tag_registry import get_structural_tag_tools, resolve_tool_strictness
except ImportError:  # hosts without a strict level
    get_structural_tag_tools = resolve_tool_strictness = None
try:
    from vllm.sampling_params import check_json_nesting
except ImportError:  # hosts that do not limit nesting

    def check_json_nesting(spec: str, *, structural_tag: bool = False) -> None:
        """Accept any nesting."""


try:
    from vllm.parser.engine.adapters import ParserEngineReasoningAdapter as EngineReasoningParser
    from vllm.parser.engine.parser_engine import ReasoningEnd
except ImportError:  # hosts whose engine does not ask which token ended the reasoning
    EngineReasoningParser, ReasoningEnd = ReasoningParser, None

__all__ = [
    "COMPOSES", "FLUSHES", "REASONING_FIELD", "TAKES_TAGS", "TAKES_TOOLS", "ChatStreamProcessor",
    "DelegatingParser", "EngineReasoningParser", "ParserManager", "ReasoningEnd", "ReasoningParser",
    "ReasoningParserManager", "ToolParser", "ToolParserManager", "check_json_nesting",
    "count_history_tool_calls", "envs", "get_structural_tag_tools", "protocol", "resolve_tool_strictness",
]  # fmt: skip

REASONING_FIELD = "reasoning" if "reasoning" in protocol.DeltaMessage.model_fields else "reasoning_content"
# Hosts that flush a parser at the end, and give each choice of a request its own parsers.
FLUSHES = hasattr(ToolParser, "engine_based_streaming")
# Hosts that ask a tool parser for a grammar of its calls.
TAKES_TAGS = hasattr(ToolParser, "structural_tag_model")
TAKES_TOOLS = "tools" in inspect.signature(ToolParser.__init__).parameters
COMPOSES = "finished" in inspect.signature(getattr(DelegatingParser, "parse_delta", len)).parameters
