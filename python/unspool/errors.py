"""The errors that unspool raises for bad arguments; bad model output is never an exception."""

from __future__ import annotations

from _queue import Empty  # `queue.Empty`; the rest of `queue` takes longer to load than this package's errors

__all__ = [
    "ArgumentError",
    "ChannelCancelledError",
    "ChannelClosedError",
    "ChannelTimeoutError",
    "ContextLengthError",
    "EngineError",
    "FormatError",
    "LearnError",
    "PrefillError",
    "StreamError",
    "StreamTimeout",
    "ToolCallError",
    "UnknownFormatError",
    "UnknownOptionError",
    "UnspoolError",
    "VocabularyError",
]


def shorten(text: str, limit: int) -> str:
    """A text whose middle is left out if it is longer than `limit`."""
    if len(text) <= limit:
        return text
    head, tail = limit * 2 // 3, limit // 3
    return f"{text[:head]} … ({len(text) - head - tail:,} characters) … {text[-tail:]}"


class UnspoolError(Exception):
    """The base of every error that this package raises. A message that quotes a long value is cut."""

    def __init__(self, *args: object) -> None:
        super().__init__(*(shorten(arg, 2000) if isinstance(arg, str) else arg for arg in args))


class ArgumentError(UnspoolError, ValueError):
    """An argument is invalid for the function."""


class ContextLengthError(ArgumentError):
    """A prompt and the requested answer together exceed the model's context length."""


class FormatError(UnspoolError, ValueError):
    """A format file or description cannot be compiled."""


class LearnError(UnspoolError, ValueError):
    """No format can be learnt from a chat template, or the template exceeds its limits while rendering."""


class UnknownFormatError(FormatError, LookupError):
    """No format has this name or alias."""


class ToolCallError(UnspoolError, ValueError):
    """The arguments that a model wrote do not fit the type that the caller asks for (`ToolCall.as_`)."""


class UnknownOptionError(ArgumentError, TypeError):
    """A function has no option of this name."""


class VocabularyError(UnspoolError, ValueError):
    """A tokenizer cannot be compiled into a vocabulary."""


class StreamError(UnspoolError, RuntimeError):
    """A stream was used after its end, or by two threads at the same time."""


class ChannelClosedError(StreamError):
    """A channel was used after it was closed or failed."""


class ChannelCancelledError(StreamError):
    """The other side of the channel has cancelled."""


class ChannelTimeoutError(UnspoolError, TimeoutError):
    """A wait for a channel or a model timed out."""


class EngineError(UnspoolError, RuntimeError):
    """An engine in front of which a server stands does not answer, or answers with an error.

    Args:
        status: The HTTP status that a client gets: 400 to 499 if the request is at fault, else 502, 503 or 504.
        is_retryable: Another engine, or the same one later, may answer the same request.
    """

    def __init__(self, message: str, status: int = 502, *, is_retryable: bool = False) -> None:
        super().__init__(message)
        self.status = status
        self.is_retryable = is_retryable


class PrefillError(UnspoolError, RuntimeError):
    """A prompt cannot be prepared for the model: it is empty, or its processor returned invalid data."""


class StreamTimeout(ChannelTimeoutError, Empty):
    """The model produced no token in time. Also a `queue.Empty`, which transformers' streamers raise."""
