"""The errors that unspool raises for bad arguments; bad model output is never an exception."""

from __future__ import annotations

import queue

__all__ = [
    "ArgumentError",
    "ChannelCancelledError",
    "ChannelClosedError",
    "ChannelTimeoutError",
    "ContextLengthError",
    "FormatError",
    "LearnError",
    "PrefillError",
    "StreamError",
    "StreamTimeout",
    "UnknownFormatError",
    "UnspoolError",
    "VocabularyError",
]


class UnspoolError(Exception):
    """The base of every error that this package raises."""


class ArgumentError(UnspoolError, ValueError):
    """An argument is outside what the function takes."""


class ContextLengthError(ArgumentError):
    """A prompt, with the answer that was asked for, does not fit into the model's positions."""


class FormatError(UnspoolError, ValueError):
    """A format file or description cannot be compiled."""


class LearnError(UnspoolError, ValueError):
    """A chat template does not show how its model writes, or is not rendered within its limits."""


class UnknownFormatError(FormatError, LookupError):
    """No format has this name or alias."""


class VocabularyError(UnspoolError, ValueError):
    """A tokenizer cannot be compiled into a vocabulary."""


class StreamError(UnspoolError, RuntimeError):
    """A stream was used after its end, or by two threads at once."""


class ChannelClosedError(StreamError):
    """A channel was used after it was closed or failed."""


class ChannelCancelledError(StreamError):
    """The other side of the channel has cancelled."""


class ChannelTimeoutError(UnspoolError, TimeoutError):
    """A wait on a channel or a model ran out of time."""


class PrefillError(UnspoolError, RuntimeError):
    """A prompt cannot be prepared for the model: it is empty, or its processor answered nonsense."""


class StreamTimeout(ChannelTimeoutError, queue.Empty):
    """The model gave nothing in time. Also a `queue.Empty`, which transformers' own streamers raise."""
