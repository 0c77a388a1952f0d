"""What differs between vLLM's releases: where its classes are, and what it asks of a parser."""

from __future__ import annotations

import inspect

try:
    from vllm.reasoning import ReasoningParser, ReasoningParserManager
except ImportError as error:
    raise ImportError(f"{error}; pip install 'unspool[vllm]'") from None
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
except ImportError:  # hosts that end their streams elsewhere
    ChatStreamProcessor = None
try:
    from vllm.parser.utils import count_history_tool_calls
except ImportError:  # hosts that number no calls
    count_history_tool_calls = None

__all__ = [
    "COMPOSES", "FLUSHES", "REASONING_FIELD", "TAKES_TOOLS", "ChatStreamProcessor", "DelegatingParser",
    "ParserManager", "ReasoningParser", "ReasoningParserManager", "ToolParser", "ToolParserManager",
    "count_history_tool_calls", "protocol",
]  # fmt: skip

REASONING_FIELD = "reasoning" if "reasoning" in protocol.DeltaMessage.model_fields else "reasoning_content"
# Hosts that flush a parser at the end, and give each choice of a request parsers of its own.
FLUSHES = hasattr(ToolParser, "engine_based_streaming")
TAKES_TOOLS = "tools" in inspect.signature(ToolParser.__init__).parameters
COMPOSES = "finished" in inspect.signature(getattr(DelegatingParser, "parse_delta", len)).parameters
