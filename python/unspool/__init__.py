"""Token ids in; text, reasoning and tool calls out, natively, as they arrive."""

import importlib
from typing import TYPE_CHECKING, Any

from unspool._core import (
    ArgumentEvent,
    ArgumentReader,
    BatchResult,
    Delta,
    DeltaChannel,
    Detokenizer,
    Format,
    ToolSchemas,
    Vocabulary,
    WireWriter,
    __version__,
    sign_thought,
)
from unspool.errors import (
    ArgumentError,
    ChannelCancelledError,
    ChannelClosedError,
    ChannelTimeoutError,
    ContextLengthError,
    EngineError,
    FormatError,
    LearnError,
    PrefillError,
    StreamError,
    StreamTimeout,
    ToolCallError,
    UnknownFormatError,
    UnknownOptionError,
    UnspoolError,
    VocabularyError,
)
from unspool.formats.format_file import FormatFile, formats, get_format, register_format
from unspool.streams.parse_batch import BatchParser, parse_batch
from unspool.streams.parser import Parser, parse
from unspool.streams.token_streamer import TokenStreamer

# The rest is imported at its first use: it needs asyncio, dataclasses, logging and ssl, which take longer than all of the above.
_MODULE_OF = {
    "AnswerRequest": "generation",
    "Bridge": "generation.bridging",
    "ChatTokenizer": "generation.prompts.chat_tokenizer",
    "ConditioningHook": "generation",
    "DeltaStream": "generation",
    "Detection": "formats.detection",
    "Diagnosis": "streams.tracing",
    "Dropped": "writing.grammar_result",
    "Evidence": "formats.detection",
    "GenerationDefaults": "generation",
    "Grammar": "writing.grammar_result",
    "GrammarMatcher": "writing.engines.matcher",
    "InferenceConfig": "integrations.easydel",
    "LabelSpan": "core.stream.labels",
    "Labels": "core.stream.labels",
    "MalformedText": "core.stream.message",
    "Message": "core.stream.message",
    "PartialArguments": "core.stream.partial_arguments",
    "PreCompileConfig": "integrations.easydel",
    "PrefillConfig": "generation.prefill",
    "PrefillReport": "generation.prefill",
    "PrefillScope": "integrations.ollm",
    "PromptOutput": "integrations.easydel",
    "SampleState": "integrations.easydel",
    "SamplingParams": "generation",
    "ServedModel": "generation",
    "SlowDetokenizer": "core.vocabulary.slow_detokenizer",
    "StreamBatch": "streams.stream_batch",
    "StreamGenerator": "generation",
    "StreamMetrics": "generation",
    "StreamResult": "generation",
    "TokenCounts": "core.stream.message",
    "ToolCall": "core.stream.message",
    "Trace": "streams.tracing",
    "Violation": "core.schema.schema_check",
    "add_special_tokens": "integrations.special_tokens",
    "bridge": "generation.bridging",
    "detect": "formats.detection",
    "generate": "generation.generate",
    "iter_prompt_token_pieces": "generation.prompts.pieces",
    "iterate_streamer": "integrations.iterate_streamer",
    "json_grammar": "writing.grammar.json_answer",
    "learn": "formats.learning",
    "loss_mask": "core.stream.loss_mask",
    "prepare_messages": "generation.prompts.history",
    "run_tools": "core.stream.run_tools",
    "sum_logprobs": "core.stream.loss_mask",
    "to_partial_args": "core.stream.partial_arguments",
    "tool": "core.stream.tool",
    "trace": "streams.tracing",
    "why": "streams.tracing",
}

