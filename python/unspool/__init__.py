"""Token ids in; text, reasoning and tool calls out, natively, as they arrive."""

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
from unspool.bridging import Bridge, bridge
from unspool.detection import Detection, Evidence, detect
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
from unspool.format_files import FormatFile
from unspool.formats import formats, get_format, register_format
from unspool.generation import (
    ConditioningHook,
    DeltaStream,
    InferenceConfig,
    PreCompileConfig,
    PromptOutput,
    SampleState,
    SamplingParams,
    StreamGenerator,
    StreamMetrics,
    StreamResult,
    add_special_tokens,
    generate,
    iterate_streamer,
)
from unspool.generation.prefill import PrefillConfig, PrefillScope, iter_prompt_token_pieces
from unspool.grammar.json_answer import json_grammar
from unspool.grammar.result import Dropped, Grammar
from unspool.labels import Labels, LabelSpan
from unspool.learning import learn
from unspool.loss_mask import loss_mask, sum_logprobs
from unspool.message import MalformedText, Message, TokenCounts, ToolCall
from unspool.parse_batch import BatchParser, parse_batch
from unspool.parser import Parser, parse
from unspool.partial_arguments import PartialArguments, to_partial_args
from unspool.slow_detokenizer import SlowDetokenizer
from unspool.stream_batch import StreamBatch
from unspool.token_streamer import TokenStreamer

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
