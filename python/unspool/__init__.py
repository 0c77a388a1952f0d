"""Token ids in; text, reasoning and tool calls out, natively, as they arrive."""

from unspool._core import (
    Delta,
    DeltaChannel,
    Detokenizer,
    Format,
    ToolSchemas,
    Vocabulary,
    __version__,
)
from unspool.detection import Detection, Evidence, detect
from unspool.errors import (
    ArgumentError,
    ChannelCancelledError,
    ChannelClosedError,
    ChannelTimeoutError,
    FormatError,
    StreamError,
    UnknownFormatError,
    UnspoolError,
    VocabularyError,
)
from unspool.format_files import FormatFile
from unspool.formats import formats, get_format, register_format
from unspool.generation import generate
from unspool.message import MalformedText, Message, TokenCounts, ToolCall
from unspool.parser import Parser, parse
from unspool.slow_detokenizer import SlowDetokenizer
from unspool.token_streamer import TokenStreamer

__all__ = [
    "ArgumentError",
    "ChannelCancelledError",
    "ChannelClosedError",
    "ChannelTimeoutError",
    "Delta",
    "DeltaChannel",
    "Detection",
    "Detokenizer",
    "Evidence",
    "Format",
    "FormatError",
    "FormatFile",
    "MalformedText",
    "Message",
    "Parser",
    "SlowDetokenizer",
    "StreamError",
    "TokenCounts",
    "TokenStreamer",
    "ToolCall",
    "ToolSchemas",
    "UnknownFormatError",
    "UnspoolError",
    "Vocabulary",
    "VocabularyError",
    "__version__",
    "detect",
    "formats",
    "generate",
    "get_format",
    "parse",
    "register_format",
]