if TYPE_CHECKING:
    from unspool.core.schema.schema_check import Violation
    from unspool.core.stream.labels import Labels, LabelSpan
    from unspool.core.stream.loss_mask import loss_mask, sum_logprobs
    from unspool.core.stream.message import MalformedText, Message, TokenCounts, ToolCall
    from unspool.core.stream.partial_arguments import PartialArguments, to_partial_args
    from unspool.core.stream.run_tools import run_tools
    from unspool.core.stream.tool import tool
    from unspool.core.vocabulary.slow_detokenizer import SlowDetokenizer
    from unspool.formats.detection import Detection, Evidence, detect
    from unspool.formats.learning import learn
    from unspool.generation import (
        AnswerRequest,
        ConditioningHook,
        DeltaStream,
        GenerationDefaults,
        SamplingParams,
        ServedModel,
        StreamGenerator,
        StreamMetrics,
        StreamResult,
    )
    from unspool.generation.bridging import Bridge, bridge
    from unspool.generation.generate import generate
    from unspool.generation.prefill import PrefillConfig, PrefillReport
    from unspool.generation.prompts.chat_tokenizer import ChatTokenizer
    from unspool.generation.prompts.history import prepare_messages
    from unspool.generation.prompts.pieces import iter_prompt_token_pieces
    from unspool.integrations.easydel import InferenceConfig, PreCompileConfig, PromptOutput, SampleState
    from unspool.integrations.iterate_streamer import iterate_streamer
    from unspool.integrations.ollm import PrefillScope
    from unspool.integrations.special_tokens import add_special_tokens
    from unspool.streams.stream_batch import StreamBatch
    from unspool.streams.tracing import Diagnosis, Trace, trace, why
    from unspool.writing.engines.matcher import GrammarMatcher
    from unspool.writing.grammar.json_answer import json_grammar
    from unspool.writing.grammar_result import Dropped, Grammar
else:

    def __getattr__(name: str) -> Any:
        if name not in _MODULE_OF:
            raise AttributeError(f"module 'unspool' has no attribute {name!r}")
        value = getattr(importlib.import_module(f"unspool.{_MODULE_OF[name]}"), name)
        globals()[name] = value
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})


__all__ = [
    "AnswerRequest",
    "ArgumentError",
    "ArgumentEvent",
    "ArgumentReader",
    "BatchParser",
    "BatchResult",
    "Bridge",
    "ChannelCancelledError",
    "ChannelClosedError",
    "ChannelTimeoutError",
    "ChatTokenizer",
    "ConditioningHook",
    "ContextLengthError",
    "Delta",
    "DeltaChannel",
    "DeltaStream",
    "Detection",
    "Detokenizer",
    "Diagnosis",
    "Dropped",
    "EngineError",
    "Evidence",
    "Format",
    "FormatError",
    "FormatFile",
    "GenerationDefaults",
    "Grammar",
    "GrammarMatcher",
    "InferenceConfig",
    "LabelSpan",
    "Labels",
    "LearnError",
    "MalformedText",
    "Message",
    "Parser",
    "PartialArguments",
    "PreCompileConfig",
    "PrefillConfig",
    "PrefillError",
    "PrefillReport",
    "PrefillScope",
    "PromptOutput",
    "SampleState",
    "SamplingParams",
    "ServedModel",
    "SlowDetokenizer",
    "StreamBatch",
    "StreamError",
    "StreamGenerator",
    "StreamMetrics",
    "StreamResult",
    "StreamTimeout",
    "TokenCounts",
    "TokenStreamer",
    "ToolCall",
    "ToolCallError",
    "ToolSchemas",
    "Trace",
    "UnknownFormatError",
    "UnknownOptionError",
    "UnspoolError",
    "Violation",
    "Vocabulary",
    "VocabularyError",
    "WireWriter",
    "__version__",
    "add_special_tokens",
    "bridge",
    "detect",
    "formats",
    "generate",
    "get_format",
    "iter_prompt_token_pieces",
    "iterate_streamer",
    "json_grammar",
    "learn",
    "loss_mask",
    "parse",
    "parse_batch",
    "prepare_messages",
    "register_format",
    "run_tools",
    "sign_thought",
    "sum_logprobs",
    "to_partial_args",
    "tool",
    "trace",
    "why",
]
