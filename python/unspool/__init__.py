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
)
from unspool.errors import (
    ArgumentError,
    ChannelCancelledError,
    ChannelClosedError,
    ChannelTimeoutError,
    ContextLengthError,
    FormatError,
    LearnError,
    PrefillError,
    StreamError,
    StreamTimeout,
    UnknownFormatError,
    UnspoolError,
    VocabularyError,
)
from unspool.formats.format_file import FormatFile, formats, get_format, register_format
from unspool.labels import Labels, LabelSpan
from unspool.loss_mask import loss_mask, sum_logprobs
from unspool.message import MalformedText, Message, TokenCounts, ToolCall
from unspool.parse_batch import BatchParser, parse_batch
from unspool.parser import Parser, parse
from unspool.token_streamer import TokenStreamer

# The rest is imported at its first use: it needs asyncio, logging and ssl, which take longer than all of the above.
_MODULE_OF = {
    "Bridge": "bridging",
    "ConditioningHook": "generation",
    "DeltaStream": "generation",
    "Detection": "detection",
    "Dropped": "grammar.result",
    "Evidence": "detection",
    "GenerationDefaults": "generation",
    "Grammar": "grammar.result",
    "InferenceConfig": "compat.easydel",
    "PartialArguments": "partial_arguments",
    "PreCompileConfig": "compat.easydel",
    "PrefillConfig": "generation.prefill",
    "PrefillReport": "generation.prefill",
    "PrefillScope": "compat.ollm",
    "PromptOutput": "compat.easydel",
    "SampleState": "compat.easydel",
    "SamplingParams": "generation",
    "SlowDetokenizer": "slow_detokenizer",
    "StreamBatch": "stream_batch",
    "StreamGenerator": "generation",
    "StreamMetrics": "generation",
    "StreamResult": "generation",
    "add_special_tokens": "integrations.special_tokens",
    "bridge": "bridging",
    "detect": "detection",
    "generate": "generation.generate",
    "iter_prompt_token_pieces": "prompt_pieces",
    "iterate_streamer": "integrations.iterate_streamer",
    "json_grammar": "grammar.json_answer",
    "learn": "learning",
    "to_partial_args": "partial_arguments",
}

if TYPE_CHECKING:
    from unspool.bridging import Bridge, bridge
    from unspool.compat.easydel import InferenceConfig, PreCompileConfig, PromptOutput, SampleState
    from unspool.compat.ollm import PrefillScope
    from unspool.detection import Detection, Evidence, detect
    from unspool.generation import (
        ConditioningHook,
        DeltaStream,
        GenerationDefaults,
        SamplingParams,
        StreamGenerator,
        StreamMetrics,
        StreamResult,
    )
    from unspool.generation.generate import generate
    from unspool.generation.prefill import PrefillConfig, PrefillReport
    from unspool.grammar.json_answer import json_grammar
    from unspool.grammar.result import Dropped, Grammar
    from unspool.integrations.iterate_streamer import iterate_streamer
    from unspool.integrations.special_tokens import add_special_tokens
    from unspool.learning import learn
    from unspool.partial_arguments import PartialArguments, to_partial_args
    from unspool.prompt_pieces import iter_prompt_token_pieces
    from unspool.slow_detokenizer import SlowDetokenizer
    from unspool.stream_batch import StreamBatch
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
    "ArgumentError",
    "ArgumentEvent",
    "ArgumentReader",
    "BatchParser",
    "BatchResult",
    "Bridge",
    "ChannelCancelledError",
    "ChannelClosedError",
    "ChannelTimeoutError",
    "ConditioningHook",
    "ContextLengthError",
    "Delta",
    "DeltaChannel",
    "DeltaStream",
    "Detection",
    "Detokenizer",
    "Dropped",
    "Evidence",
    "Format",
    "FormatError",
    "FormatFile",
    "GenerationDefaults",
    "Grammar",
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
    "ToolSchemas",
    "UnknownFormatError",
    "UnspoolError",
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
    "register_format",
    "sum_logprobs",
    "to_partial_args",
]
